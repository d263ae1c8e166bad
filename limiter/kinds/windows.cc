#include "limiter/kinds/windows.h"

#include <algorithm>

namespace weir::limiter {

std::uint32_t Rule::ring_quantum(std::int64_t length, unsigned buckets) noexcept {
  // With n = ceil(W/g) buckets the oldest counted event is at most (n+1) g - 1 ms old, which must
  // stay under W + W/N. g = 1 always does.
  std::int64_t g = std::max<std::int64_t>(1, length / buckets);
  for (; g > 1; --g) {
    const std::int64_t n = (length + g - 1) / g;
    if (((n + 1) * g - 1 - length) * buckets < length) break;
  }
  return static_cast<std::uint32_t>(g);
}

namespace {

/// Kinds whose entries are members or have times of their own, so that `every` cannot be one
/// quantum.
bool keeps_times(Metric metric) noexcept {
  return metric != Metric::count && metric != Metric::sum;
}

}  // namespace

Rule Rule::of(const CounterSpec& spec) {
  Rule rule;
  rule.length = spec.length.count();
  rule.span = rule.length - 1;
  const bool members = takes_members(spec.metric);
  switch (spec.window) {
    case Window::ring:
      rule.quantum = ring_quantum(rule.length, spec.buckets);
      rule.span = (rule.length + rule.quantum - 1) / rule.quantum;
      rule.merge = Merge::equal;
      break;
    case Window::log:
      break;
    case Window::every:
      if (keeps_times(spec.metric)) {
        rule.aligned = true;
      } else {
        rule.quantum = rule.length;
        rule.span = 0;
        rule.merge = Merge::newest;
      }
      break;
    case Window::calendar:
      rule.length = CalendarSpan::longest(spec.unit);
      rule.aligned = true;
      rule.calendar = std::make_shared<CalendarSpan>(spec.unit, spec.zone);
      if (!keeps_times(spec.metric)) {
        rule.merge = Merge::newest;
        rule.quantum = 1000;  // spans begin on whole seconds; and such a stamp never wraps
      }
      break;
    case Window::every_first:
      rule.from_oldest = members;
      rule.merge = members ? Merge::none : Merge::newest;
      break;
    case Window::events:
      if (rule.length == 0) rule.span = kForever;
      break;
    case Window::leaky:
      rule.span = kForever;
      break;
    case Window::none:
      rule.span = 0;
      break;
  }
  const std::int64_t retained = spec.retain.count();
  if (retained > rule.length && (spec.window == Window::log || spec.window == Window::ring)) {
    rule.kept =
        spec.window == Window::log ? retained - 1 : (retained + rule.quantum - 1) / rule.quantum;
  }
  if (spec.late) {
    rule.own_time = true;
    rule.late = spec.late->count();
    rule.aligned = false;
    rule.merge = Merge::none;
    if (spec.window != Window::ring) rule.quantum = 1;
    const bool ends = spec.window != Window::events || rule.length != 0;
    rule.kept = ends ? rule.length + rule.quantum + rule.late : kForever;
  }
  rule.plain = !rule.from_oldest && spec.window != Window::every_first && rule.kept == 0;
  return rule;
}

}  // namespace weir::limiter
