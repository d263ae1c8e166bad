#include "core/clock.h"

#include <ctime>

#include "core/monotonic.h"
#include "core/ticks.h"

namespace weir {
namespace {

std::int64_t read_ns(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

Clock::Clock() noexcept
    : wall_at_start_ms_(read_ns(CLOCK_REALTIME) / 1'000'000),
      boot_at_start_ns_(read_ns(CLOCK_BOOTTIME)) {}

FineTime Clock::fine() const noexcept {
  return FineTime{std::chrono::microseconds{wall_at_start_ms_ * 1'000 +
                                            (read_ns(CLOCK_BOOTTIME) - boot_at_start_ns_) / 1'000}};
}

TimePoint Clock::wall() noexcept { return from_ms(read_ns(CLOCK_REALTIME) / 1'000'000); }

std::int64_t monotonic_us() noexcept { return read_ns(CLOCK_MONOTONIC) / 1'000; }

std::chrono::nanoseconds ticks() noexcept {
  return std::chrono::nanoseconds{read_ns(CLOCK_MONOTONIC)};
}

}  // namespace weir
