#include "policies/judge/store_calls.h"

#include "core/assert.h"
#include "core/no_memory.h"
#include "limiter/exchange/shared_key.h"
#include "policies/set/peer_key.h"

namespace weir::policies {
namespace {

using limiter::SharedError;
using limiter::SharedVerb;

}  // namespace

/// Spells the key just loaded (hash_) for the store; returns an index into shared_keys_. The place
/// of a radius key is not part of it.
std::uint16_t StoreCalls::spell_key(const std::vector<KeySlot>& key_slots) {
  std::string& out = next_key();
  out = sharing_->prefix;
  const bool near = has_radius(key_slots);
  if (!sharing_->readable) {
    limiter::append_hashed_key(out, near ? keys_.hash_without_place() : keys_.hash());
  } else {
    keys_.load_key_with_gaps(key_slots);
    keys_.load_texts();
    limiter::ReadableKey key(out);
    for (std::size_t i = 0; i < keys_.parts().size(); ++i) {
      if (key_slots[i].is_place) continue;
      keys_.parts()[i].is_null() ? key.add_missing() : key.add_text(keys_.printable()[i]);
    }
    key.end();
  }
  return static_cast<std::uint16_t>(shared_keys_used_++);
}

std::uint16_t StoreCalls::spell_peer_key(const config::PeerKey& key) {
  std::string& out = next_key();
  out.clear();
  const Descriptor* const descriptor = work_.frame.descriptor();
  WEIR_ASSERT(descriptor != nullptr);  // nothing else is an event of such a policy
  append_peer_key(out, key, *descriptor, work_.at.wall);
  return static_cast<std::uint16_t>(shared_keys_used_++);
}

std::string& StoreCalls::next_key() {
  if (shared_keys_used_ == shared_keys_.size()) shared_keys_.emplace_back();
  return shared_keys_[shared_keys_used_];
}

/// This judgement will read or charge the key: queues it for its next interval.
void StoreCalls::touch_synced(const Counter& counter, const limiter::CounterKey& key,
                              const std::vector<KeySlot>& key_slots) {
  if (work_.counts.synced().touch(counter.synced, key)) return;
  const std::uint16_t spelled = spell_key(key_slots);
  work_.counts.synced().add(counter.synced, key, shared_keys_[spelled], work_.at.of(counter));
  forget_last_key();
}

/// Adds an operation whose reply is not awaited. Its parts are counters of the set in use, which it
/// keeps alive until the store has replied.
StoreOps::Item& StoreCalls::add_best_effort(SharedVerb verb, std::string_view key,
                                            const limiter::Amount& event,
                                            const limiter::SharedId& id) {
  best_effort_.keep(work_.loaded);
  return best_effort_.add(verb, key, event, id);
}

/// The part of an operation that asked for this counter. The counter must be one of the set in use:
/// an operation of a set that a reload has replaced is continued under SetInUse alone.
const limiter::SharedPart& StoreCalls::part_of(const PlannedCounter& planned,
                                               const StoreOps& asked) const {
  WEIR_ASSERT(planned.asked < asked.size() && planned.counter < work_.set->counters.size());
  const limiter::SharedPart& part = asked[planned.asked].op.parts[planned.part];
  WEIR_ASSERT(part.counter == work_.counter_of(planned).shared.get());
  return part;
}

/// The same for the event, key and counter of the operation that asked for the counter.
StoreOps::Item& StoreCalls::add_best_effort_for(const PlannedCounter& planned, SharedVerb verb,
                                                const StoreOps& asked) {
  const limiter::SharedPart& part = part_of(planned, asked);
  const limiter::SharedOp& from = asked[planned.asked].op;
  StoreOps::Item& item = add_best_effort(verb, from.key, from.event, from.id);
  item.op.lifetime = from.lifetime;
  item.op.place = from.place;
  StoreOps::add_part(item, {part.counter, {}, 0});
  return item;
}

/// Without a reply, it is unknown whether the store holds a place for the event. Such a place would
/// never be settled, and a few of them would refuse others until they expire: so the place is given
/// up.
void StoreCalls::give_up_place(const PlannedCounter& planned, const StoreOps& asked) noexcept {
  const StoreOps::Item& from = asked[planned.asked];
  const SharedError error = asked.reply(planned.asked).error;
  if (error != SharedError::timed_out && error != SharedError::lost) return;
  const bool flies = work_.counter_of(planned).spec.window == limiter::Window::none;
  const bool holds = from.op.verb == SharedVerb::reserve;
  if (!holds && !(flies && from.op.verb == SharedVerb::add)) return;
  survives_no_memory([&] {
    add_best_effort_for(planned, holds ? SharedVerb::release : SharedVerb::take_back, asked);
  });
}

/// Counts events missing in the store, without waiting. After a time-out it is unknown whether
/// the store has counted: a second count would be worse than none.
void StoreCalls::count_in_store(const PlannedCounter& planned, const StoreOps& asked) {
  if (asked.reply(planned.asked).error != SharedError::none) return;
  add_best_effort_for(planned, SharedVerb::add, asked);
}

/// Ends the store's part of an event, without waiting: release, take_back, or settle at once. Parts
/// that cannot be ended for lack of memory expire in the store.
void StoreCalls::end_in_store(PlannedCounter& planned, SharedVerb verb,
                              const StoreOps& asked) noexcept {
  if (!planned.in_store) return;
  planned.in_store = false;
  const limiter::SharedReply& reply = asked.reply(planned.asked);
  survives_no_memory([&] {
    StoreOps::Item& item = add_best_effort_for(planned, verb, asked);
    item.op.at = reply.at;
    item.parts[0].undo = reply.parts[planned.part].undo;
  });
}

void StoreCalls::reset_in_store(const Counter& counter, std::string_view key, const Place& place) {
  StoreOps::Item& item = add_best_effort(SharedVerb::reset, key, {}, next_id());
  item.op.place = place;
  StoreOps::add_part(item, {counter.shared.get(), {}, 0});
}

}  // namespace weir::policies
