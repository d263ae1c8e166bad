#include "gate/wait_queue.h"

#include <algorithm>

#include "core/no_memory.h"

namespace weir::gate {

void WaitQueue::link(Waiter& waiter, bool front) noexcept {
  Group& group = group_of(waiter);
  Waiter* const before = front ? nullptr : group.last;
  Waiter* const after = front ? group.first : nullptr;
  waiter.previous_ = before;
  waiter.next_ = after;
  (before != nullptr ? before->next_ : group.first) = &waiter;
  (after != nullptr ? after->previous_ : group.last) = &waiter;
  waiter.parked_ = true;
  ++size_;
}

void WaitQueue::unlink(Waiter& waiter) noexcept {
  Group& group = group_of(waiter);
  (waiter.previous_ != nullptr ? waiter.previous_->next_ : group.first) = waiter.next_;
  (waiter.next_ != nullptr ? waiter.next_->previous_ : group.last) = waiter.previous_;
  waiter.previous_ = waiter.next_ = nullptr;
  waiter.parked_ = false;
  --size_;
}

bool WaitQueue::park(Waiter& waiter, const Hash128& key, TimePoint now, milliseconds wait) {
  if (waiter.parked_) return true;
  if (size_ >= most_) return false;
  const bool again = waiter.deadline_ != TimePoint{};
  if (!again) waiter.deadline_ = now + wait;
  soonest_ = size_ == 0 ? waiter.deadline_ : std::min(soonest_, waiter.deadline_);
  waiter.key_ = key;
  link(waiter, again);
  return true;
}

void WaitQueue::unpark(Waiter& waiter) {
  if (waiter.parked_) unlink(waiter);
  waiter.deadline_ = {};
}

void WaitQueue::wake(const Hash128& key, TimePoint now) {
  for (Waiter* waiter = groups_[Settlements::group_of(key)].first; waiter != nullptr;
       waiter = waiter->next_) {
    if (waiter->key_ != key) continue;
    unlink(*waiter);
    survives_no_memory([&] { waiter->resume(now); });  // the others have their turn
    return;
  }
}

void WaitQueue::wake_group(Group& group, TimePoint now) {
  due_.clear();
  const auto has_key = [](const Waiter* first, const Hash128& key) { return first->key_ == key; };
  for (Waiter* waiter = group.first; waiter != nullptr; waiter = waiter->next_) {
    const bool first = std::none_of(due_.begin(), due_.end(), [&](const Waiter* earlier) {
      return has_key(earlier, waiter->key_);
    });
    if (first) due_.push_back(waiter);
  }
  for (Waiter* const waiter : due_) {
    unlink(*waiter);
    survives_no_memory([&] { waiter->resume(now); });  // the others have their turn
  }
}

void WaitQueue::wake_groups(const SettledGroups& groups, TimePoint now) {
  if (size_ == 0) return;
  for (std::size_t i = groups._Find_first(); i < groups.size(); i = groups._Find_next(i)) {
    if (groups_[i].first != nullptr) wake_group(groups_[i], now);
  }
}

void WaitQueue::wake_all(TimePoint now) {
  for (Group& group : groups_) {
    if (group.first != nullptr) wake_group(group, now);
  }
}

void WaitQueue::expire(TimePoint now) {
  if (size_ == 0 || now < soonest_) return;
  due_.clear();
  soonest_ = TimePoint::max();
  for (const Group& group : groups_) {
    for (Waiter* waiter = group.first; waiter != nullptr; waiter = waiter->next_) {
      if (waiter->deadline_ <= now) {
        due_.push_back(waiter);
      } else {
        soonest_ = std::min(soonest_, waiter->deadline_);
      }
    }
  }
  for (Waiter* const waiter : due_) {
    unlink(*waiter);
    survives_no_memory([&] { waiter->resume(now); });  // the others have their turn
  }
}

}  // namespace weir::gate
