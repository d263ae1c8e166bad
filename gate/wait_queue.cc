#include "gate/wait_queue.h"

#include <algorithm>

namespace weir::gate {

void WaitQueue::link(Waiter& waiter) noexcept {
  waiter.previous_ = last_;
  waiter.next_ = nullptr;
  (last_ != nullptr ? last_->next_ : first_) = &waiter;
  last_ = &waiter;
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
  if (waiter.deadline_ == TimePoint{}) waiter.deadline_ = now + wait;
  waiter.key_ = key;
  link(waiter);
  return true;
}

void WaitQueue::unpark(Waiter& waiter) {
  if (waiter.parked_) unlink(waiter);
  waiter.deadline_ = {};
}

void WaitQueue::resume(Waiter& waiter, TimePoint now) {
  unlink(waiter);
  waiter.resume(now);
}

void WaitQueue::wake(const Hash128& key, TimePoint now) {
  Waiter* waiter = first_;
  for (std::size_t left = size_; waiter != nullptr && left > 0; --left) {
    Waiter* const next = waiter->next_;
    if (waiter->key_ == key) {
      const std::size_t before = size_;
      resume(*waiter, now);
      if (size_ >= before) return;  // it parked again: so would the others
      // Resuming may have ended other sessions that were parked: start over from the front.
      waiter = first_;
      left = size_ + 1;
      continue;
    }
    waiter = next;
  }
}

void WaitQueue::tick(TimePoint now, bool settled_elsewhere) {
  blocked_.clear();
  Waiter* waiter = first_;
  for (std::size_t left = size_; waiter != nullptr && left > 0;) {
    Waiter* const next = waiter->next_;
    const bool due = waiter->deadline_ <= now;
    const bool blocked =
        std::find(blocked_.begin(), blocked_.end(), waiter->key_) != blocked_.end();
    if (due || (settled_elsewhere && !blocked)) {
      const Hash128 key = waiter->key_;
      const std::size_t before = size_;
      resume(*waiter, now);
      if (size_ >= before && !due) blocked_.push_back(key);
      if (size_ + 1 < before) {  // it took others with it: `next` may be gone
        waiter = first_;
        left = size_;
        continue;
      }
    }
    waiter = next;
    --left;
  }
}

}  // namespace weir::gate
