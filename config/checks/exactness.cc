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

std::size_t keep_most(const PolicyDef& policy) {
  return radius_of(policy.key) != nullptr ? kKeepMostNear : kKeepMax;
}

std::size_t keep_of(const PolicyDef& policy, const WindowDef* window) {
  if (policy.keep) return policy.keep->value;
  const bool bucketed =
      window != nullptr && window->kind == WindowDef::Kind::last && !window->exact;
  const bool counts = policy.metric.kind == Metric::count;
  if (!counts || !bucketed || !is_read_by_under(policy, window)) return kKeepDefault;
  const std::size_t most = keep_most(policy);
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

bool LargestReading::is_below(Compare compare, const Number& limit) const {
  if (!limit.is_finite()) return false;
  const double number = limit.as_real();
  switch (compare) {
    case Compare::over:
      return number >= value;
    case Compare::at:
      return number > value;
    case Compare::under:
      return by == By::keep && number > value;
    case Compare::none:
      break;
  }
  return false;
}

std::string LargestReading::text(Compare compare) const {
  const std::string most = std::to_string(static_cast<std::int64_t>(value));
  const std::string holds =
      compare == Compare::under ? std::string("always holds: ") : std::string("can never hold: ");
  switch (by) {
    case By::events:
      return holds + "the window has at most " + most + " events";
    case By::keep:
      return holds + "this metric reads at most keep, which is " + most;
    case By::exists:
      return holds + "exists reads 1 if there is an event, else 0";
    case By::bucket:
    case By::rate:
      break;
  }
  return std::string(by == By::rate
                         ? "is above the largest reading of the rate: its burst of "
                         : "is above the largest reading of the bucket: its capacity of ") +
         capacity.to_string() + ", and 1 more";
}

std::optional<LargestReading> largest_reading(const PolicyDef& policy, const WindowDef* window) {
  using By = LargestReading::By;
  const Metric kind = policy.metric.kind;
  const bool counts = kind == Metric::count;
  if (kind == Metric::exists) return LargestReading{1, By::exists, {}};
  if (!counts && kind != Metric::distinct) return std::nullopt;
  // A leaky bucket holds its capacity at most, and reads one more when an event overflows it.
  if (window != nullptr && window->kind == WindowDef::Kind::leaky) {
    return LargestReading{window->capacity.as_real() + 1, window->is_rate ? By::rate : By::bucket,
                          window->capacity};
  }
  const bool sliding = window != nullptr && window->kind == WindowDef::Kind::last;
  const bool members = !counts || (sliding && (window->exact || is_read_by_under(policy, window) ||
                                               policy.retain || radius_of(policy.key) != nullptr));
  std::optional<LargestReading> out;
  if (members) out = LargestReading{static_cast<double>(keep_of(policy, window)), By::keep, {}};
  if (window != nullptr && window->kind == WindowDef::Kind::events) {
    const auto events = static_cast<double>(window->events);
    if (!out || events <= out->value) out = LargestReading{events, By::events, {}};
  }
  return out;
}

}  // namespace weir::config
