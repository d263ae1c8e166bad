#pragma once

#include <array>
#include <cstdint>

#include "core/clock.h"

namespace weir::limiter {

/// The times when a counter was open: which events others of the same `what` may give it, and it
/// may give them (history_facts.cc, catch_up.cc, joining.cc). Survives a restart with the counter.
struct OpenTimes {
  bool closed = false;
  TimePoint closed_at{};   ///< on its own clock; 0: since the next maintain
  std::int64_t since = 0;  ///< ms: from then on it has every event; 0: from the start
  /// The same as numbers of openings: the opening that closed it, and the opening since which it
  /// has every event, its own or inherited.
  std::uint64_t closed_in = 0, covers_from = 0;
  std::int64_t copies_until = 0;  ///< ms: earlier events may be copies of events of other counters
  /// The latest second of each clock when it was opened, or opened again, and when it was closed.
  std::array<std::int64_t, 2> opened_ms{}, closed_ms{};
  bool reopened = false;  ///< so it holds events of several times at which it was open
};

}  // namespace weir::limiter
