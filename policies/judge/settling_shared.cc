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
void Settling::settle_in_store(PlannedCounter& counter, bool looks_back) {
  Judgement& judgement = *work_.judgement;
  counter.in_store = false;
  const StoreOps::Item& from = judgement.asked[counter.asked];
  const limiter::SharedReply& reply = judgement.asked.reply(counter.asked);
  const limiter::SharedPart part{
      store_.part_of(counter, judgement.asked).counter, {}, reply.parts[counter.part].undo};
  const auto close = [&](SharedVerb verb, const limiter::Amount& event) -> StoreOps::Item& {
    StoreOps::Item& item = judgement.closing.add(verb, from.key, event, from.op.id);
    item.op.place = from.op.place;
    StoreOps::add_part(item, part);
    return item;
  };
  if (looks_back) close(SharedVerb::look, counter.amount);  // the reply is about earlier events
  const std::size_t first = judgement.closing.size() - (looks_back ? 1 : 0);
  if (!is_same(from.op.event, counter.amount)) {  // the reservation was of the expected amount
    close(SharedVerb::release, from.op.event);
  }
  counter.asked = static_cast<std::uint16_t>(looks_back ? first : judgement.closing.size());
  close(SharedVerb::settle, counter.amount).op.at = reply.at;
  counter.part = 0;
  counter.closing = true;
}

/// A counter that a rung only reads may have changed since the request.
void Settling::read_in_store(PlannedCounter& counter) {
  Judgement& judgement = *work_.judgement;
  const StoreOps::Item& from = judgement.asked[counter.asked];
  StoreOps::Item& item =
      judgement.closing.add(SharedVerb::read, from.key, counter.amount, from.op.id);
  item.op.place = from.op.place;
  StoreOps::add_part(item, {store_.part_of(counter, judgement.asked).counter, {}, 0});
  counter.asked = static_cast<std::uint16_t>(judgement.closing.size() - 1);
  counter.part = 0;
  counter.closing = true;
}

/// Copies the values of request and answer that the rungs read: both are gone when the store
/// replies.
void Settling::keep_for_closing() {
  Judgement& judgement = *work_.judgement;
  if (judgement.closing.empty()) return;
  matching_.captures().clear();
  const auto add = [&](const auto& again, SlotId id) -> void {
    const Slot& slot = work_.set->slots[id];
    if (!slot.varies) {
      if (std::find(matching_.captures().begin(), matching_.captures().end(), id) ==
          matching_.captures().end())
        matching_.captures().push_back(id);
    } else if (slot.program) {  // its parts, because its own value differs by then
      for (const SlotId part : slot.program->slots) again(again, part);
    }
  };
  for (const PlannedPolicy& planned : judgement.plan.policies) {
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
  judgement.captured = std::move(kept);
}

void Settling::closed(Instant at) {
  Judgement& judgement = *work_.judgement;
  const Answer nothing;
  look_at(nothing, at);
  store_.use_replies_of(judgement.closing);
  for (PlannedCounter& counter : judgement.plan.counters) {
    if (!counter.closing) counter.asked = PlannedCounter::kNone;
    if (counter.asked == PlannedCounter::kNone) continue;
    const limiter::SharedReply& reply = judgement.closing.reply(counter.asked);
    if (reply.error != SharedError::none) continue;  // then the local counts decide
    counter.reading = reply.parts[counter.part].reading;
    planning_.keep_datum(counter);
  }
  for (const PlannedPolicy& planned : judgement.plan.policies) {
    if (planned.reserves && planned.matched) judge_settled(planned);
  }
  if (work_.rows != nullptr) row_reporting_.give_settled_rows(*work_.rows);
  judgement.closing.clear();
}

/// The same event once more: the store holds it once, and moves its end.
void Settling::renew() {
  const Judgement& judgement = *work_.judgement;
  for (const PlannedCounter& counter : judgement.in_flight) {
    if (counter.in_store)
      store_.add_best_effort_for(counter, SharedVerb::add, judgement.asked).op.renews = true;
  }
  for (const PlannedCounter& counter : judgement.plan.counters) {
    if (counter.in_store && counter.reserves)
      store_.add_best_effort_for(counter, SharedVerb::reserve, judgement.asked).op.renews = true;
  }
}

}  // namespace weir::policies
