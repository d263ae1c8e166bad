#pragma once

#include <cstdint>

namespace weir {

/// Microseconds of CLOCK_MONOTONIC, by which service managers measure: for what they are told,
/// never for counting. Thread-safe. Defined in clock.cc.
std::int64_t monotonic_us() noexcept;

}  // namespace weir
