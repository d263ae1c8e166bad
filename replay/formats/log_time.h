#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/time_pattern.h"
#include "core/value.h"

namespace weir::replay {

/// Times of logs in an unknown format: ISO 8601 with or without a zone (then UTC), the format of
/// access logs, and numbers of seconds, milliseconds, microseconds or nanoseconds since 1970,
/// distinguished by their size. Not thread-safe.
class LogTime {
 public:
  LogTime();
  std::optional<TimePoint> read(const Value& value) noexcept;

 private:
  static std::optional<TimePoint> number(Number value) noexcept;

  std::vector<TimePattern> patterns_;
  std::size_t last_ = 0;  // the pattern that fitted last
};

}  // namespace weir::replay
