#include <algorithm>

#include "policies/evaluator.h"

/// The answer side: reservations become counts or nothing, settled readings write memory, resets.
namespace weir::policies {

void Settlement::clear() {
  loaded.reset();
  captured.clear();
  events.clear();
  open_events.clear();
  policies.clear();
  counters.clear();
  counter_refs.clear();
  limits.clear();
  in_flight.clear();
  reserved = false;
}

bool Evaluator::must_observe() const noexcept {
  if (plan_.allowed) return false;
  for (const PlannedCounter& planned : plan_.counters) {
    if (planned.undo.what != limiter::Undo::What::nothing &&
        (planned.reserves || counter_of(planned).spec.window == limiter::Window::none)) {
      return true;
    }
    // A key that found no room could not be reserved, but its answer counts all the same.
    if (planned.reserves && planned.reading.full) return true;
  }
  for (const auto* events : {&plan_.events, &plan_.open_events}) {
    for (const EventIndex event : *events) {
      if (!set_->resets_of[event].empty()) return true;
    }
  }
  return false;
}

void Evaluator::keep(Settlement& into) {
  into.clear();
  into.loaded = loaded_;
  into.at = at_;
  into.events = plan_.events;
  into.open_events = plan_.open_events;
  into.policies = plan_.policies;
  into.counters = plan_.counters;
  into.counter_refs = plan_.counter_refs;
  into.limits = plan_.limits;
  for (const PlannedCounter& planned : plan_.counters) {
    if (planned.undo.what == limiter::Undo::What::nothing) continue;
    if (counter_of(planned).spec.window == limiter::Window::none) into.in_flight.push_back(planned);
  }
  // Everything that the answer side reads of the request is copied now: its buffers will be gone.
  captures_.clear();
  const auto add = [&](SlotId slot) {
    if (set_->slots[slot].side != Side::request) return;
    if (std::find(captures_.begin(), captures_.end(), slot) == captures_.end()) captures_.push_back(slot);
  };
  for (const PlannedPolicy& planned : plan_.policies) {
    if (!planned.reserves) continue;
    into.reserved = true;
    for (const SlotId slot : set_->policies[planned.policy].bindings[planned.binding].captures) add(slot);
  }
  for (const auto* events : {&plan_.events, &plan_.open_events}) {
    for (const EventIndex event : *events) {
      for (const std::uint16_t reset : set_->resets_of[event]) {
        for (const KeySlot& part : set_->resets[reset].key) add(part.slot);
      }
    }
  }
  for (const EventIndex event : plan_.open_events) {
    const auto& when = set_->events[event].when;
    if (!when) continue;
    for (const SlotId slot : when->captures()) add(slot);
  }
  frame_.capture(captures_, into.captured);
}

bool Evaluator::answer_needs_body(const Settlement& settlement) const {
  const PolicySet& set = *settlement.loaded->set;
  const auto needs = [&](EventIndex event) { return set.needs_answer_body[event]; };
  return std::any_of(settlement.open_events.begin(), settlement.open_events.end(), needs) ||
         std::any_of(settlement.events.begin(), settlement.events.end(), needs);
}

void Evaluator::answered(Settlement& settlement, const Answer& answer, Instant now) {
  const PolicySet* const current = set_;
  auto current_loaded = loaded_;
  loaded_ = settlement.loaded;
  set_ = loaded_->set.get();
  at_ = now;
  if (event_marks_.size() < set_->events.size()) event_marks_.resize(set_->events.size());
  frame_.resume(set_->slots, settlement.captured, answer, settlement.at.now, this);

  // The open events are decided now, parents first.
  ++epoch_;
  constexpr std::uint32_t kYes = 1;
  for (const EventIndex event : settlement.events) event_marks_[event] = epoch_ * 4 + kYes;
  for (const EventIndex index : settlement.open_events) {
    const Event& event = set_->events[index];
    if (event.parent != index && !happened(event.parent)) continue;
    frame_.set_event(event.name);
    if (event.when && !event.when->eval(frame_).is_true()) continue;
    event_marks_[index] = epoch_ * 4 + kYes;
  }
  settle_reserved(settlement, now, false);
  apply_resets(settlement, now);
  loaded_ = std::move(current_loaded);
  set_ = current;
}

void Evaluator::settle_reserved(Settlement& settlement, Instant now, bool every_one_matches) {
  if (!settlement.reserved) return;
  settlement.reserved = false;
  const auto matches = [&](const PlannedPolicy& planned) {
    if (every_one_matches) return true;
    const Policy& policy = set_->policies[planned.policy];
    return std::any_of(policy.bindings.begin(), policy.bindings.end(), [&](const Binding& binding) {
      if (!binding.counts || !happened(binding.event)) return false;
      if (!binding.when) return true;
      frame_.set_event(set_->events[binding.event].name);
      return binding.when->side() == Side::request || binding.when->eval(frame_).is_true();
    });
  };
  // Counters first, then thresholds: a policy with two windows sees both settled.
  std::vector<PlannedCounter>& counters = settlement.counters;
  for (const PlannedPolicy& planned : settlement.policies) {
    if (!planned.reserves) continue;
    const bool matched = matches(planned);
    const std::size_t count = set_->policies[planned.policy].counters.size();
    for (std::size_t k = 0; k < count; ++k) {
      PlannedCounter& counter = counters[settlement.counter_refs[planned.first_counter + k]];
      if (!counter.reserves) continue;  // settled already for a policy that shares it
      counter.reserves = false;
      counter.counts = matched;
      const Counter& of = counter_of(counter);
      counter.reading = bank_.settle(of.id, counter.key, settlement.at.of(of), now.of(of), counter.amount,
                                     counter.undo, matched);
      counter.undo = {};
    }
  }
  for (const PlannedPolicy& planned : settlement.policies) {
    if (!planned.reserves) continue;
    const Policy& policy = set_->policies[planned.policy];
    if (!counters[settlement.counter_refs[planned.first_counter]].counts) continue;
    const Binding& binding = policy.bindings[planned.binding];
    for (const bool shadow : {false, true}) {
      int best = -1;
      Number best_value;
      for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
        const Rung& rung = policy.rungs[r];
        if (rung.disabled || rung.shadow != shadow) continue;
        const Number value =
            counters[settlement.counter_refs[planned.first_counter + rung.counter]].reading.settled;
        if (!rung_holds(policy, binding, r, value, settlement.limits[planned.first_limit + r])) continue;
        if (best < 0 ||
            severity(rung.effect) >= severity(policy.rungs[static_cast<std::size_t>(best)].effect)) {
          best = static_cast<int>(r);
          best_value = value;
        }
      }
      if (best < 0) continue;
      const auto r = static_cast<std::size_t>(best);
      const Rung& rung = policy.rungs[r];
      if (!shadow && rung.effect != Action::none) {
        const auto& counter = counters[settlement.counter_refs[planned.first_counter + rung.counter]];
        bank_.pin(counter_of(counter).id, counter.key);
      }
      remember(policy, planned, rung, r, best_value, settlement.limits[planned.first_limit + r], counters,
               settlement.counter_refs, now);
    }
  }
}

void Evaluator::apply_resets(Settlement& settlement, Instant) {
  for (const auto* events : {&settlement.events, &settlement.open_events}) {
    for (const EventIndex event : *events) {
      if (!happened(event)) continue;
      for (const std::uint16_t index : set_->resets_of[event]) {
        const Reset& reset = set_->resets[index];
        if (!load_key(reset.key)) continue;
        for (const std::uint16_t counter : set_->policies[reset.policy].counters) {
          bank_.reset(set_->counters[counter].id, key_hash(set_->counters[counter].identity));
        }
      }
    }
  }
}

void Evaluator::aborted(Settlement& settlement, Instant now) {
  if (!settlement.reserved) return;
  const PolicySet* const current = set_;
  auto current_loaded = loaded_;
  loaded_ = settlement.loaded;
  set_ = loaded_->set.get();
  at_ = now;
  const Answer nothing;
  frame_.resume(set_->slots, settlement.captured, nothing, settlement.at.now, this);
  settle_reserved(settlement, now, true);
  loaded_ = std::move(current_loaded);
  set_ = current;
}

void Evaluator::released(Settlement& settlement, Instant now) {
  if (!settlement.reserved) return;
  settlement.reserved = false;
  const PolicySet& set = *settlement.loaded->set;
  for (PlannedCounter& counter : settlement.counters) {
    if (!counter.reserves) continue;
    counter.reserves = false;
    const Counter& of = set.counters[counter.counter];
    bank_.settle(of.id, counter.key, settlement.at.of(of), now.of(of), counter.amount, counter.undo, false);
    counter.undo = {};
  }
}

void Evaluator::ended(Settlement& settlement) {
  const PolicySet& set = *settlement.loaded->set;
  for (const PlannedCounter& counter : settlement.in_flight) {
    bank_.leave(set.counters[counter.counter].id, counter.key, counter.amount.amount);
  }
  settlement.in_flight.clear();
}

}  // namespace weir::policies
