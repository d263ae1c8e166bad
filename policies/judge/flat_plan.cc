#include "policies/judge/flat_plan.h"

#include <algorithm>

namespace weir::policies {
namespace {

/// A key of the request, which no answer changes.
bool is_of_request(const PolicySet& set, const std::vector<KeySlot>& key) {
  return std::all_of(key.begin(), key.end(), [&](const KeySlot& part) {
    return set.slots[part.slot].side == Side::request;
  });
}

bool is_flat(const PolicySet& set, const Policy& policy, const Binding& binding) {
  if (!binding.by_key || !binding.counts || !binding.calm) return false;
  const Counter& counter = set.counters[policy.counters.front()];
  // Tries that count whatever is answered are reserved all the same.
  if (binding.outcome && counter.always) return false;
  return counter.synced.interval.count() == 0 && is_of_request(set, binding.key) &&
         is_of_request(set, binding.member);
}

/// Whether an answer of a status that is known leaves nothing to ask about the event.
bool is_by_status(const PolicySet& set, const Event& event) {
  if (!event.when) return true;
  if (event.when->varies() || event.when->canonical().find("inList(") != std::string::npos)
    return false;
  const auto slots = event.when->slots();
  return std::all_of(slots.begin(), slots.end(),
                     [&](SlotId id) { return set.slots[id].text == "status"; });
}

/// The ceiling of a counter that one policy uses: Planning::note_ceilings(), of limits that are
/// known.
void note_ceiling(const FlatPolicy& of, PlannedCounter& planned) {
  for (std::size_t r = 0; r < of.policy->rungs.size(); ++r) {
    const Rung& rung = of.policy->rungs[r];
    const std::optional<Number>& limit = of.binding->limits[r];
    if (!rung.caps || of.binding->rungs[r].condition || !limit) continue;
    const limiter::Ceiling ceiling{*limit, rung.compare == Compare::at};
    const limiter::Ceiling& lowest = planned.ceiling;
    const bool lower = ceiling.limit < lowest.limit ||
                       (ceiling.limit == lowest.limit && ceiling.inclusive && !lowest.inclusive);
    if (!planned.has_ceiling || lower) planned.ceiling = ceiling;
    planned.has_ceiling = true;
  }
}

PlannedPolicy planned_of(const FlatPlan& flat, const FlatPolicy& policy, std::uint16_t binding) {
  PlannedPolicy out;
  out.policy = policy.policy->index;
  out.binding = binding;
  out.first_counter = static_cast<std::uint32_t>(flat.planned.size());
  out.first_limit = static_cast<std::uint32_t>(flat.limits.size());
  return out;
}

}  // namespace

FlatPolicy::FlatPolicy(const Judging& work, const Policy& of, std::uint16_t binding_index)
    : policy(&of),
      binding(&of.bindings[binding_index]),
      counter(&work.set->counters[of.counters.front()]),
      cells(work.loaded->policy_cells[of.index]),
      charging(work.bank, counter->id),
      wall_clock(counter->wall_clock),
      calm(binding->calm.value_or(0)) {
  planned.counter = of.counters.front();
  planned.counts = true;
  if (!binding->outcome) note_ceiling(*this, planned);
  capped = planned.has_ceiling && !counter->always;
}

std::unique_ptr<FlatPlan> make_flat_plan(const Judging& work,
                                         const std::vector<EventIndex>& open_events,
                                         const std::vector<PolicySet::Watcher>& watchers) {
  const PolicySet& set = *work.set;
  if (set.any_in_flight) return nullptr;
  auto out = std::make_unique<FlatPlan>();
  int last = -1;
  for (const PolicySet::Watcher& watcher : watchers) {
    if (watcher.policy == last) continue;  // of several events the first one counts
    last = watcher.policy;
    const Policy& policy = set.policies[watcher.policy];
    const Binding& binding = policy.bindings[watcher.binding];
    if (!is_flat(set, policy, binding)) return nullptr;
    FlatPolicy flat(work, policy, watcher.binding);
    if (!flat.charging.is_simple()) return nullptr;
    if (binding.outcome) {
      // An event that is certain would be counted whatever is answered, here or on another route.
      const bool certain =
          std::any_of(policy.bindings.begin(), policy.bindings.end(),
                      [](const Binding& other) { return other.counts && !other.outcome; });
      if (certain || set.any_answer_work) return nullptr;
      out->outcomes.push_back(std::move(flat));
      continue;
    }
    out->planned.push_back(planned_of(*out, flat, watcher.binding));
    out->limits.insert(out->limits.end(), binding.limits.begin(), binding.limits.end());
    out->policies.push_back(std::move(flat));
  }
  out->is_by_status = std::all_of(open_events.begin(), open_events.end(), [&](EventIndex event) {
    return is_by_status(set, set.events[event]);
  });
  return out;
}

}  // namespace weir::policies
