#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/calendar.h"

namespace weir::limiter {

/// The current natural hour, day, week or month of a zone, cached so that the zone is asked once
/// per span and not once per event. Thread-safe: begin and length are one word, so no reader pairs
/// the beginning of one span with the end of another. Threads on both sides of an edge only ask the
/// zone again.
class CalendarSpan {
 public:
  CalendarSpan(CalendarUnit unit, std::shared_ptr<const TimeZone> zone) noexcept
      : unit_(unit), zone_(std::move(zone)) {}

  struct Edges {
    std::int64_t begin, end;  ///< [begin, end)
  };
  /// The edges of the span that holds `ms` (Unix, not negative); it never begins before the epoch.
  Edges edges(std::int64_t ms) const noexcept;
  std::int64_t begin(std::int64_t ms) const noexcept { return edges(ms).begin; }
  /// Longer than any span of this unit, in ms: also where a zone jumps across the date line.
  static std::int64_t longest(CalendarUnit unit) noexcept;

 private:
  static constexpr unsigned kLengthBits = 24;  // seconds: 194 days
  CalendarUnit unit_;
  std::shared_ptr<const TimeZone> zone_;
  mutable std::atomic<std::uint64_t> current_{0};  // begin in seconds << kLengthBits | length
};

}  // namespace weir::limiter
