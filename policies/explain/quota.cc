#include "policies/explain/quota.h"

#include <algorithm>
#include <cmath>

namespace weir::policies {

std::int64_t admitted(Number limit, Compare compare) {
  const double floor = std::floor(limit.as_real());
  std::int64_t whole = !limit.is_real()  ? limit.integer()
                       : floor >= 0x1p62 ? std::int64_t{1} << 62
                                         : static_cast<std::int64_t>(floor);
  if (compare == Compare::at && Number{whole} == limit) --whole;
  return std::max<std::int64_t>(0, whole);
}

namespace {

/// How much of that a reading has taken: part of one is one.
std::int64_t taken(Number reading) {
  return admitted(reading.is_real() ? Number::real(std::ceil(reading.as_real())) : reading,
                  Compare::over);
}

}  // namespace

std::optional<Quota> quota_of(const PolicySet& set, const Plan& plan, const PlannedPolicy& planned,
                              Instant at, bool in_shadow) {
  const Policy& policy = set.policies[planned.policy];
  if (!policy.has_metric) return std::nullopt;
  const Rung* told = nullptr;
  std::size_t told_index = 0;
  for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
    const Rung& rung = policy.rungs[r];
    const std::optional<Number>& limit = plan.limits[planned.first_limit + r];
    if ((rung.shadow && !in_shadow) || rung.disabled || !limit || !limit->is_finite()) continue;
    if (rung.compare != Compare::over && rung.compare != Compare::at) continue;
    if (told == nullptr || refuses(rung.effect)) {
      told = &rung;
      told_index = r;
    }
    if (refuses(rung.effect)) break;
  }
  if (told == nullptr) return std::nullopt;
  const auto& counter = plan.counters[plan.counter_refs[planned.first_counter + told->counter]];
  const Counter& of = set.counters[counter.counter];
  Quota quota;
  quota.name = policy.name;
  quota.allowed = admitted(*plan.limits[planned.first_limit + told_index], told->compare);
  quota.remaining = quota.allowed - taken(counter.reading.value);
  quota.window = at.window_length(of);
  const bool ends_for_all =
      of.spec.window == limiter::Window::every || of.spec.window == limiter::Window::calendar;
  quota.reset = ends_for_all ? at.window_left(of) : quota.window;
  return quota;
}

}  // namespace weir::policies
