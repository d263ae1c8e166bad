#pragma once

#include <chrono>
#include <cstdint>

namespace weir {

using std::chrono::milliseconds;

/// Unix time in milliseconds. Every function that depends on time takes it as an argument; this
/// header's Clock is the only place that asks for it.
using TimePoint = std::chrono::sys_time<milliseconds>;

/// The same in microseconds: to measure how long steps of a request took.
using FineTime = std::chrono::sys_time<std::chrono::microseconds>;

constexpr std::int64_t to_ms(TimePoint t) noexcept { return t.time_since_epoch().count(); }
constexpr TimePoint from_ms(std::int64_t ms) noexcept { return TimePoint{milliseconds{ms}}; }

/// The wall clock at start plus the time elapsed since (CLOCK_BOOTTIME: it runs on while the
/// machine sleeps), so that a step of the wall clock neither resets nor freezes a window.
/// Thread-safe.
class Clock {
 public:
  Clock() noexcept;
  /// For windows over the past: never steps back, within one process.
  TimePoint now() const noexcept { return std::chrono::floor<milliseconds>(fine()); }
  /// The same, not rounded down.
  FineTime fine() const noexcept;
  /// For `every` and `calendar` windows and for what people read: follows steps of the wall clock.
  static TimePoint wall() noexcept;

 private:
  std::int64_t wall_at_start_ms_;
  std::int64_t boot_at_start_ns_;
};

}  // namespace weir
