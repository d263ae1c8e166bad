#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "core/calendar.h"
#include "core/clock.h"
#include "core/geo.h"
#include "core/key.h"
#include "core/number.h"
#include "core/words.h"

namespace weir::limiter {

using weir::Metric;

/// Which events are in the window at `now`.
enum class Window : std::uint8_t {
  ring,         ///< `last` in N buckets: true(W) <= value <= true(W + W/N). count and sum only
  log,          ///< exact: now - W < t <= now
  every,        ///< fixed, aligned to the epoch; the caller's `now` follows the wall clock
  every_first,  ///< fixed, begins at the key's first event; `now` as with every
  none,         ///< in_flight
  events,       ///< the last n events, and none older than `length` unless that is 0; exact
  calendar,     ///< the natural hour, day, week or month of a time zone; `now` as with every
  leaky,        ///< bucket that drains continuously. count, sum, distinct: the reading is the level
                ///< with the event, before capping; distinct: a member that is in it is not poured
};

/// Their names in scripts and tables, in the order above.
inline constexpr auto kWindowNames = std::to_array<std::string_view>(
    {"ring", "log", "every", "every_first", "none", "events", "calendar", "leaky"});
static_assert(kWindowNames.size() == static_cast<std::size_t>(Window::leaky) + 1);

inline constexpr milliseconds kWindowMin{1};
inline constexpr milliseconds kWindowMax{std::int64_t{31} * 24 * 3600 * 1000};
/// Fixed windows of counts and sums.
inline constexpr milliseconds kEveryMax{std::int64_t{366} * 24 * 3600 * 1000};
inline constexpr milliseconds kLateMax{std::int64_t{24} * 3600 * 1000};
inline constexpr unsigned kBucketsMax = 3600;
inline constexpr std::uint32_t kDrainsMax = 1'000'000;
inline constexpr std::size_t kKeepMax = 50'000;
inline constexpr double kRadiusMin = 1;          ///< metres
inline constexpr double kRadiusMax = 1'000'000;  ///< metres
inline constexpr std::size_t kNearKeepMax = 10'000;

/// The part of a counter's definition that counting needs. The identity of the caller covers the
/// rest.
struct CounterSpec {
  Metric metric = Metric::count;
  Window window = Window::ring;
  milliseconds length{60'000};  ///< kWindowMin .. kWindowMax (`every`: see kEveryMax); ignored by
                                ///< Window::none and leaky; events: 0 = however old
  unsigned buckets = 60;        ///< ring: 1 .. kBucketsMax
  bool real = false;            ///< amounts are doubles, else 64-bit integers; of in_flight: the
                                ///< store's events are replicas, the amounts their open requests
  std::uint32_t events = 0;     ///< Window::events: 1 .. kKeepMax
  CalendarUnit unit{};          ///< Window::calendar
  std::shared_ptr<const TimeZone> zone;  ///< Window::calendar
  Number capacity{0};                    ///< Window::leaky: above 0, at most 2^31
  milliseconds drain{0};     ///< Window::leaky: the time in which `drains` drain, kWindowMin ..
                             ///< kWindowMax
  std::uint32_t drains = 1;  ///< Window::leaky: 1 .. kDrainsMax
  milliseconds retain{0};    ///< log, ring: stores events for this long although it reads `length`;
                             ///< 0 or at most length: for length
  double radius = 0;         ///< metres; not 0: counts the events within this distance of the event
                             ///< in hand. log only; no in_flight, no last; keep: of a place's cell
  bool outcome = false;      ///< reserve/settle are used with it
  /// Events bring their own times: an event counts at its own, and reads the window that ends
  /// there. Set: how much older than the newest so far it may be. Not every_first, leaky, none.
  std::optional<milliseconds> late;
  Hash128 what{};  ///< counters of one `what` get the same events under the same keys, each over
                   ///< its own window: a new one inherits; {}: shared with no other counter
  std::size_t keep = 1000;  ///< log entries or members of a key at most: 1 .. kKeepMax
  /// Window::leaky: ms in which 1 drains, also less than one.
  double ms_of_one() const noexcept {
    return static_cast<double>(drain.count()) / static_cast<double>(drains);
  }
};

/// When an event happens, to a counter.
struct Moment {
  Moment(TimePoint time) noexcept : at(time) {}
  Moment(TimePoint time, bool says_so) noexcept : at(time), has_own_time(says_so) {}
  TimePoint at;
  bool has_own_time =
      true;  ///< false, of a counter with `late`: the event brings no time of its own, so
             ///< that it is not earlier than any that has come; threads may be ms apart
};

/// The owner of the events: a keyed hash of the key's parts. A counter with a radius has the place
/// beside the hash, not in it. Events without a place are near each other.
struct CounterKey : Hash128 {
  CounterKey() = default;
  CounterKey(const Hash128& hash, const Place& at = {}) noexcept : Hash128(hash), place(at) {}
  CounterKey(std::uint64_t low, std::uint64_t high) noexcept : Hash128{low, high} {}
  Place place;
  friend bool operator==(const CounterKey&, const CounterKey&) = default;
};

/// The value that `last` remembers of an event. The owner of the datum owns the text.
struct Datum {
  enum class Type : std::uint8_t { none, boolean, number, text };
  static constexpr std::size_t kTextMax = 255;  ///< bytes; a longer one is remembered as none
  Type type = Type::none;
  bool boolean = false;
  Number number;
  std::string_view text;
};

/// One event, as a counter sees it.
struct Amount {
  Number amount{1};  ///< count, in_flight: 1 .. 2^31-1; sum: any finite number; distinct: ignored
  std::uint64_t member = 0;      ///< distinct, exists: a 64-bit keyed hash of the member
  const Datum* datum = nullptr;  ///< last: the event's value to remember
};

/// The bound of a reading. `over: L` is {L, false}: refuses value > L; `at: L` is {L, true}.
struct Ceiling {
  Number limit;
  bool inclusive = false;
  bool broken_by(Number value) const noexcept { return inclusive ? value >= limit : value > limit; }
};

/// The result of an operation. For an operation with an event, all values include the event, stored
/// or not.
struct Reading {
  Number value;                  ///< for rungs: settled events plus events in flight
  Number settled;                ///< the same without other events' reservations
  bool has_value = true;         ///< false: average, minimum, maximum or last of no event
  const Datum* datum = nullptr;  ///< last, if has_value: the thread's, until its next operation
  std::uint32_t in_flight = 0;   ///< open reservations of other events (in_flight metric: of all)
  bool stored = false;           ///< the event was added (or its reservation)
  bool refused = false;          ///< not added, because of the ceiling
  bool full = false;             ///< not added, because every slot that it might take is in flight
  bool displaced = false;        ///< another live key lost its count for it
  bool doubtful = false;  ///< `value` has counts of other replicas that may have left the window
                          ///< since they arrived; `settled` has none of these
};

/// The data to take one charge or reservation back, or to settle a reservation. A plain value; keep
/// it beside the key. Valid only for the same counter and key.
struct Undo {
  enum class What : std::uint8_t { nothing, charge, reservation };
  What what = What::nothing;
  bool fresh = false;        ///< distinct: the member was new
  bool dropped = false;      ///< the oldest entry had to go (or was merged) to make room
  std::uint32_t stamp = 0;   ///< the entry's time, in quanta
  std::uint32_t former = 0;  ///< distinct: the member's time before
  std::uint32_t dropped_stamp = 0;
  std::uint64_t former_value = 0;  ///< sum of doubles: the entry's bits before
  std::uint64_t dropped_value = 0;
  std::uint64_t spilled = 0;  ///< leaky: the amount that did not fit, in the form of `former_value`
  double dropped_at[3] = {};  ///< with a radius: where the dropped entry was
  Amount amount;
  TimePoint at{};
};

}  // namespace weir::limiter
