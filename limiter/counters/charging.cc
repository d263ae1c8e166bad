#include "limiter/counters/charging.h"

#include "limiter/counters/bank_impl.h"

namespace weir::limiter {

Charging::Charging(Bank& bank, CounterId id) noexcept
    : bank_(bank.impl_.get()), counter_(bank_->counter(id)) {
  // A radius looks into many keys, and events with their own times move the counter's clock.
  if (counter_ != nullptr && (counter_->grid || counter_->rule.own_time)) counter_ = nullptr;
}

void Charging::move(TimePoint now) noexcept {
  now_ = now;
  at_.emplace(bank_->instant(*counter_, now, true));
}

template <class F>
[[gnu::always_inline]] inline Reading Charging::read(const Table::Place& place, const Amount& event,
                                                     F&& f) const noexcept {
  const std::scoped_lock hold(place.region->lock);
  if (counter_->retired.load(std::memory_order_relaxed)) return Bank::Impl::itself_alone(&event);
  Subject subject{*counter_, place, bank_->ages, bank_->arena,
                  counter_->table->find(place, counter_->index)};
  return f(subject);
}

Reading Charging::charge(const Table::Place& place, const Amount& event, const Ceiling* ceiling,
                         Undo* undo) noexcept {
  return read(
      place, event, [&](Subject & subject) __attribute__((always_inline)) {
        return counter_->ops->charge(subject, *at_, event, ceiling, undo);
      });
}

Reading Charging::peek(const Table::Place& place, const Amount& event) const noexcept {
  return read(
      place, event, [&](Subject & subject) __attribute__((always_inline)) {
        return counter_->ops->peek(subject, *at_, &event);
      });
}

}  // namespace weir::limiter
