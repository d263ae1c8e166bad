#include "policies/explain/rate_limit.h"

#include <algorithm>

#include "policies/explain/quota.h"

namespace weir::policies {
namespace {

/// The unit with windows of this length; calendar months and years have no fixed length.
RateUnit unit_of(const Counter& counter, milliseconds window) noexcept {
  if (counter.spec.window == limiter::Window::calendar) {
    switch (counter.spec.unit) {
      case CalendarUnit::hour:
        return RateUnit::hour;
      case CalendarUnit::day:
        return RateUnit::day;
      case CalendarUnit::week:
        return RateUnit::week;
      case CalendarUnit::month:
        return RateUnit::month;
    }
  }
  for (const RateUnit unit : {RateUnit::second, RateUnit::minute, RateUnit::hour, RateUnit::day,
                              RateUnit::week, RateUnit::month, RateUnit::year}) {
    if (unit_length(unit) == window) return unit;
  }
  return RateUnit::unknown;
}

}  // namespace

void find_events(const PolicySet& set, std::span<const Descriptor> descriptors,
                 std::vector<FoundDescriptor>& out) {
  out.clear();
  bool any_replace = false;
  for (const Descriptor& descriptor : descriptors) {
    FoundDescriptor& found = out.emplace_back();
    const auto match = set.descriptors.match(descriptor.domain, descriptor.entries);
    found.known = match.known;
    found.also = match.domain;
    if (!match.known) continue;
    if (descriptor.limit) {
      const auto by_unit = set.override_events.find(descriptor.limit->unit);
      if (by_unit != set.override_events.end()) found.event = by_unit->second;
    } else {
      found.event = match.event;
    }
    if (found.event) found.what = set.find_descriptor(*found.event);
    any_replace = any_replace || (found.what != nullptr && !found.what->replaces.empty());
  }
  if (any_replace) {
    for (const FoundDescriptor& by : out) {
      if (by.what == nullptr) continue;
      for (const std::uint16_t replaced : by.what->replaces) {
        for (FoundDescriptor& found : out) {
          if (found.event == replaced && &found != &by) found.replaced = true;
        }
      }
    }
  }
  for (FoundDescriptor& found : out) {
    if (found.replaced) found.event.reset();
    if (!found.event && found.known) found.event = found.also ? found.also : set.call_event;
    if (found.also == found.event) found.also.reset();
  }
}

Record record_of(const FoundDescriptor& found, const Descriptor& descriptor,
                 TimePoint now) noexcept {
  Record out;
  out.event = found.event.value_or(0);
  out.also = found.also;
  out.time = now;
  out.descriptor = &descriptor;
  return out;
}

DescriptorStatus status_of(const FoundDescriptor& found) noexcept {
  DescriptorStatus out;
  if (found.what == nullptr) return out;
  const auto& rule = found.what->rule;
  // A rule without a limit shows this even if another one replaces it, as in envoyproxy/ratelimit.
  out.unlimited = rule ? rule->unlimited : !found.what->limited && !found.replaced;
  const bool has_none = rule && !rule->has_limit;
  out.is_quota = found.what->quota && !found.replaced && !has_none;
  return out;
}

DescriptorStatus status_of(const PolicySet& set, const Plan& plan, const Verdict& verdict,
                           const FoundDescriptor& found, Instant at) noexcept {
  DescriptorStatus out = status_of(found);
  out.over = verdict.kind == Verdict::Kind::refuse;
  const config::DescriptorDef::Rule* const rule =
      found.what != nullptr && found.what->rule && !found.replaced ? &*found.what->rule : nullptr;
  for (const PlannedPolicy& planned : plan.policies) {
    const Policy& policy = set.policies[planned.policy];
    // A rule in shadow mode still reports its limit, as in envoyproxy/ratelimit.
    if (!planned.applies || planned.blind || (policy.shadow && rule == nullptr)) continue;
    const auto quota = quota_of(set, plan, planned, at, rule != nullptr);
    if (!quota) continue;
    const bool of_rule =
        rule != nullptr && std::any_of(policy.bindings.begin(), policy.bindings.end(),
                                       [&](const Binding& b) { return b.event == found.event; });
    if (of_rule) {
      const std::int64_t counted = quota->allowed - quota->remaining;
      out.rule = {counted, quota->allowed, policy.shadow};
    }
    const std::int64_t remaining = std::max<std::int64_t>(0, quota->remaining);
    if (out.has_limit && out.remaining <= remaining) continue;
    out.has_limit = true;
    out.unlimited = false;
    out.requests = std::max<std::int64_t>(0, quota->allowed);
    out.remaining = remaining;
    out.reset = quota->reset;
    out.name = quota->name;
    const auto& counter = plan.counters[plan.counter_refs[planned.first_counter]];
    out.unit = unit_of(set.counters[counter.counter], quota->window);
    if (of_rule) {
      out.name = rule->name;
      out.unit = rule->unit;
    }
  }
  // A caller on a list, or refused by a policy without a number, has nothing left either.
  if (out.over) {
    out.remaining = 0;
    if (verdict.retry_after > out.reset) out.reset = verdict.retry_after;
  }
  return out;
}

bool is_quota(const DescriptorStatus& status, bool all_quota) noexcept {
  return (all_quota || status.is_quota) && !status.unlimited;
}

bool is_over(std::span<const DescriptorStatus> statuses, bool all_quota) noexcept {
  std::size_t quotas = 0, quotas_over = 0;
  for (const DescriptorStatus& status : statuses) {
    const bool quota = is_quota(status, all_quota);
    if (!quota && status.over) return true;
    quotas += quota ? 1 : 0;
    quotas_over += quota && status.over ? 1 : 0;
  }
  return quotas > 0 && quotas == quotas_over;
}

}  // namespace weir::policies
