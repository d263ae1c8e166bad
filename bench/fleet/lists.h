#pragma once

#include <cstddef>
#include <cstdint>

/// Replicas that share a list (`share: redis`), each with weir's own exchange, before one Redis
/// that takes its time for every call, in simulated time. The store is the tests' own account of
/// list.lua.
namespace weir::bench {

struct ListsScenario {
  std::size_t replicas = 10;
  double listings = 1;  // entries a second that the whole fleet makes
  std::int64_t way_ms = 1;
  std::int64_t seconds = 30;
  std::uint64_t seed = 1;
};

struct ListsOutcome {
  std::uint64_t entries = 0, calls = 0, records = 0;
  double busy_ms = 0;  // of the store, at what its calls were measured to cost
  // From the listing until another replica refuses the caller too, in ms, over all entries and all
  // other replicas.
  std::int64_t p50 = 0, p99 = 0, worst = 0;
  std::uint64_t missing = 0;  // entries, of all other replicas, that have not come
};

ListsOutcome simulate(const ListsScenario& scenario);

}  // namespace weir::bench
