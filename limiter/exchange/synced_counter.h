#pragma once

#include <memory>

#include "limiter/counters/bank.h"
#include "limiter/exchange/shared_op.h"

namespace weir::limiter {

/// How the counts of all replicas become one reading.
enum class Merge : std::uint8_t {
  none,     ///< not exchanged: each event asks the store
  sum,      ///< the counts of all replicas are added up
  average,  ///< two sums: of the amounts, and of ones; the reading is their quotient
  extreme,  ///< the least or the greatest value of all replicas
  members,  ///< the store counts different members; each replica sends its own
  gauge,    ///< each replica reports its open requests for a while; the total is the sum
};
Merge merge_of(const CounterSpec& spec) noexcept;

/// The counter that is exchanged for an average. Over buckets, as sums are: a log would have to
/// hold an entry for every exchange of every replica.
CounterSpec amounts_of(const CounterSpec& average);
CounterSpec ones_of(const CounterSpec& average);
/// The average of these two readings.
Reading average_of(const Reading& amounts, const Reading& ones) noexcept;

struct SyncedAverage;

/// A counter whose counts replicas exchange: its Merge is not `none`.
struct SyncedCounter {
  CounterId id;                                 ///< this replica's own part, in the Bank
  std::shared_ptr<const SharedCounter> shared;  ///< as the store has it
  milliseconds interval{0};                     ///< how often; 0: it is not exchanged
  bool wall_clock = false;                      ///< its times are those of Clock::wall
  std::shared_ptr<SyncedAverage> average;       ///< counted instead of it; null: itself

  /// Fills in everything but the ids, which the bank gives.
  static SyncedCounter of(const std::shared_ptr<const SharedCounter>& counter,
                          milliseconds interval, bool wall_clock);
  /// Shortens the interval to `most`: if several policies ask for the same counter, the shortest
  /// interval counts.
  void exchange_within(milliseconds most) noexcept;
  /// How long an event may stay in its window.
  milliseconds longest_stay() const noexcept;
  /// Opens its counters in the bank, and stores the ids.
  Result<void> open(Bank& bank, std::size_t keys);
};

/// The two counters that an exchanged average consists of: the sum of the amounts, and the number
/// of events.
struct SyncedAverage {
  SyncedCounter amounts, ones;
};

}  // namespace weir::limiter
