#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "limiter/kinds/calendar_span.h"
#include "limiter/kinds/counter_spec.h"

namespace weir::limiter {

/// A window as arithmetic over stamps. A stamp is the event's time in quanta, modulo 2^32; an event
/// is in the window at `now` iff its age (quanta of now minus its quantum) is at most `span`.
///
///   ring         quantum g = W/N, span N: N+1 buckets, all counted in full. The oldest counted
///                event is younger than W + g, and nothing younger than W is left out: true(W) <=
///                value <= true(W + W/N), which is why no trailing W ever admits more than the
///                limit (docs/accuracy.md).
///   log          quantum 1 ms, span W-1
///   every        quantum W, span 0: one entry, the current window's total. Members keep their own
///                ms stamps, and the span is the past part of the current window.
///   every_first  quantum 1 ms, span W-1, counted from the first event: it represents them all
///   calendar     as every, with stamps of 1 s (members: 1 ms): the zone says how much has passed
///   events       quantum 1 ms, span W-1, or kForever where any age will do; journal.h counts to n
///   leaky        quantum 1 ms; leaky.cc knows what drains
struct Rule {
  /// How many entries the events of a window become.
  enum class Merge : std::uint8_t {
    none,    ///< each event is an entry
    equal,   ///< events of one quantum are one entry
    newest,  ///< all events of the window are one entry, stamped with its beginning
  };
  std::int64_t length = 0;   // ms
  std::int64_t quantum = 1;  // ms
  std::int64_t span = 0;     // quanta
  Merge merge = Merge::none;
  bool aligned = false;  // the span is the elapsed part of the current window, except for `every`
                         // where all of a window's events are one entry
  bool from_oldest = false;  // every_first, members: the window is as old as its oldest entry
  bool plain = false;        // no exception to what Packed counts (limiter/kinds/packed.h)
  std::int64_t kept = 0;  // retain: entries stay for so many quanta (own_time: ms); 0: for `span`
  bool own_time = false;  // events bring their own times: event_time.h has the windows
  std::int64_t late = 0;  // ms, of own_time
  std::shared_ptr<const CalendarSpan> calendar;

  static constexpr std::int64_t kForever = std::int64_t{1} << 60;
  /// The rule of a valid spec (kinds.h says which are). Allocates: a calendar has a state.
  static Rule of(const CounterSpec& spec);
  /// The largest quantum up to W/N that keeps the ring's inequality where N does not divide W.
  static std::uint32_t ring_quantum(std::int64_t length, unsigned buckets) noexcept;
  /// The elapsed part of the current aligned window; ms.
  std::int64_t passed(std::int64_t ms) const noexcept {
    return calendar != nullptr ? ms - calendar->begin(ms) : ms % length;
  }
};

/// A rule at one instant.
struct Instant {
  Instant(const Rule& r, TimePoint now) noexcept : Instant(r, now, now) {}
  /// own_time: `now` is the event's, `newest_of_all` the latest of all so far.
  Instant(const Rule& r, TimePoint now, TimePoint newest_of_all) noexcept
      : rule(&r),
        ms(std::max<std::int64_t>(0, to_ms(now))),
        span(r.aligned ? r.passed(ms) / r.quantum : r.span),
        kept(std::max(span, r.kept)),
        stamp(static_cast<std::uint32_t>(ms / r.quantum)),
        newest(std::max(ms, to_ms(newest_of_all))),
        second(static_cast<std::uint32_t>(newest / 1000)) {}

  /// Age of the newest entry; negative if another thread's clock was ahead. kDead: further ahead
  /// than any thread can be (the clock was set back): such a state counts for nothing.
  std::int64_t age(std::uint32_t other) const noexcept {
    const std::uint32_t behind = stamp - other;
    const std::uint32_t ahead = other - stamp;
    // Only one of the two is small; more than a minute ahead is read as far behind.
    if (ahead != 0 && ahead <= kAheadMax &&
        std::int64_t{ahead} * rule->quantum - ms % rule->quantum <= kAheadMax) {
      return -std::int64_t{ahead};
    }
    if (rule->quantum > 1 && behind > 0x8000'0000U) return kDead;
    return behind;
  }
  bool live(std::int64_t age) const noexcept { return age <= span; }
  bool kept_at(std::int64_t age) const noexcept { return age <= kept; }
  /// Whether an event of that time, however long ago, is worth storing.
  bool covers(std::int64_t event_ms) const noexcept {
    if (rule->own_time) return event_ms >= 0 && newest - event_ms <= rule->kept;
    return event_ms >= 0 && kept_at(ms / rule->quantum - event_ms / rule->quantum);
  }

  static constexpr std::int64_t kAheadMax = 60'000;  // ms
  static constexpr std::int64_t kDead = std::int64_t{1} << 62;
  const Rule* rule;
  std::int64_t ms;
  std::int64_t span;     // quanta that are read
  std::int64_t kept;     // quanta that are stored: at least span
  std::uint32_t stamp;   // of now
  std::int64_t newest;   // ms: now, or with own_time the latest of all events so far
  std::uint32_t second;  // of newest
};

}  // namespace weir::limiter
