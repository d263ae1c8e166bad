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
  // Tries that count with any answer are reserved too.
  if (binding.outcome && counter.always) return false;
  return !counter.is_synced() && is_of_request(set, binding.key) &&
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

/// Whether a rung that holds does nothing but flag the event: there is nothing to remember, to
/// take back or to weigh.
bool only_flags(const FlatPolicy& of, std::size_t r) {
  const Rung& rung = of.policy->rungs[r];
  return rung.action == Action::flag && rung.effect == Action::flag && !rung.shadow &&
         !rung.disabled && !rung.overflows && !rung.clear && !rung.list && !rung.notify &&
         !rung.score && !of.binding->rungs[r].condition;
}

}  // namespace

PlannedPolicy planned_of(const FlatPolicy& policy, std::size_t first_counter,
                         std::size_t first_limit) {
  PlannedPolicy out;
  out.policy = policy.policy->index;
  out.binding = policy.binding_index;
  out.first_counter = static_cast<std::uint32_t>(first_counter);
  out.first_limit = static_cast<std::uint32_t>(first_limit);
  return out;
}

FlatPolicy::FlatPolicy(const Judging& work, const Policy& of, std::uint16_t index)
    : policy(&of),
      binding(&of.bindings[index]),
      binding_index(index),
      event(&work.set->events[binding->event]),
      counter(&work.set->counters[of.counters.front()]),
      cells(work.loaded->policy_cells[of.index]),
      charging(work.bank, counter->id),
      wall_clock(counter->wall_clock),
      calm(binding->calm.value_or(0)) {
  planned.counter = of.counters.front();
  planned.counts = true;
  if (!binding->outcome) note_ceiling(*this, planned);
  capped = planned.has_ceiling && !counter->always;
  for (std::size_t r = 0; r < std::min<std::size_t>(of.rungs.size(), 64); ++r)
    flags |= std::uint64_t{only_flags(*this, r)} << r;
}

bool FlatPolicy::find_flag() noexcept {
  const limiter::Reading& reading = planned.reading;
  const bool open = reading.refused || reading.doubtful || reading.in_flight != 0 ||
                    reading.value != reading.settled;
  if (open || policy->rungs.size() > 64) return false;
  for (std::size_t r = 0; r < policy->rungs.size(); ++r) {
    const Number limit = *binding->limits[r];  // a calm reading means that all are known
    const bool at = policy->rungs[r].compare == Compare::at;
    if (at ? reading.value < limit : reading.value <= limit) continue;
    if ((flags >> r & 1) == 0) return false;
    held = static_cast<int>(r);  // of equal rungs the last one wins
  }
  return held >= 0;
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
      // An event that is certain would be counted with any answer, here or on another route.
      const bool certain =
          std::any_of(policy.bindings.begin(), policy.bindings.end(),
                      [](const Binding& other) { return other.counts && !other.outcome; });
      if (certain || set.any_answer_work) return nullptr;
      out->outcomes.push_back(std::move(flat));
      continue;
    }
    out->planned.push_back(planned_of(flat, out->planned.size(), out->limits.size()));
    out->limits.insert(out->limits.end(), binding.limits.begin(), binding.limits.end());
    out->policies.push_back(std::move(flat));
  }
  out->is_by_status = std::all_of(open_events.begin(), open_events.end(), [&](EventIndex event) {
    return is_by_status(set, set.events[event]);
  });
  return out;
}

}  // namespace weir::policies
