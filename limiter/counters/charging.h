#pragma once

#include <optional>

#include "limiter/counters/bank.h"
#include "limiter/kinds/counter.h"

namespace weir::limiter {

/// Charges one counter for one key after the other. It finds the common part of the events of one
/// moment, the counter and the begin of its window, only once: Bank::charge() finds it each time.
///
/// Not thread-safe; one per thread and counter. The bank must outlive it. It points to the counter,
/// which is freed some time after it was closed: a CounterId may be kept for longer, and a Charging
/// may not.
class Charging {
 public:
  Charging(Bank& bank, CounterId id) noexcept;

  /// Whether keys are all that its operations need. Otherwise only Bank's own operations are right.
  bool is_simple() const noexcept { return counter_ != nullptr; }
  /// From now on events happen at this time, on the counter's clock.
  void move_to(TimePoint now) noexcept {
    if (!at_ || now_ != now) move(now);
  }
  /// Where the key is; starts loading it.
  Table::Place find(const Hash128& key) const noexcept {
    const Table::Place place = counter_->table->place(key, counter_->salt);
    counter_->table->prefetch(place);
    return place;
  }
  /// As Bank::charge(), at a place that find() gave. `undo` and `r` are as made. True: the key was
  /// there, and of `undo` and `r` only this has changed: the stored entry, if any,
  /// the refusal, and the reading's numbers.
  bool charge(const Table::Place& place, const Amount& event, const Ceiling* ceiling, Undo* undo,
              Reading& r) noexcept;
  /// As Bank::peek(), with the event.
  Reading peek(const Table::Place& place, const Amount& event) const noexcept;

 private:
  void move(TimePoint now) noexcept;
  Reading charge_otherwise(Slot* slot, const Table::Place& place, const Amount& event,
                           const Ceiling* ceiling, Undo* undo) noexcept;

  Bank::Impl* bank_;
  Counter* counter_;
  bool is_packed_ = false;  // a count in a ring: charged in place, where the key is there already
  TimePoint now_{};
  std::optional<Instant> at_;  // of now_
};

}  // namespace weir::limiter
