#include "config/checks/exactness.h"

#include <algorithm>
#include <cmath>

#include "config/sections/sections.h"

namespace weir::config {

bool same_window(const WindowDef& a, const WindowDef& b) {
  return a.kind == b.kind && a.length == b.length && a.exact == b.exact &&
         a.from_first == b.from_first && a.events == b.events && a.unit == b.unit &&
         a.zone.value == b.zone.value && a.capacity == b.capacity && a.drain == b.drain &&
         a.drains == b.drains && a.is_rate == b.is_rate &&
         (a.exact || a.kind != WindowDef::Kind::last || a.buckets == b.buckets);
}

const WindowDef* window_of(const PolicyDef& policy, const Rung& rung) {
  if (rung.in) return &rung.in->value;
  return policy.window ? &*policy.window : nullptr;
}

bool reads(const PolicyDef& policy, const Rung& rung, const WindowDef* window) {
  const WindowDef* const own = window_of(policy, rung);
  if (own == nullptr || window == nullptr) return own == window;
  return same_window(*own, *window);
}

bool is_read_by_under(const PolicyDef& policy, const WindowDef* window) {
  return std::any_of(policy.then.begin(), policy.then.end(), [&](const Rung& rung) {
    return rung.compare == Compare::under && reads(policy, rung, window);
  });
}

std::size_t keep_of(const PolicyDef& policy, const WindowDef* window) {
  if (policy.keep) return policy.keep->value;
  const bool bucketed =
      window != nullptr && window->kind == WindowDef::Kind::last && !window->exact;
  const bool counts = policy.metric.kind == Metric::count;
  if (!counts || !bucketed || !is_read_by_under(policy, window)) return kKeepDefault;
  const std::size_t most = radius_of(policy.key) != nullptr ? kKeepMostNear : kKeepMost;
  std::size_t keep = kKeepDefault;
  for (const Rung& rung : policy.then) {
    if (rung.compare == Compare::none || !reads(policy, rung, window)) continue;
    const auto* limit = std::get_if<Located<Number>>(&rung.limit);
    // The thresholds of a table or an expression are known only at the event.
    const double needs =
        limit == nullptr ? static_cast<double>(most) : std::floor(limit->value.as_real()) + 1;
    keep =
        std::max(keep, static_cast<std::size_t>(std::clamp(needs, 0.0, static_cast<double>(most))));
  }
  return keep;
}

}  // namespace weir::config
