#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace weir {

enum class CalendarUnit : std::uint8_t { hour, day, week, month };

/// A zone of the IANA database (`Asia/Shanghai`, `UTC`). Immutable, thread-safe.
class TimeZone {
 public:
  /// Returns null if the zone does not exist. May read a file. Equal names give the same object.
  static std::shared_ptr<const TimeZone> find(std::string_view name);
  virtual ~TimeZone() = default;
  virtual const std::string& name() const noexcept = 0;

  /// A natural hour, day, week (from Monday) or month: [begin, end). Across a change to or from
  /// summer time a day has 23 or 25 hours.
  struct Span {
    TimePoint begin, end;
  };
  virtual Span span(CalendarUnit unit, TimePoint at) const noexcept = 0;
};

}  // namespace weir
