#pragma once

#include <chrono>

namespace weir {

/// To measure how long something took: the time since some moment, without steps. Not for windows,
/// whose time is an argument. Thread-safe.
std::chrono::nanoseconds ticks() noexcept;

}  // namespace weir
