#include "policies/judge/settling.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/no_memory.h"
#include "policies/judgement/unread.h"
#include "policies/lang/expr/program.h"

namespace weir::policies {

namespace {

using limiter::SharedVerb;

}  // namespace

bool Settling::must_observe() const noexcept {
  if (!work_.plan().open_views.empty()) return true;
  if (work_.plan().allowed) return false;
  for (const PlannedPolicy& planned : work_.plan().policies) {
    // Also one that found no room to reserve: its answer counts all the same.
    if (planned.reserves) return true;
  }
  for (const PlannedCounter& planned : work_.plan().counters) {
    if (!work_.set->any_in_flight) break;
    if (planned.counted() && work_.counter_of(planned).spec.window == limiter::Window::none) {
      return true;
    }
  }
  for (const PlannedPattern& planned : work_.plan().patterns) {
    if (planned.deferred()) return true;
  }
  if (!work_.set->any_answer_work) return false;
  for (const auto* events : {&work_.plan().events, &work_.plan().open_events}) {
    for (const EventIndex event : *events) {
      if (!work_.set->resets_of[event].empty() || !work_.set->releases_of[event].empty())
        return true;
    }
  }
  return false;
}

bool Settling::settled_by(const Answer& answer) {
  if (work_.set->any_answer_work || work_.set->any_in_flight || !work_.plan().open_views.empty())
    return false;
  const auto waits = [](const PlannedPattern& planned) { return planned.deferred(); };
  if (std::any_of(work_.plan().patterns.begin(), work_.plan().patterns.end(), waits)) return false;
  work_.frame.look_at(answer, work_.set->of_answers, work_.set->not_kept);
  matching_.happen(work_.plan().open_events);
  return std::none_of(work_.plan().policies.begin(), work_.plan().policies.end(),
                      [&](const PlannedPolicy& planned) {
                        if (!planned.reserves) return false;
                        const bool stored = work_.policy_of(planned).has_metric &&
                                            work_.planned_counter(planned, 0).counted();
                        return stored || came_true(planned) != AnswerSays::no;
                      });
}

void Settling::open() {
  Judgement& judgement = *work_.judgement;
  judgement.hold(work_.loaded, Judgement::Phase::open);
  for (const PlannedCounter& planned : work_.plan().counters) {
    if (!work_.set->any_in_flight) break;
    if (planned.counted() && work_.counter_of(planned).spec.window == limiter::Window::none)
      judgement.in_flight.push_back(planned);
  }
  // Everything that the answer side reads of the request is copied now: its buffers will be gone.
  matching_.captures().clear();
  for (const PlannedPolicy& planned : work_.plan().policies) {
    if (!planned.reserves) continue;
    judgement.reserved = true;
    for (const SlotId slot : work_.set->policies[planned.policy].bindings[planned.binding].captures)
      matching_.note_capture(slot);
  }
  for (const auto* events : {&work_.plan().events, &work_.plan().open_events}) {
    if (!work_.set->any_answer_work) break;
    for (const EventIndex event : *events) {
      for (const std::uint16_t reset : work_.set->resets_of[event]) {
        for (const KeySlot& part : work_.set->resets[reset].key) matching_.note_capture(part.slot);
      }
      for (const PolicySet::ListUse& release : work_.set->releases_of[event]) {
        for (const KeySlot& part : work_.set->lists[release.list].releases[release.binding].key)
          matching_.note_capture(part.slot);
      }
    }
  }
  for (const std::uint16_t view : work_.plan().open_views) {
    for (const View::Binding& binding : work_.set->views[view].bindings) {
      for (const SlotId slot : binding.captures) matching_.note_capture(slot);
    }
  }
  for (const EventIndex event : work_.plan().open_events) {
    const auto& when = work_.set->events[event].when;
    if (!when) continue;
    for (const SlotId slot : when->captures()) matching_.note_capture(slot);
  }
  patterns_.keep_patterns();  // more captures
  work_.frame.capture(matching_.captures(), judgement.captured);
}

void Settling::look_at(const Answer& answer, Instant at) {
  const Judgement& judgement = *work_.judgement;
  work_.at = judgement.answered_at(at);
  work_.frame.resume(work_.set->slots, judgement.captured, answer, judgement.at.now, work_.oracle);
}

void Settling::answered(const Answer& answer, Instant at) {
  Judgement& judgement = *work_.judgement;
  look_at(answer, at);
  store_.use_replies_of(judgement.asked);
  matching_.next_epoch();
  for (const EventIndex event : judgement.plan.events) matching_.mark_happened(event);
  matching_.happen(judgement.plan.open_events);
  settle_reserved(false);
  patterns_.feed_answered(work_.at, true);
  if (!judgement.plan.allowed) apply_resets();
  view_counting_.observe_answered_views();
  keep_for_closing();
}

/// Whether the event that a policy reserved for has happened, by the answer.
Settling::AnswerSays Settling::came_true(const PlannedPolicy& planned) {
  const Policy& policy = work_.policy_of(planned);
  const Binding& judged = policy.bindings[planned.binding];
  AnswerSays says = AnswerSays::no;
  for (const Binding& binding : policy.bindings) {
    const bool is_event_unread = matching_.is_unread(binding.event);
    if (!binding.counts || (!is_event_unread && !matching_.happened(binding.event))) continue;
    bool unread = is_event_unread;
    const bool has_held =
        &binding == &judged && binding.when && binding.when->side() == Side::request;
    if (binding.when && !has_held) {
      work_.frame.set_event(work_.set->events[binding.event].name);
      const Value holds = binding.when->eval(work_.frame);
      if (!holds.is_true() && !hangs_on_unread(work_.frame, *binding.when, holds)) continue;
      unread = unread || !holds.is_true();
    }
    if (!unread) return AnswerSays::yes;
    if (says != AnswerSays::unclear)
      says =
          is_unclear(work_.frame, *work_.set, binding) ? AnswerSays::unclear : AnswerSays::unread;
  }
  return says;
}

/// Loads an amount that only the answer contains.
Settling::AnswerSays Settling::load_late_amount(const PlannedPolicy& planned,
                                                limiter::Amount& amount) {
  const Policy& policy = work_.policy_of(planned);
  const Binding& binding = policy.bindings[planned.binding];
  const Expression& expression = binding.arguments.front();
  work_.frame.set_event(work_.set->events[binding.event].name);
  const Value value = spelled(work_.frame, expression.eval(work_.frame));
  const auto miss = [&] {
    StatsCells::add(work_.loaded->policy_cells[policy.index]
                        ->missing[std::min(binding.key.size(), StatsCells::kFields - 1)]);
    return hangs_on_unread(work_.frame, expression, value) ? AnswerSays::unread : AnswerSays::no;
  };
  if (policy.metric == Metric::last) {
    const limiter::Datum datum = datum_of(value);
    amount.datum = work_.frame.arena().make(datum);
    const bool there = datum.type != limiter::Datum::Type::none || value.is(Type::text);
    return there ? AnswerSays::yes : miss();
  }
  if (!value.is_number() || !value.as_number().is_finite()) return miss();
  if (policy.amounts_checked && value.as_number().is_negative()) {
    StatsCells::add(work_.loaded->policy_cells[policy.index]->amounts_refused);
    return AnswerSays::no;
  }
  const bool real = work_.set->counters[policy.counters.front()].spec.real;
  amount.amount = real ? Number::real(value.as_number().as_real()) : value.as_number();
  return AnswerSays::yes;
}

/// Whether an answer turns a reservation into a count. Unknown parts of the answer follow
/// `missing`. Parts of the request that the client has made unreadable count if the policy can
/// refuse. An amount in an unreadable body always counts as reserved, because the client has that
/// body.
bool Settling::settles_as_match(PlannedPolicy& planned, limiter::Amount& late, bool& late_known) {
  const Policy& policy = work_.policy_of(planned);
  const Binding& binding = policy.bindings[planned.binding];
  const bool counts_missing = policy.missing != Missing::skip;
  const AnswerSays came = came_true(planned);
  const bool counts = came == AnswerSays::yes || counts_missing ||
                      (came == AnswerSays::unclear && policy.counts_unclear);
  if (came == AnswerSays::no || !counts) return false;
  if (!binding.late_amount) return true;
  const AnswerSays amount = load_late_amount(planned, late);
  late_known = amount == AnswerSays::yes;
  // Only a sum has an estimate: for an average or an extreme, it would be the value of another
  // request.
  const bool has_estimate = policy.metric == Metric::sum;
  return late_known || (has_estimate && (counts_missing || amount == AnswerSays::unread));
}

void Settling::settle_reserved(bool every_one_matches) {
  Judgement& judgement = *work_.judgement;
  if (!std::exchange(judgement.reserved, false)) return;
  const Instant now = work_.at;
  // Counters first, then thresholds: a policy with two windows, or several metrics, sees all
  // settled.
  for (PlannedPolicy& planned : judgement.plan.policies) {
    const Policy& policy = work_.policy_of(planned);
    if (!planned.reserves) {
      // Counters that an open policy only reads may have changed since the request.
      for (std::size_t k = 0; policy.is_meter && k < policy.counters.size(); ++k) {
        PlannedCounter& counter = work_.planned_counter(planned, k);
        const Counter& of = work_.counter_of(counter);
        if (counter.counts || of.spec.metric == Metric::exists) continue;
        if (counter.asked != PlannedCounter::kNone) {
          read_in_store(counter);
          continue;
        }
        counter.reading = work_.counts.peek(of, counter.key, now.moment(of));
        planning_.keep_datum(counter);
      }
      continue;
    }
    const Binding& binding = policy.bindings[planned.binding];
    const bool is_sum = policy.metric == Metric::sum;
    limiter::Amount late;
    bool late_known = false;
    if (every_one_matches) {
      // The value of the request that `last` remembers is known all the same.
      late_known = binding.late_amount && load_late_amount(planned, late) == AnswerSays::yes;
      planned.matched = is_sum || late_known || !binding.late_amount;
    } else {
      planned.matched = settles_as_match(planned, late, late_known);
    }
    for (std::size_t k = 0; k < policy.counters.size(); ++k) {
      PlannedCounter& counter = work_.planned_counter(planned, k);
      if (!counter.reserves) {  // settled already for a policy that shares it
        planned.matched = planned.matched && counter.counts;
        continue;
      }
      counter.counts = planned.matched;
      if (late_known) counter.amount = late;
      const Counter& of = work_.counter_of(counter);
      // Metrics over earlier events are read before this event joins them.
      const bool looks_back = of.spec.metric == Metric::exists || of.spec.metric == Metric::last;
      if (looks_back && planned.matched) {
        counter.reading = work_.counts.peek(of, counter.key, now.moment(of), &counter.amount);
        planning_.keep_datum(counter);
      }
      counter.reserves = false;  // settle_rest() takes care of it until here
      const limiter::Reading settled =
          work_.counts.settle(of, counter.key, judgement.at.of(of), now.moment(of), counter.amount,
                              counter.undo, planned.matched);
      counter.undo = {};
      if (counter.in_store && planned.matched) {
        settle_in_store(counter, looks_back);
      } else {
        store_.end_in_store(counter, SharedVerb::release, judgement.asked);
        counter.asked = PlannedCounter::kNone;
      }
      if (looks_back && planned.matched) continue;
      counter.reading = settled;
      planning_.keep_datum(counter);
      const bool calm = binding.calm && LoudKeys::stays_calm(settled.value, *binding.calm);
      if (!calm) work_.loud.add(policy.index, counter.key);
    }
    if (planned.matched) StatsCells::add(work_.loaded->policy_cells[planned.policy]->events);
  }
  if (!judgement.closing.empty()) return;  // closed() continues
  for (const PlannedPolicy& planned : judgement.plan.policies) {
    if (planned.reserves && planned.matched) judge_settled(planned);
  }
  if (work_.rows != nullptr) row_reporting_.give_settled_rows(*work_.rows);
}

/// The rungs of a policy on the settled counts: memory is written from these alone.
void Settling::judge_settled(const PlannedPolicy& planned) {
  const Policy& policy = work_.policy_of(planned);
  if (!policy.meters.empty()) ladder_.set_metrics(policy, true);
  for (const bool shadow : {false, true}) {
    const Winner won = ladder_.settled_winner(planned, shadow);
    if (won.rung < 0) continue;
    const auto r = static_cast<std::size_t>(won.rung);
    const Rung& rung = policy.rungs[r];
    if (!shadow && policy.has_metric && holds_caller(rung, rung.effect)) {
      const PlannedCounter& counter = work_.planned_counter(planned, rung.counter);
      work_.bank.pin(work_.counter_of(counter).id, counter.key);
    }
    memory_.remember(policy, planned, rung, r, won.value,
                     work_.plan().limits[planned.first_limit + r], work_.at);
  }
}

void Settling::apply_resets() {
  if (!work_.set->any_answer_work) return;
  for (const auto* events : {&work_.plan().events, &work_.plan().open_events}) {
    for (const EventIndex event : *events) {
      if (!matching_.happened(event)) continue;
      for (const std::uint16_t index : work_.set->resets_of[event]) {
        const Reset& reset = work_.set->resets[index];
        work_.frame.set_event(work_.set->events[event].name);
        if (!keys_.load_key(reset.key)) {
          // `missing: same`: those that lack a part are one key, which this event has too.
          if (work_.set->policies[reset.policy].missing != Missing::same) continue;
          keys_.load_key_with_gaps(reset.key);
        }
        for (const std::uint16_t counter : work_.set->policies[reset.policy].counters) {
          const Counter& of = work_.set->counters[counter];
          keys_.hash_loaded_key();
          store_.forget_keys();
          const limiter::CounterKey key = keys_.counter_key(of, keys_.hash());
          if (work_.counts.is_synced(of)) store_.touch_synced(of, key, reset.key);
          work_.counts.reset(of, key, work_.at.moment(of));
          if (store_.sharing() == nullptr || of.shared == nullptr || work_.counts.is_synced(of))
            continue;
          store_.reset_in_store(of, store_.key(store_.spell_key(reset.key)), key.place);
        }
      }
      for (const PolicySet::ListUse& release : work_.set->releases_of[event]) {
        const List& list = work_.set->lists[release.list];
        if (keys_.load_key(list.releases[release.binding].key))
          work_.list_bank.remove(list.id, keys_.key_hash().owned_by(list.identity), work_.at.now);
      }
    }
  }
}

void Settling::aborted(Instant at) {
  Judgement& judgement = *work_.judgement;
  if (!judgement.reserved && !judgement.open_patterns) return;
  const Answer nothing;
  look_at(nothing, at);
  store_.use_replies_of(judgement.asked);
  settle_reserved(true);
  patterns_.feed_answered(work_.at, false);
  keep_for_closing();
}

void Settling::released(Instant at) noexcept {
  if (std::exchange(work_.judgement->reserved, false)) end_reservations(at, false);
}

void Settling::settle_rest(Instant at) noexcept { end_reservations(at, true); }

/// Ends reservations without reading the answer and without judging rungs. If memory runs out, an
/// exchanged counter is counted here at once and sent to the other replicas later.
void Settling::end_reservations(Instant at, bool matched) noexcept {
  Judgement& judgement = *work_.judgement;
  const Instant now = judgement.answered_at(at);
  for (PlannedCounter& counter : judgement.plan.counters) {
    if (!counter.reserves) continue;
    counter.reserves = false;
    const Counter& of = work_.counter_of(counter);
    survives_no_memory([&] {
      work_.counts.settle(of, counter.key, judgement.at.of(of), now.moment(of), counter.amount,
                          counter.undo, matched);
    });
    counter.undo = {};
    store_.end_in_store(counter, matched ? SharedVerb::settle : SharedVerb::release,
                        judgement.asked);
  }
}

void Settling::ended() noexcept {
  Judgement& judgement = *work_.judgement;
  for (PlannedCounter& counter : judgement.in_flight) {
    if (counter.undo.what != limiter::Undo::What::nothing) {
      survives_no_memory([&] {
        work_.counts.leave(work_.counter_of(counter), counter.key, counter.amount.amount);
      });
    }
    store_.end_in_store(counter, SharedVerb::take_back, judgement.asked);
  }
  judgement.in_flight.clear();
}

}  // namespace weir::policies
