#include "app/serve/app_failures.h"

#include <utility>

namespace weir::app {

std::optional<AppFailures::Counts> AppFailures::hear(const Counts& all, TimePoint now) {
  if (all.sum() == logged_.sum() || now < again_) return std::nullopt;
  again_ = now + kAgain;
  const Counts before = std::exchange(logged_, all);
  return Counts{all.connect - before.connect, all.silent - before.silent,
                all.malformed - before.malformed, all.cut - before.cut};
}

void AppFailures::tell(const telemetry::Metrics& metrics, TimePoint now, Log& log) {
  using telemetry::Metric;
  const auto news =
      hear({metrics.sum(Metric::upstream_failures), metrics.sum(Metric::upstream_silent),
            metrics.sum(Metric::upstream_malformed), metrics.sum(Metric::upstream_cut)},
           now);
  if (!news) return;
  LogLine line(news->connect == news->sum() ? "the app accepts no connection"
                                            : "the app gives no good answers");
  line.add("requests", news->sum());
  if (news->connect != 0) line.add("connect", news->connect);
  if (news->silent != 0) line.add("answer", news->silent);
  if (news->malformed != 0) line.add("malformed", news->malformed);
  if (news->cut != 0) line.add("cut", news->cut);
  log.write(Level::warn, line);
}

}  // namespace weir::app
