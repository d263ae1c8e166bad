#include "limiter/counters/charging.h"

#include "limiter/counters/bank_impl.h"
#include "limiter/kinds/ops.h"

namespace weir::limiter {

using RingCounts = WindowOps<std::uint32_t>;

Charging::Charging(Bank& bank, CounterId id) noexcept
    : bank_(bank.impl_.get()), counter_(bank_->counter(id)) {
  // A radius looks into many keys, and events with their own times move the counter's clock.
  if (counter_ != nullptr && (counter_->grid || counter_->rule.own_time)) counter_ = nullptr;
  is_packed_ = counter_ != nullptr && counter_->ops->charge == &RingCounts::charge;
}

void Charging::move(TimePoint now) noexcept {
  now_ = now;
  at_.emplace(bank_->instant(*counter_, now, true));
}

// In one piece for most counters: a call into each kind costs as much as the counting.
bool Charging::charge(const Table::Place& place, const Amount& event, const Ceiling* ceiling,
                      Undo* undo, Reading& r) noexcept {
  place.region->lock.lock();
  const bool retired = counter_->retired.load(std::memory_order_relaxed);
  Slot* const slot = retired ? nullptr : counter_->table->find(place, counter_->index);
  const bool in_place =
      is_packed_ && slot != nullptr &&
      RingCounts::charge_in_place(*slot, *counter_, bank_->arena, *at_, event, ceiling, undo, r);
  if (!in_place) r = charge_otherwise(slot, place, event, ceiling, undo);
  place.region->lock.unlock();
  return in_place;
}

Reading Charging::charge_otherwise(Slot* slot, const Table::Place& place, const Amount& event,
                                   const Ceiling* ceiling, Undo* undo) noexcept {
  if (counter_->retired.load(std::memory_order_relaxed)) return Bank::Impl::itself_alone(&event);
  Subject subject{*counter_, place, bank_->ages, bank_->arena, slot};
  return counter_->ops->charge(subject, *at_, event, ceiling, undo);
}

Reading Charging::peek(const Table::Place& place, const Amount& event) const noexcept {
  const std::scoped_lock hold(place.region->lock);
  if (counter_->retired.load(std::memory_order_relaxed)) return Bank::Impl::itself_alone(&event);
  const Subject subject{*counter_, place, bank_->ages, bank_->arena,
                        counter_->table->find(place, counter_->index)};
  return counter_->ops->peek(subject, *at_, &event);
}

}  // namespace weir::limiter
