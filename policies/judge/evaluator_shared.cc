#include <algorithm>

#include "core/assert.h"
#include "limiter/exchange/shared_key.h"
#include "policies/judge/evaluator.h"
#include "policies/lang/expr/program.h"

/// Counters of all replicas. A judgement that needs them is made in two halves: what is counted
/// here is charged, and the store asked about the rest; with its replies the verdict is made. What
/// the store has counted is counted here as well, without limit: this replica's own part, which
/// `on_error: local` goes on with while the store is away.
namespace weir::policies {
namespace {

using limiter::SharedError;
using limiter::SharedVerb;

constexpr std::uint16_t kNone = PlannedCounter::kNone;

bool is_same(const limiter::Amount& a, const limiter::Amount& b) {
  return a.amount == b.amount && a.member == b.member && a.datum == b.datum;
}

bool adds(SharedVerb verb) { return verb == SharedVerb::add || verb == SharedVerb::reserve; }

/// A part of a limit, for a replica that counts alone.
Number scaled(Number limit, double part) { return Number::real(limit.as_real() * part); }

}  // namespace

/// The key just loaded (hash_), as it is spelled in the store: an index into shared_keys_. A place
/// that counts within a radius is no part of it.
std::uint16_t Evaluator::spell_key(const std::vector<KeySlot>& key_slots) {
  if (shared_keys_used_ == shared_keys_.size()) shared_keys_.emplace_back();
  std::string& out = shared_keys_[shared_keys_used_];
  out = sharing_->prefix;
  const bool near = has_radius(key_slots);
  if (!sharing_->readable) {
    limiter::append_hashed_key(out, near ? hash_without_place() : hash_);
  } else {
    load_key_with_gaps(key_slots);
    load_texts();
    limiter::ReadableKey key(out);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (key_slots[i].is_place) continue;
      parts_[i].is_null() ? key.add_missing() : key.add_text(views_[i]);
    }
    key.end();
  }
  return static_cast<std::uint16_t>(shared_keys_used_++);
}

/// This judgement will read or charge the key: it is exchanged at its next interval.
void Evaluator::touch_synced(const Counter& counter, const limiter::CounterKey& key,
                             const std::vector<KeySlot>& key_slots) {
  if (counts_.synced().touch(counter.synced, key)) return;
  const std::uint16_t spelled = spell_key(key_slots);
  counts_.synced().add(counter.synced, key, shared_keys_[spelled], at_.of(counter));
  --shared_keys_used_;
}

/// One operation for each policy and key, with the windows of its rungs as parts: all or none
/// count.
void Evaluator::ask(bool refused, const Options& options) {
  asking_.clear();
  const limiter::SharedId id{sharing_->origin, ++sequence_};
  for (const PlannedPolicy& policy : plan_.policies) {
    if (!set_->policies[policy.policy].has_metric) continue;
    const std::size_t first = asking_.size();
    for (std::size_t k = 0; k < set_->policies[policy.policy].counters.size(); ++k) {
      PlannedCounter& planned = plan_.counters[plan_.counter_refs[policy.first_counter + k]];
      if (planned.shared_key == kNone || planned.asked != kNone) continue;
      const Counter& counter = counter_of(planned);
      SharedVerb verb =
          planned.reserves || planned.provisional ? SharedVerb::reserve : SharedVerb::add;
      if (!planned.counts) {
        verb = counter.spec.metric == limiter::Metric::exists ? SharedVerb::look : SharedVerb::read;
      } else if (options.dry || (refused && !counter.always)) {
        verb = SharedVerb::look;
      }
      // A reply has room for one datum, and for one place.
      const bool alone = counter.spec.metric == limiter::Metric::last || counter.near();
      std::size_t at = alone ? asking_.size() : first;
      while (at < asking_.size() &&
             (asking_[at].op.verb != verb || !is_same(asking_[at].op.event, planned.amount) ||
              asking_[at].op.parts.size() == limiter::SharedOp::kPartsMax)) {
        ++at;
      }
      if (at == asking_.size()) {
        Asking::Item& item =
            asking_.add(verb, shared_keys_[planned.shared_key], planned.amount, id);
        const bool flies = counter.spec.window == limiter::Window::none;
        item.op.lifetime = flies ? sharing_->flight : sharing_->reservation;
        item.op.place = planned.key.place;
      }
      Asking::Item& item = asking_[at];
      planned.amount.datum = item.op.event.datum;  // which outlives the frame
      planned.asked = static_cast<std::uint16_t>(at);
      planned.part = static_cast<std::uint8_t>(item.op.parts.size());
      limiter::SharedPart part;
      part.counter = counter.shared.get();
      if (planned.has_ceiling && !counter.always) part.ceiling = planned.ceiling;
      Asking::add_part(item, part);
    }
  }
}

void Evaluator::take_replies(const Options& options) {
  asked_ = &asking_;
  bool failed = false;
  for (PlannedCounter& planned : plan_.counters) {
    if (planned.asked == kNone) continue;
    const limiter::SharedReply& reply = asking_.reply(planned.asked);
    if (reply.error != SharedError::none) {
      failed = true;
      give_up_place(planned, asking_);
      continue;
    }
    planned.reading = reply.parts[planned.part].reading;
    const Asking::Item& item = asking_[planned.asked];
    if (adds(item.op.verb)) {
      const auto& ceiling = item.op.parts[planned.part].ceiling;
      planned.in_store = reply.admitted;
      planned.reading.refused =
          !reply.admitted && ceiling && ceiling->broken_by(planned.reading.value);
      if (reply.admitted) mirror(planned, at_);
    }
    keep_datum(planned);
  }
  if (failed) go_alone(options);
  charge_deferred(options);
  take_pattern_replies(options);
  if (options.trace != nullptr) trace_counters(*options.trace);
}

/// This replica's own part of what the store has counted; the reading stays the store's.
void Evaluator::mirror(PlannedCounter& planned, Instant at) {
  const Counter& counter = counter_of(planned);
  if (planned.reserves) {
    bank_.reserve(counter.id, planned.key, at.moment(counter), planned.amount, nullptr,
                  &planned.undo);
  } else {
    bank_.charge(counter.id, planned.key, at.moment(counter), planned.amount, nullptr,
                 &planned.undo);
  }
}

/// The store is away: each policy does what its on_error says.
void Evaluator::go_alone(const Options& options) {
  const auto failed = [&](const PlannedCounter& planned) {
    return planned.asked != kNone && asking_.reply(planned.asked).error != SharedError::none;
  };
  bool refused = refused_by_list();
  for (PlannedCounter& planned : plan_.counters) {
    if (failed(planned)) planned.has_ceiling = false;
    refused = refused || (planned.reading.refused && !counter_of(planned).shadow);
  }
  for (PlannedPolicy& planned : plan_.policies) {
    const Policy& policy = set_->policies[planned.policy];
    if (!policy.has_metric) continue;
    const auto counter = [&](std::size_t k) -> const PlannedCounter& {
      return plan_.counters[plan_.counter_refs[planned.first_counter + k]];
    };
    bool any = false;
    for (std::size_t k = 0; k < policy.counters.size(); ++k) any = any || failed(counter(k));
    if (!any) continue;
    if (policy.on_error.what == config::OnErrorDef::What::allow) {
      planned.blind = true;
      continue;
    }
    if (policy.on_error.what == config::OnErrorDef::What::deny && !policy.shadow &&
        planned.applies && !plan_.defect) {
      plan_.defect = store_defect(policy);
    }
    for (std::size_t r = 0; policy.on_error.part < 1 && r < policy.rungs.size(); ++r) {
      const bool grows = policy.rungs[r].compare == config::Rung::Compare::over ||
                         policy.rungs[r].compare == config::Rung::Compare::at;
      auto& limit = plan_.limits[planned.first_limit + r];
      if (grows && limit && failed(counter(policy.rungs[r].counter))) {
        limit = scaled(*limit, policy.on_error.part);
      }
    }
    note_ceilings(policy, policy.bindings[planned.binding], planned);
  }
  for (PlannedCounter& planned : plan_.counters) {
    if (failed(planned)) refused = charge_here(planned, at_, refused, options) || refused;
  }
}

/// An operation that nobody waits for. Its parts are counters of the set in use, which lives at
/// least until the store has answered.
Asking::Item& Evaluator::errand(SharedVerb verb, std::string_view key, const limiter::Amount& event,
                                const limiter::SharedId& id) {
  errands_.keep(loaded_);
  return errands_.add(verb, key, event, id);
}

/// The part of an operation that asked for this counter. The counter must be one of the set in use:
/// an operation of a set that a reload has replaced is continued under SetInUse alone.
const limiter::SharedPart& Evaluator::part_of(const PlannedCounter& planned,
                                              const Asking& asked) const {
  WEIR_ASSERT(planned.asked < asked.size() && planned.counter < set_->counters.size());
  const limiter::SharedPart& part = asked[planned.asked].op.parts[planned.part];
  WEIR_ASSERT(part.counter == counter_of(planned).shared.get());
  return part;
}

/// An errand for the same event, key and counter as the operation that asked for the counter.
Asking::Item& Evaluator::errand_for(const PlannedCounter& planned, SharedVerb verb,
                                    const Asking& asked) {
  const limiter::SharedPart& part = part_of(planned, asked);
  const limiter::SharedOp& from = asked[planned.asked].op;
  Asking::Item& item = errand(verb, from.key, from.event, from.id);
  item.op.lifetime = from.lifetime;
  item.op.place = from.place;
  Asking::add_part(item, {part.counter, {}, 0});
  return item;
}

/// A reply that never came leaves open whether the store holds a place for the event. Nobody will
/// settle that one, and a few of them would refuse others until its lifetime ends: it is given up.
void Evaluator::give_up_place(const PlannedCounter& planned, const Asking& asked) {
  const Asking::Item& from = asked[planned.asked];
  const SharedError error = asked.reply(planned.asked).error;
  if (error != SharedError::timed_out && error != SharedError::lost) return;
  const bool flies = counter_of(planned).spec.window == limiter::Window::none;
  const bool holds = from.op.verb == SharedVerb::reserve;
  if (!holds && !(flies && from.op.verb == SharedVerb::add)) return;
  errand_for(planned, holds ? SharedVerb::release : SharedVerb::take_back, asked);
}

/// Ends what the store holds of an event, without waiting: release, take_back, or settle at once.
void Evaluator::end_in_store(PlannedCounter& planned, SharedVerb verb, const Asking& asked) {
  if (!planned.in_store) return;
  planned.in_store = false;
  const limiter::SharedReply& reply = asked.reply(planned.asked);
  Asking::Item& item = errand_for(planned, verb, asked);
  item.op.at = reply.at;
  item.parts[0].undo = reply.parts[planned.part].undo;
}

/// A reservation whose event has happened: its reading is awaited, for the rungs that remember.
void Evaluator::settle_in_store(Settlement& settlement, PlannedCounter& counter, bool looks_back) {
  counter.in_store = false;
  const Asking::Item& from = settlement.asked[counter.asked];
  const limiter::SharedReply& reply = settlement.asked.reply(counter.asked);
  const limiter::SharedPart part{
      part_of(counter, settlement.asked).counter, {}, reply.parts[counter.part].undo};
  const auto close = [&](SharedVerb verb, const limiter::Amount& event) -> Asking::Item& {
    Asking::Item& item = settlement.closing.add(verb, from.key, event, from.op.id);
    item.op.place = from.op.place;
    Asking::add_part(item, part);
    return item;
  };
  if (looks_back) close(SharedVerb::look, counter.amount);  // what it says is of before the event
  const std::size_t first = settlement.closing.size() - (looks_back ? 1 : 0);
  if (!is_same(from.op.event, counter.amount)) {  // reserved was what it had been expected to be
    close(SharedVerb::release, from.op.event);
  }
  counter.asked = static_cast<std::uint16_t>(looks_back ? first : settlement.closing.size());
  close(SharedVerb::settle, counter.amount).op.at = reply.at;
  counter.part = 0;
  counter.closing = true;
}

/// What a rung only reads may have changed since the request.
void Evaluator::read_in_store(Settlement& settlement, PlannedCounter& counter) {
  const Asking::Item& from = settlement.asked[counter.asked];
  Asking::Item& item =
      settlement.closing.add(SharedVerb::read, from.key, counter.amount, from.op.id);
  item.op.place = from.op.place;
  Asking::add_part(item, {part_of(counter, settlement.asked).counter, {}, 0});
  counter.asked = static_cast<std::uint16_t>(settlement.closing.size() - 1);
  counter.part = 0;
  counter.closing = true;
}

void Evaluator::reset_in_store(const Counter& counter, std::string_view key, const Place& place) {
  Asking::Item& item = errand(SharedVerb::reset, key, {}, {sharing_->origin, ++sequence_});
  item.op.place = place;
  Asking::add_part(item, {counter.shared.get(), {}, 0});
}

/// What the rungs read of request and answer is copied: both will be gone when the store replies.
void Evaluator::keep_for_closing(Settlement& settlement) {
  if (settlement.closing.empty()) return;
  captures_.clear();
  const auto add = [&](const auto& again, SlotId id) -> void {
    const Slot& slot = set_->slots[id];
    if (!slot.varies) {
      if (std::find(captures_.begin(), captures_.end(), id) == captures_.end())
        captures_.push_back(id);
    } else if (slot.program) {  // what it is made of, for it is another thing by then
      for (const SlotId part : slot.program->slots) again(again, part);
    }
  };
  for (const PlannedPolicy& planned : settlement.policies) {
    if (!planned.reserves || !planned.matched) continue;
    const Policy& policy = set_->policies[planned.policy];
    const Binding& binding = policy.bindings[planned.binding];
    for (const SlotId slot : binding.captures) add(add, slot);
    for (const Binding::RungPart& rung : binding.rungs) {
      if (!rung.condition) continue;
      for (const SlotId slot : rung.condition->slots()) add(add, slot);
    }
  }
  Captured kept;
  frame_.capture(captures_, kept);
  settlement.captured = std::move(kept);
}

void Evaluator::closed(Settlement& settlement, Instant at) {
  const Instant now = settlement.answered_at(at);
  const SetInUse in_use(*this, settlement.loaded);
  at_ = now;
  const Answer nothing;
  frame_.resume(set_->slots, settlement.captured, nothing, settlement.at.now, this);
  asked_ = &settlement.closing;
  for (PlannedCounter& counter : settlement.counters) {
    if (!counter.closing) counter.asked = kNone;
    if (counter.asked == kNone) continue;
    const limiter::SharedReply& reply = settlement.closing.reply(counter.asked);
    if (reply.error != SharedError::none) continue;  // then what is known here must do
    counter.reading = reply.parts[counter.part].reading;
    keep_datum(counter);
  }
  for (const PlannedPolicy& planned : settlement.policies) {
    if (planned.reserves && planned.matched) judge_settled(settlement, planned, now);
  }
  if (rows_ != nullptr) give_settled_rows(*rows_, settlement);
  settlement.closing.clear();
}

/// The same event once more: the store holds it once, and moves its end.
void Evaluator::renew(const Settlement& settlement, TimePoint now, milliseconds least) {
  if (settlement.loaded == nullptr || now - settlement.at.now < least) return;
  const SetInUse in_use(*this, settlement.loaded);
  for (const PlannedCounter& counter : settlement.in_flight) {
    if (counter.in_store) errand_for(counter, SharedVerb::add, settlement.asked);
  }
  for (const PlannedCounter& counter : settlement.counters) {
    if (counter.in_store && counter.reserves)
      errand_for(counter, SharedVerb::reserve, settlement.asked);
  }
}

void Evaluator::put_aside(Aside& into) {
  into.loaded = loaded_;
  std::swap(into.plan, plan_);
  into.at = at_;
  into.happened = happened_;
  into.line = line_;
}

template <class Occurrence>
void Evaluator::restore(const Occurrence& occurrence, Aside& aside) {
  std::swap(aside.plan, plan_);
  std::swap(aside.asking, asking_);
  at_ = aside.at;
  happened_ = aside.happened;
  line_ = aside.line;
  aside.loaded.reset();
  frame_.begin(set_->slots, occurrence, this);
  mark_planned();
}

const Verdict& Evaluator::told(const Request& request, const Options& options) {
  take_replies(options);
  return finish_judging(request, options);
}

const Verdict& Evaluator::told(const Record& record, const Options& options) {
  take_replies(options);
  return finish_judging(record, options);
}

const Verdict& Evaluator::told_again(const Request& request, Aside& aside, const Options& options) {
  restore(request, aside);
  return told(request, options);
}

const Verdict& Evaluator::told_again(const Record& record, Aside& aside, const Options& options) {
  restore(record, aside);
  return told(record, options);
}

void Evaluator::drop(Aside& aside) {
  const std::shared_ptr<const Loaded> loaded = std::move(aside.loaded);  // kept by nobody else
  const SetInUse in_use(*this, loaded);
  std::swap(aside.plan, plan_);
  std::swap(aside.asking, asking_);
  for (PlannedCounter& planned : plan_.counters) {
    if (planned.asked == kNone) continue;
    const limiter::SharedReply& reply = asking_.reply(planned.asked);
    planned.in_store =
        reply.error == SharedError::none && reply.admitted && adds(asking_[planned.asked].op.verb);
    give_up_place(planned, asking_);
  }
  verdict_.clear();
  take_back(true, aside.at);
}

}  // namespace weir::policies
