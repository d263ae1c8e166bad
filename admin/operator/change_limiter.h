#pragma once

#include <algorithm>
#include <string>

#include "core/clock.h"

namespace weir::admin {

/// How fast changes may come through the admin door: kBurst at once, kPerSecond lastingly. A script
/// that has gone wild cannot keep the control thread busy with reloads and lists.
class ChangeLimiter {
 public:
  static constexpr std::int64_t kBurst = 300, kPerSecond = 50;

  /// False: too fast. `now` never goes back.
  bool take(TimePoint now) noexcept {
    if (!begun_) since_ = now - milliseconds{kFull};
    begun_ = true;
    since_ = std::max(since_, now - milliseconds{kFull});
    if (since_ + milliseconds{kCost} > now) return false;
    since_ += milliseconds{kCost};
    return true;
  }
  static std::string words() {
    return "the door takes " + std::to_string(kPerSecond) + " a second, and " +
           std::to_string(kBurst) + " after a pause";
  }

 private:
  static constexpr std::int64_t kCost = 1000 / kPerSecond;  // ms of one change
  static constexpr std::int64_t kFull = kBurst * kCost;
  bool begun_ = false;
  TimePoint since_{};
};

}  // namespace weir::admin
