#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/clock.h"
#include "core/key.h"
#include "gate/judge.h"
#include "gate/settlements.h"

namespace weir::gate {

/// Requests that wait for reservations to settle, first come first served per key. Intrusive:
/// parking allocates nothing. Used by one worker's thread. Within Waiter::resume() only that waiter
/// may park or unpark.
///
/// A settlement frees at most one place, so it wakes one waiter of its key. That waiter parks again
/// at the front, and all others stay as they were; or it takes the place or is refused, and wakes
/// the next (Gate::unpark). So the cost of a settlement does not grow with the queue: 1,000 parked
/// guesses are not judged again at each answer, whether they wait for one key or for a thousand.
class WaitQueue {
 public:
  explicit WaitQueue(std::size_t most) : most_(most) {}

  /// False: full. A waiter that parks again within one wait keeps its deadline and its place.
  bool park(Waiter& waiter, const Hash128& key, TimePoint now, milliseconds wait);
  /// Ends the wait, parked or not.
  void unpark(Waiter& waiter);
  /// Resumes the first waiter of this key.
  void wake(const Hash128& key, TimePoint now);
  /// Resumes the first waiter of every key in these groups (Settlements::group_of).
  void wake_groups(const SettledGroups& groups, TimePoint now);
  /// Resumes the first waiter of every key.
  void wake_all(TimePoint now);
  /// Resumes waiters whose deadline has passed. Looks at all waiters only if there is one.
  void expire(TimePoint now);

  std::size_t size() const noexcept { return size_; }
  static TimePoint deadline(const Waiter& waiter) noexcept { return waiter.deadline_; }
  static const Hash128& key(const Waiter& waiter) noexcept { return waiter.key_; }
  /// The waiter waits, but is not parked: it is being judged again.
  static bool resumed(const Waiter& waiter) noexcept {
    return !waiter.parked_ && waiter.deadline_ != TimePoint{};
  }

 private:
  /// Waiters whose keys fall into one group, in their order.
  struct Group {
    Waiter* first = nullptr;
    Waiter* last = nullptr;
  };
  Group& group_of(const Waiter& waiter) noexcept {
    return groups_[Settlements::group_of(waiter.key_)];
  }
  void link(Waiter& waiter, bool front) noexcept;
  void unlink(Waiter& waiter) noexcept;
  void wake_group(Group& group, TimePoint now);

  std::size_t most_;
  std::size_t size_ = 0;  // parked
  std::array<Group, Settlements::kGroups> groups_{};
  TimePoint soonest_{};       // no deadline is before this, if a waiter is parked
  std::vector<Waiter*> due_;  // of the call under way
};

}  // namespace weir::gate
