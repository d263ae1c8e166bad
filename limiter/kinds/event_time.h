#pragma once

#include <cstdint>

#include "limiter/kinds/counter.h"

/// The windows of counters whose events bring their own times (CounterSpec::late). Such events come
/// in any order, up to `late` behind the newest; each counts at its own time:
///
///        kept from here                     an event may still come from here
///   ---------|-------------- length -----------|------------- late -------------| newest
///            |<-- the window of the oldest ----|
///                                 |<----------- the window of the newest -------|
///
///   log, events     the window ends at the event: later events do not count
///   ring            at the end of the event's bucket, in which times are no longer told apart
///   every, calendar the whole window that the event is in, also its later part; exists and last
///                   look back only
namespace weir::limiter {

/// From when to when, both inclusive; ms.
struct Reach {
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool has(std::int64_t ms) const noexcept { return ms >= from && ms <= to; }
};

/// The span that an event of this time (not negative) reads.
Reach reach(const Counter& counter, std::int64_t ms) noexcept;
/// Entries from before are read by no event that may still come.
std::int64_t kept_from(const Counter& counter, const Instant& now) noexcept;
/// The earliest time of an event that may still come.
inline std::int64_t earliest(const Counter& counter, const Instant& now) noexcept {
  return now.newest > counter.rule.late ? now.newest - counter.rule.late : 0;
}

template <class Journal>
std::uint32_t search_from(const Journal& journal, std::int64_t ms) noexcept {
  std::uint32_t low = 1, high = journal.size();
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    if (journal.entry(middle).ms() >= ms) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}
/// The first entry of a journal that is not earlier, or size(). It is nearly always the oldest.
template <class Journal>
std::uint32_t first_from(const Journal& journal, std::int64_t ms) noexcept {
  return journal.size() == 0 || journal.entry(0).ms() >= ms ? 0 : search_from(journal, ms);
}

}  // namespace weir::limiter
