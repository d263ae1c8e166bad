#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "limiter/counters/open_times.h"
#include "limiter/kinds/counter.h"
#include "limiter/memory/frame.h"

namespace weir::limiter {

// The frames of a snapshot (snapshot.cc, restore.cc).
inline constexpr std::uint8_t kSnapshotBegin = 'C';
inline constexpr std::uint8_t kSnapshotOldBegin = 'B';
inline constexpr std::uint8_t kSnapshotKeys = 'K';
inline constexpr std::uint8_t kSnapshotEnd = 'E';

inline constexpr std::int64_t kLatestKept = std::int64_t{1} << 46;  ///< ms: the year 4199

/// A counter as a snapshot holds it: enough to create it again, and to determine which events it
/// has.
struct CounterRecord {
  std::uint16_t index = 0;
  Hash128 identity;
  CounterSpec spec;
  std::size_t own_keys = 0;    ///< that a table of its own is for; 0: it has none
  std::uint64_t closing = 0;   ///< a running number: which was closed first
  std::uint32_t cut_from = 0;  ///< as of Counter
  std::int64_t cut_until = 0;
  OpenTimes open_times;
  bool is_known = false;  ///< this machine can create it: it has the calendar's time zone
};

void put_record(std::string& out, const CounterRecord& record);
/// False: malformed. `openings`: the number of the last opening in the snapshot.
bool get_record(Reader& in, std::uint64_t openings, CounterRecord& record);

/// Whether a snapshot stores the values of its entries as 8 bytes each, because their bits are no
/// small numbers.
inline bool is_plain(Metric metric, bool real) noexcept {
  return real || (metric != Metric::count && metric != Metric::sum);
}

}  // namespace weir::limiter
