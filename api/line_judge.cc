#include "api/line_judge.h"

namespace weir::api {

using telemetry::Metric;

std::optional<JsonWrong> LineJudge::judge(std::string_view object, Ask ask, TimePoint now,
                                          std::string& out) {
  const policies::PolicySet& set = gate_.set();
  if (auto wrong = reader_.read(object, set, now)) {
    metrics_.add(Metric::api_bad);
    return wrong;
  }
  out.push_back('{');
  if (ask == Ask::events) {
    metrics_.add(Metric::api_events);
    append_verdict(out, set, gate_.judge(reader_.record(), reader_.answer(), now));
  } else {
    metrics_.add(Metric::api_queried);
    trace_.start(set);
    const gate::Gate::Judged judged = gate_.query(reader_.record(), now, trace_);
    append_verdict(out, set, judged);
    trace_.append(out, set, judged.plan, reader_.record());
  }
  out.push_back('}');
  return std::nullopt;
}

}  // namespace weir::api
