#include <algorithm>

#include "core/assert.h"
#include "policies/judge/evaluator.h"
#include "policies/lang/expr/program.h"

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
  asked.clear();
  closing.clear();
  views.clear();
  judged = true;
  patterns.clear();
  reserved = false;
}

bool Evaluator::must_observe() const noexcept {
  if (!plan_.open_views.empty()) return true;
  if (plan_.allowed) return false;
  for (const PlannedPolicy& planned : plan_.policies) {
    // Also one that found no room to reserve: its answer counts all the same.
    if (planned.reserves) return true;
  }
  for (const PlannedCounter& planned : plan_.counters) {
    if (!set_->any_in_flight) break;
    if (planned.counted() && counter_of(planned).spec.window == limiter::Window::none) {
      return true;
    }
  }
  for (const PlannedPattern& planned : plan_.patterns) {
    if (planned.deferred()) return true;
  }
  if (!set_->any_answer_work) return false;
  for (const auto* events : {&plan_.events, &plan_.open_events}) {
    for (const EventIndex event : *events) {
      if (!set_->resets_of[event].empty() || !set_->releases_of[event].empty()) return true;
    }
  }
  return false;
}

bool Evaluator::settled_by(const Answer& answer) {
  if (set_->any_answer_work || set_->any_in_flight || !plan_.open_views.empty()) return false;
  const auto waits = [](const PlannedPattern& planned) { return planned.deferred(); };
  if (std::any_of(plan_.patterns.begin(), plan_.patterns.end(), waits)) return false;
  frame_.look_at(answer, set_->of_answers, set_->not_kept);
  happen(plan_.open_events);
  return std::none_of(
      plan_.policies.begin(), plan_.policies.end(), [&](const PlannedPolicy& planned) {
        if (!planned.reserves) return false;
        const bool stored = policy_of(planned).has_metric && planned_counter(planned, 0).counted();
        return stored || came_true(planned) != Told::no;
      });
}

void Evaluator::keep(Settlement& into) {
  into.clear();
  into.loaded = loaded_;
  into.at = at_;
  into.time = happened_;
  into.judged = !plan_.allowed;
  for (const PlannedCounter& planned : plan_.counters) {
    if (!set_->any_in_flight) break;
    if (planned.counted() && counter_of(planned).spec.window == limiter::Window::none)
      into.in_flight.push_back(planned);
  }
  // Everything that the answer side reads of the request is copied now: its buffers will be gone.
  captures_.clear();
  for (const PlannedPolicy& planned : plan_.policies) {
    if (!planned.reserves) continue;
    into.reserved = true;
    for (const SlotId slot : set_->policies[planned.policy].bindings[planned.binding].captures)
      note_capture(slot);
  }
  for (const auto* events : {&plan_.events, &plan_.open_events}) {
    if (!set_->any_answer_work) break;
    for (const EventIndex event : *events) {
      for (const std::uint16_t reset : set_->resets_of[event]) {
        for (const KeySlot& part : set_->resets[reset].key) note_capture(part.slot);
      }
      for (const PolicySet::ListUse& release : set_->releases_of[event]) {
        for (const KeySlot& part : set_->lists[release.list].releases[release.binding].key)
          note_capture(part.slot);
      }
    }
  }
  for (const std::uint16_t view : plan_.open_views) {
    for (const View::Binding& binding : set_->views[view].bindings) {
      for (const SlotId slot : binding.captures) note_capture(slot);
    }
  }
  for (const EventIndex event : plan_.open_events) {
    const auto& when = set_->events[event].when;
    if (!when) continue;
    for (const SlotId slot : when->captures()) note_capture(slot);
  }
  keep_patterns(into);  // more captures
  frame_.capture(captures_, into.captured);
  std::swap(into.events, plan_.events);
  std::swap(into.open_events, plan_.open_events);
  std::swap(into.policies, plan_.policies);
  std::swap(into.counters, plan_.counters);
  std::swap(into.counter_refs, plan_.counter_refs);
  std::swap(into.limits, plan_.limits);
  if (!asking_.empty()) std::swap(into.asked, asking_);
  std::swap(into.views, plan_.open_views);
}

/// Of what reads the name of the event, what it is made of: each event is told by its own name.
void Evaluator::note_capture(SlotId id) {
  const Slot& slot = set_->slots[id];
  if (slot.varies) {
    if (!slot.program) return;
    for (const SlotId part : slot.program->captures) note_capture(part);
  } else if (slot.side == Side::request &&
             std::find(captures_.begin(), captures_.end(), id) == captures_.end()) {
    captures_.push_back(id);
  }
}

Value Evaluator::value(const Settlement& settlement, SlotId slot) {
  const SetInUse in_use(*this, settlement.loaded);
  return frame_.load(slot);
}

bool Evaluator::answer_needs_body(const Settlement& settlement) const {
  const PolicySet& set = *settlement.loaded->set;
  const auto needs = [&](EventIndex event) { return set.needs_answer_body[event]; };
  return std::any_of(settlement.open_events.begin(), settlement.open_events.end(), needs) ||
         std::any_of(settlement.events.begin(), settlement.events.end(), needs);
}

bool Evaluator::wants_readable_answer(const Settlement& settlement) const {
  const PolicySet& set = *settlement.loaded->set;
  if (!set.any_readable_answer) return false;
  const auto wants = [&](EventIndex event) { return set.wants_readable_answer[event]; };
  return std::any_of(settlement.open_events.begin(), settlement.open_events.end(), wants) ||
         std::any_of(settlement.events.begin(), settlement.events.end(), wants);
}

MissReason Evaluator::unread_answer() const noexcept { return frame_.unread_answer(); }

void Evaluator::answered(Settlement& settlement, const Answer& answer, Instant at) {
  const Instant now = settlement.answered_at(at);
  const SetInUse in_use(*this, settlement.loaded);
  at_ = now;
  frame_.resume(set_->slots, settlement.captured, answer, settlement.at.now, this);

  next_epoch();
  for (const EventIndex event : settlement.events) mark_happened(event);
  happen(settlement.open_events);
  settle_reserved(settlement, now, false);
  feed_answered(settlement, now, true);
  if (settlement.judged) apply_resets(settlement, now);
  observe_answered_views(settlement);
  keep_for_closing(settlement);
}

/// Whether the answer says that what a policy reserved for has happened.
Evaluator::Told Evaluator::came_true(const PlannedPolicy& planned) {
  const Policy& policy = policy_of(planned);
  const Binding& judged = policy.bindings[planned.binding];
  Told told = Told::no;
  for (const Binding& binding : policy.bindings) {
    const bool event_untold = untold(binding.event);
    if (!binding.counts || (!event_untold && !happened(binding.event))) continue;
    bool unread = event_untold;
    const bool has_held =
        &binding == &judged && binding.when && binding.when->side() == Side::request;
    if (binding.when && !has_held) {
      frame_.set_event(set_->events[binding.event].name);
      const Value holds = binding.when->eval(frame_);
      if (!holds.is_true() && !hangs_on_unread(frame_, *binding.when, holds)) continue;
      unread = unread || !holds.is_true();
    }
    if (!unread) return Told::yes;
    if (told != Told::unclear)
      told = is_unclear(frame_, *set_, binding) ? Told::unclear : Told::unread;
  }
  return told;
}

/// The amount that only the answer tells.
Evaluator::Told Evaluator::load_late_amount(const PlannedPolicy& planned, limiter::Amount& amount) {
  const Policy& policy = policy_of(planned);
  const Binding& binding = policy.bindings[planned.binding];
  const Expression& expression = binding.arguments.front();
  frame_.set_event(set_->events[binding.event].name);
  const Value value = spelled(frame_, expression.eval(frame_));
  const auto miss = [&] {
    StatsCells::add(loaded_->policy_cells[policy.index]
                        ->missing[std::min(binding.key.size(), StatsCells::kFields - 1)]);
    return hangs_on_unread(frame_, expression, value) ? Told::unread : Told::no;
  };
  if (policy.metric == config::MetricDef::Kind::last) {
    const limiter::Datum datum = datum_of(value);
    amount.datum = frame_.arena().make(datum);
    const bool there = datum.type != limiter::Datum::Type::none || value.is(Type::text);
    return there ? Told::yes : miss();
  }
  if (!value.is_number() || !value.as_number().is_finite()) return miss();
  if (policy.amounts_checked && value.as_number().is_negative()) {
    StatsCells::add(loaded_->policy_cells[policy.index]->amounts_refused);
    return Told::no;
  }
  const bool real = set_->counters[policy.counters.front()].spec.real;
  amount.amount = real ? Number::real(value.as_number().as_real()) : value.as_number();
  return Told::yes;
}

/// Whether an answer makes what was reserved a count. What it does not tell follows `missing`, and
/// what the client has made unreadable in its request counts where the policy can refuse; an
/// amount that stands in a body which cannot be read counts what was reserved for it in any case,
/// for the client has that body.
bool Evaluator::settles_as_match(PlannedPolicy& planned, limiter::Amount& late, bool& late_known) {
  const Policy& policy = policy_of(planned);
  const Binding& binding = policy.bindings[planned.binding];
  const bool counts_missing = policy.missing != config::Missing::skip;
  const Told came = came_true(planned);
  const bool strict = policy.shadow ? policy.strict_in_shadow : policy.strict;
  const bool counts = came == Told::yes || counts_missing || (came == Told::unclear && strict);
  if (came == Told::no || !counts) return false;
  if (!binding.late_amount) return true;
  const Told amount = load_late_amount(planned, late);
  late_known = amount == Told::yes;
  // Only a sum has an estimate: an average or a smallest value would be somebody else's.
  const bool has_estimate = policy.metric == config::MetricDef::Kind::sum;
  return late_known || (has_estimate && (counts_missing || amount == Told::unread));
}

void Evaluator::settle_reserved(Settlement& settlement, Instant now, bool every_one_matches) {
  WEIR_ASSERT(uses_set_of(settlement));
  if (!settlement.reserved) return;
  settlement.reserved = false;
  std::vector<PlannedCounter>& counters = settlement.counters;
  const auto counter_at = [&](const PlannedPolicy& planned, std::size_t k) -> PlannedCounter& {
    return counters[settlement.counter_refs[planned.first_counter + k]];
  };
  // Counters first, then thresholds: a policy with two windows, or several metrics, sees all
  // settled.
  for (PlannedPolicy& planned : settlement.policies) {
    const Policy& policy = policy_of(planned);
    if (!planned.reserves) {
      // What an open policy's rungs only read may have changed since the request.
      for (std::size_t k = 0; policy.is_meter && k < policy.counters.size(); ++k) {
        PlannedCounter& counter = counter_at(planned, k);
        const Counter& of = counter_of(counter);
        if (counter.counts || of.spec.metric == limiter::Metric::exists) continue;
        if (counter.asked != PlannedCounter::kNone) {
          read_in_store(settlement, counter);
          continue;
        }
        counter.reading = counts_.peek(of, counter.key, now.moment(of));
        keep_datum(counter);
      }
      continue;
    }
    const Binding& binding = policy.bindings[planned.binding];
    const bool is_sum = policy.metric == config::MetricDef::Kind::sum;
    limiter::Amount late;
    bool late_known = false;
    if (every_one_matches) {
      // What `last` remembers of the request is known all the same.
      late_known = binding.late_amount && load_late_amount(planned, late) == Told::yes;
      planned.matched = is_sum || late_known || !binding.late_amount;
    } else {
      planned.matched = settles_as_match(planned, late, late_known);
    }
    for (std::size_t k = 0; k < policy.counters.size(); ++k) {
      PlannedCounter& counter = counter_at(planned, k);
      if (!counter.reserves) {  // settled already for a policy that shares it
        planned.matched = planned.matched && counter.counts;
        continue;
      }
      counter.reserves = false;
      counter.counts = planned.matched;
      if (late_known) counter.amount = late;
      const Counter& of = counter_of(counter);
      // What looks at the events before this one reads them before this one is among them.
      const bool looks_back =
          of.spec.metric == limiter::Metric::exists || of.spec.metric == limiter::Metric::last;
      if (looks_back && planned.matched) {
        counter.reading = counts_.peek(of, counter.key, now.moment(of), &counter.amount);
        keep_datum(counter);
      }
      const limiter::Reading settled =
          counts_.settle(of, counter.key, settlement.at.of(of), now.moment(of), counter.amount,
                         counter.undo, planned.matched);
      counter.undo = {};
      if (counter.in_store && planned.matched) {
        settle_in_store(settlement, counter, looks_back);
      } else {
        end_in_store(counter, limiter::SharedVerb::release, settlement.asked);
        counter.asked = PlannedCounter::kNone;
      }
      if (looks_back && planned.matched) continue;
      counter.reading = settled;
      keep_datum(counter);
    }
  }
  if (!settlement.closing.empty()) return;  // closed() goes on
  for (const PlannedPolicy& planned : settlement.policies) {
    if (planned.reserves && planned.matched) judge_settled(settlement, planned, now);
  }
  if (rows_ != nullptr) give_settled_rows(*rows_, settlement);
}

Evaluator::Winner Evaluator::settled_winner(const Settlement& settlement,
                                            const PlannedPolicy& planned, bool shadow) {
  if (planned.blind) return {};  // on_error: allow
  const Policy& policy = policy_of(planned);
  const Binding& binding = binding_of(planned);
  return best_rung(policy, shadow, [&](std::size_t r, const Rung& rung, Value& value) {
    if (policy.has_metric) {
      const auto ref = settlement.counter_refs[planned.first_counter + rung.counter];
      value = settlement.counters[ref].value(true);
    }
    return rung_holds(policy, binding, r, value, settlement.limits[planned.first_limit + r]);
  });
}

/// The rungs of a policy on what is settled now: memory is written from nothing else.
void Evaluator::judge_settled(Settlement& settlement, const PlannedPolicy& planned, Instant now) {
  WEIR_ASSERT(uses_set_of(settlement));
  const Policy& policy = policy_of(planned);
  if (!policy.meters.empty()) {
    set_metrics(policy, settlement.policies, settlement.counters, settlement.counter_refs, true);
  }
  for (const bool shadow : {false, true}) {
    const Winner won = settled_winner(settlement, planned, shadow);
    if (won.rung < 0) continue;
    const auto r = static_cast<std::size_t>(won.rung);
    const Rung& rung = policy.rungs[r];
    if (!shadow && policy.has_metric && holds_caller(rung, rung.effect)) {
      const auto& counter =
          settlement.counters[settlement.counter_refs[planned.first_counter + rung.counter]];
      bank_.pin(counter_of(counter).id, counter.key);
    }
    remember(policy, planned, rung, r, won.value, settlement.limits[planned.first_limit + r],
             settlement.counters, settlement.counter_refs, now);
  }
}

void Evaluator::apply_resets(Settlement& settlement, Instant) {
  WEIR_ASSERT(uses_set_of(settlement));
  if (!set_->any_answer_work) return;
  for (const auto* events : {&settlement.events, &settlement.open_events}) {
    for (const EventIndex event : *events) {
      if (!happened(event)) continue;
      for (const std::uint16_t index : set_->resets_of[event]) {
        const Reset& reset = set_->resets[index];
        frame_.set_event(set_->events[event].name);
        if (!load_key(reset.key)) {
          // `missing: same`: those that lack a part are one key, which this event has too.
          if (set_->policies[reset.policy].missing != config::Missing::same) continue;
          load_key_with_gaps(reset.key);
        }
        for (const std::uint16_t counter : set_->policies[reset.policy].counters) {
          const Counter& of = set_->counters[counter];
          hash_ = key_hash();
          shared_keys_used_ = 0;
          const limiter::CounterKey key = counter_key(of, hash_);
          if (counts_.is_synced(of)) touch_synced(of, key, reset.key);
          counts_.reset(of, key, at_.moment(of));
          if (sharing_ == nullptr || of.shared == nullptr || counts_.is_synced(of)) continue;
          reset_in_store(of, shared_keys_[spell_key(reset.key)], key.place);
        }
      }
      for (const PolicySet::ListUse& release : set_->releases_of[event]) {
        const List& list = set_->lists[release.list];
        if (load_key(list.releases[release.binding].key))
          list_bank_.remove(list.id, key_hash().owned_by(list.identity), at_.now);
      }
    }
  }
}

void Evaluator::aborted(Settlement& settlement, Instant at) {
  const Instant now = settlement.answered_at(at);
  if (!settlement.reserved && settlement.patterns.empty()) return;
  const SetInUse in_use(*this, settlement.loaded);
  at_ = now;
  const Answer nothing;
  frame_.resume(set_->slots, settlement.captured, nothing, settlement.at.now, this);
  settle_reserved(settlement, now, true);
  feed_answered(settlement, now, false);
  keep_for_closing(settlement);
}

void Evaluator::released(Settlement& settlement, Instant at) {
  const Instant now = settlement.answered_at(at);
  if (!settlement.reserved) return;
  settlement.reserved = false;
  const SetInUse in_use(*this, settlement.loaded);
  for (PlannedCounter& counter : settlement.counters) {
    if (!counter.reserves) continue;
    counter.reserves = false;
    const Counter& of = counter_of(counter);
    counts_.settle(of, counter.key, settlement.at.of(of), now.moment(of), counter.amount,
                   counter.undo, false);
    counter.undo = {};
    end_in_store(counter, limiter::SharedVerb::release, settlement.asked);
  }
}

void Evaluator::ended(Settlement& settlement) {
  if (settlement.in_flight.empty()) return;
  const SetInUse in_use(*this, settlement.loaded);
  for (PlannedCounter& counter : settlement.in_flight) {
    if (counter.undo.what != limiter::Undo::What::nothing) {
      counts_.leave(counter_of(counter), counter.key, counter.amount.amount);
    }
    end_in_store(counter, limiter::SharedVerb::take_back, settlement.asked);
  }
  settlement.in_flight.clear();
}

}  // namespace weir::policies
