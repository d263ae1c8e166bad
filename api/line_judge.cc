#include "api/line_judge.h"

#include <utility>

namespace weir::api {

using telemetry::Metric;

std::optional<JsonWrong> LineJudge::judge(std::string_view object, Ask ask, TimePoint now,
                                          std::string& out, Asker& asker) {
  const bool again = std::exchange(asker.waits_, false);
  asker.goes_to_.reset();
  const policies::PolicySet& set = gate_.set();
  if (auto wrong = reader_.read(object, set, now)) {
    metrics_.add(Metric::api_bad);
    give_up(asker, now);  // correct, by policies that are not in force any more
    return wrong;
  }
  if (reader_.settles()) return settle(ask, now, out, asker);
  if (ask == Ask::query && !asker.trace_) asker.trace_.emplace();
  // Other policies may have come into force during the wait: then the event is judged again.
  if (ask == Ask::query && !(again && asker.trace_->is_of(set))) asker.trace_->start(set);
  const policies::Record& event = reader_.record();
  const bool resumes = asker.waits_for_store();
  const auto judged = ask == Ask::events
                          ? (resumes ? gate_.resume(event, reader_.answer(), now, asker)
                                     : gate_.judge(event, reader_.answer(), now, asker))
                          : (resumes ? gate_.resume_query(event, now, *asker.trace_, asker)
                                     : gate_.query(event, now, *asker.trace_, asker));
  if (!judged) {
    asker.waits_ = true;
    return std::nullopt;
  }
  metrics_.add(ask == Ask::events ? Metric::api_events : Metric::api_queried);
  out.push_back('{');
  append_verdict(out, set, *judged);
  if (ask == Ask::query) asker.trace_->append(out, set, judged->plan, event);
  out.push_back('}');
  return std::nullopt;
}

std::optional<JsonWrong> LineJudge::settle(Ask ask, TimePoint now, std::string& out, Asker& asker) {
  if (ask == Ask::query) {
    metrics_.add(Metric::api_bad);
    return JsonWrong{0, "a query cannot report an answer: send it to POST /v1/events"};
  }
  const auto worker = gate::Unsettled::worker_of(*reader_.settles());
  const bool elsewhere = worker && *worker != worker_ && *worker < workers_;
  if (unsettled_ != nullptr && elsewhere) {
    asker.goes_to_ = worker;
    return std::nullopt;
  }
  const bool settled =
      unsettled_ != nullptr && unsettled_->settle(*reader_.settles(), reader_.answer(), now);
  metrics_.add(settled ? Metric::settled_known : Metric::settled_unknown);
  out.append(settled ? R"({"settled":true})" : R"({"settled":false})");
  return std::nullopt;
}

}  // namespace weir::api
