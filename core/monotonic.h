#pragma once

#include <cstdint>

namespace weir {

/// Microseconds of CLOCK_MONOTONIC, the clock of service managers. Use it for messages to them,
/// never for counting. Thread-safe. Defined in clock.cc.
std::int64_t monotonic_us() noexcept;

}  // namespace weir
