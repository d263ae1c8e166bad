#pragma once

#include "limiter/exchange/synced_bank.h"

/// An average that is exchanged: a sum of amounts and a sum of ones, each with an entry of its own.
/// They are charged one after the other, not under one lock: an event of another thread may come
/// between, and a reading be off by that event.
namespace weir::limiter {

Reading admit_average(SyncedBank& bank, const SyncedAverage& parts, const CounterKey& key,
                      Moment now, const Amount& event, const Ceiling* ceiling, bool reserves,
                      Undo* undo);
Reading peek_average(SyncedBank& bank, const SyncedAverage& parts, const CounterKey& key,
                     Moment now, const Amount* event) noexcept;
Reading settle_average(SyncedBank& bank, const SyncedAverage& parts, const CounterKey& key,
                       TimePoint event_time, Moment now, const Amount& event, const Undo& undo,
                       bool matched);
/// The undo of the sum of ones, from the undo of the sum of amounts. Both hold the same events at
/// the same times; sums of integers need nothing more.
Undo undo_of_one(const Undo& undo) noexcept;

}  // namespace weir::limiter
