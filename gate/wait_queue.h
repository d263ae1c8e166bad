#pragma once

#include <cstddef>
#include <vector>

#include "core/clock.h"
#include "core/key.h"
#include "gate/judge.h"

namespace weir::gate {

/// Who waits for reservations to settle, first come first served per key. Intrusive: parking
/// allocates nothing. Used by one worker's thread. Within Waiter::resume() only that waiter may
/// park or unpark.
///
/// A settlement frees at most one place, so it wakes one waiter of its key. That one parks again at
/// the front, and all stay as they were; or it takes the place or is refused, and wakes the next
/// (Gate::unpark). So the cost of a settlement does not grow with the queue: 1,000 parked guesses
/// are not judged anew at each answer.
class WaitQueue {
 public:
  explicit WaitQueue(std::size_t most) : most_(most) {}

  /// False: full. A waiter that parks again within one wait keeps its deadline and its place.
  bool park(Waiter& waiter, const Hash128& key, TimePoint now, milliseconds wait);
  /// Ends the wait, parked or not.
  void unpark(Waiter& waiter);
  /// Resumes the first waiter of this key.
  void wake(const Hash128& key, TimePoint now);
  /// Resumes who is past the deadline; with `settled` also the first waiter of every key.
  void tick(TimePoint now, bool settled);

  std::size_t size() const noexcept { return size_; }
  static TimePoint deadline(const Waiter& waiter) noexcept { return waiter.deadline_; }
  static const Hash128& key(const Waiter& waiter) noexcept { return waiter.key_; }
  /// It waits, but is not parked: it is being judged again.
  static bool resumed(const Waiter& waiter) noexcept {
    return !waiter.parked_ && waiter.deadline_ != TimePoint{};
  }

 private:
  void link(Waiter& waiter, bool front) noexcept;
  void unlink(Waiter& waiter) noexcept;

  std::size_t most_;
  std::size_t size_ = 0;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::vector<Hash128> seen_;  // keys whose first waiter has been resumed within one tick
};

}  // namespace weir::gate
