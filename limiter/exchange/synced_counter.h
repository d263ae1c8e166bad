#pragma once

#include <memory>

#include "limiter/counters/bank.h"
#include "limiter/exchange/shared_op.h"

namespace weir::limiter {

/// How what each replica has counted becomes one reading.
enum class Merge : std::uint8_t {
  none,     ///< it does not: the store is asked each time
  sum,      ///< all that they have is added up
  average,  ///< two sums: of the amounts, and of ones; the reading is their quotient
  extreme,  ///< the least or the greatest of what they have
  members,  ///< the store knows how many different ones there are; each tells those it has seen
  gauge,    ///< each says what it has open, for a while; all that they say is added up
};
Merge merge_of(const CounterSpec& spec) noexcept;

/// What an average is exchanged as. Over buckets, as sums are: a log would have to hold an entry
/// for every exchange of every replica.
CounterSpec amounts_of(const CounterSpec& average);
CounterSpec ones_of(const CounterSpec& average);
/// The average, of what these two read.
Reading average_of(const Reading& amounts, const Reading& ones) noexcept;

struct SyncedAverage;

/// A counter whose counts replicas exchange: what a Merge other than `none` is for.
struct SyncedCounter {
  CounterId id;                                 ///< this replica's own part, in the Bank
  std::shared_ptr<const SharedCounter> shared;  ///< as the store has it
  milliseconds interval{0};                     ///< how often; 0: it is not exchanged
  bool wall_clock = false;                      ///< goes by Clock::wall
  std::shared_ptr<SyncedAverage> average;       ///< what is counted instead of it; null: itself

  /// All but the ids, which the bank gives.
  static SyncedCounter of(const std::shared_ptr<const SharedCounter>& counter,
                          milliseconds interval, bool wall_clock);
  /// Of several that ask for the same counter the shortest interval counts.
  void exchange_within(milliseconds most) noexcept;
  /// How long an event may stay in its window.
  milliseconds longest_stay() const noexcept;
  /// Opens what it counts in the bank, and takes the ids.
  Result<void> open(Bank& bank, std::size_t keys);
};

struct SyncedAverage {
  SyncedCounter amounts, ones;
};

}  // namespace weir::limiter
