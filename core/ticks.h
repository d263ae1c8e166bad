#pragma once

#include <chrono>

namespace weir {

/// CLOCK_MONOTONIC, which has no steps, as monotonic_us(): to measure how long something took. Not
/// for windows, whose time is an argument. Thread-safe. Defined in clock.cc.
std::chrono::nanoseconds ticks() noexcept;

}  // namespace weir
