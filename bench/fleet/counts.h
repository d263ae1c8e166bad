#pragma once

#include <cstddef>
#include <cstdint>

/// A fleet of replicas that exchange counts (`share: {redis: {sync: ...}}`), with weir's own
/// exchange, store and windows, in simulated time. The same seed gives the same numbers, on any
/// machine.
namespace weir::bench {

struct CountsScenario {
  std::size_t replicas = 10;
  std::size_t together = 0;  // so many see the same keys, the others have their own; 0: all
  std::size_t shards = 1;
  std::size_t keys = 10'000;
  double skew = 1.1;    // Zipf's exponent
  double rate = 1'000;  // events a second, each replica
  std::int64_t limit = 600;
  std::int64_t window_ms = 10'000;
  std::int64_t sync_ms = 200;
  std::int64_t way_ms = 1;  // to the store, and back
  std::int64_t seconds = 30;
  std::int64_t swing_ms = 0;  // so long half of the replicas get all events, then the other half
  std::uint64_t seed = 1;
};

struct CountsOutcome {
  std::uint64_t events = 0, admitted = 0, beyond = 0, early = 0, operations = 0, busiest_shard = 0;
  double worst = 0;  // of all keys and windows: admitted / limit
};

CountsOutcome simulate(const CountsScenario& scenario);

}  // namespace weir::bench
