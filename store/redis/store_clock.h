#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/clock.h"

namespace weir::store {

/// The same moment by two clocks.
struct Now {
  TimePoint wall;                  ///< ours, which steps
  std::optional<TimePoint> store;  ///< the server's, as far as known
};

/// Estimates a server's clock from the times in its answers. A slow answer makes the server's clock
/// look late, never early: so the best answer of the last one or two periods counts. A clock that
/// was set back is accepted after two periods. Not thread-safe.
class StoreClock {
 public:
  static constexpr std::chrono::seconds kPeriod{10};

  /// The server reported the time `shown`; its answer arrived at ticks() `heard`.
  void learn(TimePoint shown, std::chrono::nanoseconds heard) noexcept {
    const milliseconds offset = shown.time_since_epoch() - std::chrono::floor<milliseconds>(heard);
    if (!offset_ || heard - began_ >= kPeriod) {
      began_ = heard;
      before_ = offset_.value_or(offset);
      offset_ = offset;
    } else {
      offset_ = std::max(*offset_, offset);
    }
  }
  /// It may be another server from now on.
  void forget() noexcept { offset_.reset(); }

  /// Nothing until the first answer.
  std::optional<TimePoint> at(std::chrono::nanoseconds ticks) const noexcept {
    if (!offset_) return std::nullopt;
    return TimePoint{std::max(before_, *offset_) + std::chrono::floor<milliseconds>(ticks)};
  }

 private:
  std::optional<milliseconds> offset_;  // its clock less ours: the largest of this period
  milliseconds before_{0};              // of the last one
  std::chrono::nanoseconds began_{0};
};

}  // namespace weir::store
