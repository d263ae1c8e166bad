#include "limiter/windows.h"

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

Rule Rule::of(const CounterSpec& spec) noexcept {
  Rule rule;
  rule.length = spec.length.count();
  rule.span = rule.length - 1;
  const bool members = spec.metric == Metric::distinct;
  switch (spec.window) {
    case Window::ring:
      rule.quantum = ring_quantum(rule.length, spec.buckets);
      rule.span = (rule.length + rule.quantum - 1) / rule.quantum;
      rule.merge = Merge::equal;
      break;
    case Window::log:
      break;
    case Window::every:
      if (members) {
        rule.aligned_members = true;
      } else {
        rule.quantum = static_cast<std::uint32_t>(rule.length);
        rule.span = 0;
        rule.merge = Merge::newest;
      }
      break;
    case Window::every_first:
      rule.from_oldest = members;
      rule.merge = members ? Merge::none : Merge::newest;
      break;
    case Window::events:
    case Window::calendar:
    case Window::leaky:
    case Window::none:
      rule.span = 0;
      break;
  }
  return rule;
}

Instant::Instant(const Rule& r, TimePoint now) noexcept
    : rule(&r),
      ms(std::max<std::int64_t>(0, to_ms(now))),
      span(r.aligned_members ? ms % r.length : r.span),
      stamp(static_cast<std::uint32_t>(ms / r.quantum)),
      second(static_cast<std::uint32_t>(ms / 1000)) {}

std::int64_t Instant::age(std::uint32_t other) const noexcept {
  const std::uint32_t behind = stamp - other;
  const std::uint32_t ahead = other - stamp;
  // Only one of the two is small; what is ahead by more than a minute is read as far behind.
  if (ahead != 0 && ahead <= kAheadMax &&
      std::int64_t{ahead} * rule->quantum - ms % rule->quantum <= kAheadMax) {
    return -std::int64_t{ahead};
  }
  if (rule->quantum > 1 && behind > 0x8000'0000U) return kDead;
  return behind;
}

}  // namespace weir::limiter
