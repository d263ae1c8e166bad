#include <algorithm>

#include "core/assert.h"
#include "policies/judge/settling.h"
#include "policies/lang/expr/program.h"

namespace weir::policies {
namespace {

using limiter::SharedError;
using limiter::SharedVerb;

}  // namespace

/// A reservation whose event has happened: its reading is awaited, for the rungs that remember.
void Settling::settle_in_store(Settlement& settlement, PlannedCounter& counter, bool looks_back) {
  counter.in_store = false;
  const Asking::Item& from = settlement.asked[counter.asked];
  const limiter::SharedReply& reply = settlement.asked.reply(counter.asked);
  const limiter::SharedPart part{
      store_.part_of(counter, settlement.asked).counter, {}, reply.parts[counter.part].undo};
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
void Settling::read_in_store(Settlement& settlement, PlannedCounter& counter) {
  const Asking::Item& from = settlement.asked[counter.asked];
  Asking::Item& item =
      settlement.closing.add(SharedVerb::read, from.key, counter.amount, from.op.id);
  item.op.place = from.op.place;
  Asking::add_part(item, {store_.part_of(counter, settlement.asked).counter, {}, 0});
  counter.asked = static_cast<std::uint16_t>(settlement.closing.size() - 1);
  counter.part = 0;
  counter.closing = true;
}

/// What the rungs read of request and answer is copied: both will be gone when the store replies.
void Settling::keep_for_closing(Settlement& settlement) {
  if (settlement.closing.empty()) return;
  matching_.captures().clear();
  const auto add = [&](const auto& again, SlotId id) -> void {
    const Slot& slot = work_.set->slots[id];
    if (!slot.varies) {
      if (std::find(matching_.captures().begin(), matching_.captures().end(), id) ==
          matching_.captures().end())
        matching_.captures().push_back(id);
    } else if (slot.program) {  // what it is made of, for it is another thing by then
      for (const SlotId part : slot.program->slots) again(again, part);
    }
  };
  for (const PlannedPolicy& planned : settlement.policies) {
    if (!planned.reserves || !planned.matched) continue;
    const Policy& policy = work_.set->policies[planned.policy];
    const Binding& binding = policy.bindings[planned.binding];
    for (const SlotId slot : binding.captures) add(add, slot);
    for (const Binding::RungPart& rung : binding.rungs) {
      if (!rung.condition) continue;
      for (const SlotId slot : rung.condition->slots()) add(add, slot);
    }
  }
  Captured kept;
  work_.frame.capture(matching_.captures(), kept);
  settlement.captured = std::move(kept);
}

void Settling::closed(Settlement& settlement, Instant at) {
  const Instant now = settlement.answered_at(at);
  const SetInUse in_use(matching_, settlement.loaded);
  work_.at = now;
  const Answer nothing;
  work_.frame.resume(work_.set->slots, settlement.captured, nothing, settlement.at.now,
                     work_.oracle);
  store_.use_replies_of(settlement.closing);
  for (PlannedCounter& counter : settlement.counters) {
    if (!counter.closing) counter.asked = PlannedCounter::kNone;
    if (counter.asked == PlannedCounter::kNone) continue;
    const limiter::SharedReply& reply = settlement.closing.reply(counter.asked);
    if (reply.error != SharedError::none) continue;  // then what is known here must do
    counter.reading = reply.parts[counter.part].reading;
    planning_.keep_datum(counter);
  }
  for (const PlannedPolicy& planned : settlement.policies) {
    if (planned.reserves && planned.matched) judge_settled(settlement, planned, now);
  }
  if (work_.rows != nullptr) row_giving_.give_settled_rows(*work_.rows, settlement);
  settlement.closing.clear();
}

/// The same event once more: the store holds it once, and moves its end.
void Settling::renew(const Settlement& settlement, TimePoint now, milliseconds least) {
  if (settlement.loaded == nullptr || now - settlement.at.now < least) return;
  const SetInUse in_use(matching_, settlement.loaded);
  for (const PlannedCounter& counter : settlement.in_flight) {
    if (counter.in_store) store_.errand_for(counter, SharedVerb::add, settlement.asked);
  }
  for (const PlannedCounter& counter : settlement.counters) {
    if (counter.in_store && counter.reserves)
      store_.errand_for(counter, SharedVerb::reserve, settlement.asked);
  }
}

}  // namespace weir::policies
