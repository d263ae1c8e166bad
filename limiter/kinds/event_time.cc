#include "limiter/kinds/event_time.h"

namespace weir::limiter {

Reach reach(const Counter& c, std::int64_t ms) noexcept {
  const Rule& rule = c.rule;
  Reach out;
  switch (c.spec.window) {
    case Window::ring: {
      const std::int64_t bucket = ms / rule.quantum;
      out = {(bucket - rule.span) * rule.quantum, (bucket + 1) * rule.quantum - 1};
      break;
    }
    case Window::every:
      out.from = ms - ms % rule.length;
      out.to = out.from + rule.length - 1;
      break;
    case Window::calendar: {
      const CalendarSpan::Edges edges = rule.calendar->edges(ms);
      out = {edges.begin, edges.end - 1};
      break;
    }
    default:
      out = {rule.length == 0 ? 0 : ms - rule.length + 1, ms};
  }
  if (c.spec.metric == Metric::exists || c.spec.metric == Metric::last) out.to = ms;
  return out;
}

std::int64_t kept_from(const Counter& c, const Instant& now) noexcept {
  return reach(c, earliest(c, now)).from;
}

}  // namespace weir::limiter
