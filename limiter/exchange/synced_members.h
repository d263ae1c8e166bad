#pragma once

#include <vector>

#include "limiter/counters/bank.h"
#include "limiter/exchange/sync_push.h"
#include "limiter/exchange/sync_rounds.h"

namespace weir::limiter {

/// Exchanged members. The store has the set. Each replica sends the members that it sees, one by
/// one, and learns how many members the set has. Local members that the store has are part of that
/// number; the rest are the others' members.
///
/// A member that is new here may be one of the others' members. It counts in addition to them only
/// when the store has confirmed it: a device with three accounts that comes to this replica for the
/// first time has three of them, and not six. (Counting it at once was rejected: a caller that
/// moves from replica to replica would be listed for merely reaching the limit.) Members that this
/// replica alone has seen always count.
///
/// If the window slides, a member that keeps coming is sent again, at most sixty times per window:
/// on the other replicas it leaves the window earlier by up to a sixtieth of the window.
///
/// Every function is called under the entry's lock.
class SyncedMembers {
 public:
  /// The most members of a key in one exchange; if this many wait, they do not wait for the
  /// interval.
  static constexpr std::size_t kMembersOfPush = 128;

  SyncedMembers(Bank& bank, SyncTable& table, SyncRounds& rounds, Overshoot& overshoot)
      : bank_(bank), table_(table), rounds_(rounds), overshoot_(overshoot) {}

  // As SyncedBank has them.
  void take_in(Reading& reading, const SyncEntry& entry, TimePoint now) const noexcept;
  Reading admit(SyncEntry& entry, const CounterKey& key, Moment now, const Amount& event,
                const Ceiling* ceiling, bool enforced, bool reserves, Undo* undo);
  Reading settle(SyncEntry& entry, const CounterKey& key, TimePoint event_time, Moment now,
                 const Amount& event, const Undo& undo, bool matched);
  /// Call it when the bank has taken the member back. A member that was sent stays in the store.
  void uncharge(SyncEntry& entry, const Undo& undo) noexcept;

  /// Writes pushes to `out` from `at` on, `most` of them at most: one for each member, or one that
  /// asks. Returns how many.
  std::size_t fill(SyncEntry& entry, TimePoint now, SharedId& id, std::size_t at, std::size_t most,
                   std::vector<SyncPush>& out);
  /// The answer to one of them.
  void take_reply(SyncEntry& entry, const SyncPush& push, bool done) noexcept;
  /// Takes the store's number of members.
  void take(SyncEntry& entry, Number total, TimePoint now);

 private:
  Number told_of(const SyncEntry& entry, TimePoint now) const noexcept;
  void take_in(Reading& reading, const SyncEntry& entry, Number told, TimePoint now) const noexcept;
  void note_fresh(SyncEntry& entry, const Reading& reading, TimePoint now);
  void forget_told(SyncEntry& entry, TimePoint now);

  Bank& bank_;
  SyncTable& table_;
  SyncRounds& rounds_;
  Overshoot& overshoot_;
};

}  // namespace weir::limiter
