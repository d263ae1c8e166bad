#pragma once

#include <cstddef>
#include <vector>

#include "core/clock.h"
#include "core/key.h"
#include "gate/judge.h"

namespace weir::gate {

/// Who waits for reservations to settle, first come first served per key. Intrusive: parking allocates
/// nothing. Used by one worker's thread.
///
/// A settlement frees at most one place, so wake() resumes waiters of that key one by one and stops at the
/// first that has to wait on: the cost of a settlement does not grow with the length of the queue's tail
/// (1,000 parked guesses would otherwise be judged anew at each of 1,000 answers).
class WaitQueue {
 public:
  explicit WaitQueue(std::size_t most) : most_(most) {}

  /// False: full. A waiter that parks again within one wait keeps its deadline.
  bool park(Waiter& waiter, const Hash128& key, TimePoint now, milliseconds wait);
  void unpark(Waiter& waiter);
  void wake(const Hash128& key, TimePoint now);
  /// Resumes who is past the deadline; with `settled_elsewhere` also tries the first of every key.
  void tick(TimePoint now, bool settled_elsewhere);

  std::size_t size() const noexcept { return size_; }
  static TimePoint deadline(const Waiter& waiter) noexcept { return waiter.deadline_; }

 private:
  void link(Waiter& waiter) noexcept;
  void unlink(Waiter& waiter) noexcept;
  void resume(Waiter& waiter, TimePoint now);

  std::size_t most_;
  std::size_t size_ = 0;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::vector<Hash128> blocked_;  // keys whose first waiter had to wait on, within one tick
};

}  // namespace weir::gate
