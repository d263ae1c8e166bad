#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/key.h"

/// The definitions of patterns over the events of one key. The rules of each kind are beside its
/// engine in limiter/patterns; pattern_bank.h holds the keys and the timers.
namespace weir::limiter {

inline constexpr std::size_t kPatternSteps = 8;
inline constexpr TimePoint kNever = TimePoint::max();

/// The definition of a pattern: its kind, its steps and its times.
struct PatternSpec {
  enum class Kind : std::uint8_t {
    sequence,  ///< all steps, one after the other
    absence,   ///< the first step, and the second does not happen in time
    pair,      ///< two steps, one to one, in whichever order
  };
  Kind kind = Kind::sequence;
  std::uint8_t steps = 2;    ///< 2 .. kPatternSteps; absence and pair: 2
  bool strict = false;       ///< sequence: nothing of `among` between the steps
  bool overlap = true;       ///< sequence: an event may end one match and begin the next
  bool endless = false;      ///< pair: unmatched only at the end of input
  bool tied = false;         ///< absence: a second of the first's own time counts in either order
  milliseconds within{0};    ///< sequence: first to last, inclusive; absence: how long to wait
  milliseconds before{0};    ///< pair: how much earlier the second may be, inclusive
  milliseconds after{0};     ///< pair: how much later
  std::size_t keep = 1000;   ///< of open matches per key
  milliseconds late{1'000};  ///< how far behind the watermark events still come
  friend bool operator==(const PatternSpec&, const PatternSpec&) = default;
  /// Whether open matches of one pattern may continue in the other: all but `keep` and `late` is
  /// equal.
  bool continues(const PatternSpec& other) const noexcept {
    PatternSpec same = other;
    same.keep = keep;
    same.late = late;
    return *this == same;
  }
};

/// One event of a key with all its roles in the pattern.
struct PatternEvent {
  TimePoint ts;              ///< its own time
  std::uint64_t line = 0;    ///< its line in its file; 0: live
  std::uint8_t steps = 0;    ///< bit k: it is step k
  bool among = false;        ///< the event is one of `among`
  std::string_view payload;  ///< kept while the event waits for a timer, and returned when it fires
};

/// Names an open pattern. A stale one is harmless: nothing happens.
struct PatternId {
  std::uint16_t index = 0;
  std::uint16_t generation = 0;  ///< 0: no pattern
  friend bool operator==(PatternId, PatternId) = default;
};

/// How a match has ended.
enum class MatchKind : std::uint8_t {
  matched,    ///< all steps
  timeout,    ///< absence: the second did not come
  unmatched,  ///< pair: the other side did not come
};
inline constexpr std::size_t kMatchKinds = static_cast<std::size_t>(MatchKind::unmatched) + 1;

/// A match that has ended: its events, or the deadline that has passed.
struct PatternMatch {
  struct Step {
    TimePoint ts;
    std::uint64_t line = 0;
    std::uint8_t step = 0;
  };
  PatternId pattern;
  MatchKind kind = MatchKind::matched;
  TimePoint fires;          ///< the last event's time, or the deadline that has passed
  std::uint64_t order = 0;  ///< of its first event: matches that fire at one time keep it
  std::uint8_t count = 0;   ///< of events
  std::array<Step, kPatternSteps> events;  ///< by step
  std::string payload;                     ///< timeout, unmatched: that of the event that waited
  std::string key;  ///< of a shared match that is due: the key as the store has it

  void add(std::uint8_t step, TimePoint ts, std::uint64_t line) {
    events[count++] = {ts, line, step};
  }
};
using PatternMatches = std::vector<PatternMatch>;

}  // namespace weir::limiter
