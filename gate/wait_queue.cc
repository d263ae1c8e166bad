#include "gate/wait_queue.h"

#include <algorithm>

namespace weir::gate {

void WaitQueue::link(Waiter& waiter, bool front) noexcept {
  Waiter* const before = front ? nullptr : last_;
  Waiter* const after = front ? first_ : nullptr;
  waiter.previous_ = before;
  waiter.next_ = after;
  (before != nullptr ? before->next_ : first_) = &waiter;
  (after != nullptr ? after->previous_ : last_) = &waiter;
  waiter.parked_ = true;
  ++size_;
}

void WaitQueue::unlink(Waiter& waiter) noexcept {
  (waiter.previous_ != nullptr ? waiter.previous_->next_ : first_) = waiter.next_;
  (waiter.next_ != nullptr ? waiter.next_->previous_ : last_) = waiter.previous_;
  waiter.previous_ = waiter.next_ = nullptr;
  waiter.parked_ = false;
  --size_;
}

bool WaitQueue::park(Waiter& waiter, const Hash128& key, TimePoint now, milliseconds wait) {
  if (waiter.parked_) return true;
  if (size_ >= most_) return false;
  const bool again = waiter.deadline_ != TimePoint{};
  if (!again) waiter.deadline_ = now + wait;
  waiter.key_ = key;
  link(waiter, again);
  return true;
}

void WaitQueue::unpark(Waiter& waiter) {
  if (waiter.parked_) unlink(waiter);
  waiter.deadline_ = {};
}

void WaitQueue::wake(const Hash128& key, TimePoint now) {
  for (Waiter* waiter = first_; waiter != nullptr; waiter = waiter->next_) {
    if (waiter->key_ != key) continue;
    unlink(*waiter);
    waiter->resume(now);
    return;
  }
}

void WaitQueue::tick(TimePoint now, bool settled) {
  seen_.clear();
  for (Waiter* waiter = first_; waiter != nullptr;) {
    Waiter* const next = waiter->next_;
    const bool due = waiter->deadline_ <= now;
    const bool first =
        settled && std::find(seen_.begin(), seen_.end(), waiter->key_) == seen_.end();
    if (first) seen_.push_back(waiter->key_);
    if (due || first) {
      unlink(*waiter);
      waiter->resume(now);
    }
    waiter = next;
  }
}

}  // namespace weir::gate
