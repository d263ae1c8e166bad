#pragma once

#include <cstddef>
#include <cstdint>

#include "limiter/kinds/counter_spec.h"

namespace weir::limiter {

/// The memory of one key of a counter, its share of the table's empty slots included.
struct Footprint {
  std::uint64_t sparse = 0;        ///< bytes of a key with at most sparse_entries
  std::size_t sparse_entries = 0;  ///< events (log), buckets with events (ring), members, sums
  std::uint64_t worst = 0;         ///< bytes of a key with as many as there can be (keep, buckets)
};

/// Pure; for `weir check`. The spec must be one that find_kind() knows.
Footprint footprint(const CounterSpec& spec);

}  // namespace weir::limiter
