#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/number.h"
#include "core/words.h"

namespace weir {

/// Reads times as logs write them: strptime's directives, compiled once.
///
///   %Y %y %m %d %e %j   year, year of this century, month, day, day of the year
///   %b %B %h            month by name, short or long, any letter case
///   %a %A               a weekday by name: read, not believed
///   %H %I %p %M %S      hour, hour of twelve, AM or PM, minute, second with any fraction
///   %z %Z               +0800, +08:00, Z; a name, of which only UTC, GMT and Z are known
///   %s                  Unix seconds with any fraction
///   %D %F %T %R         %m/%d/%y, %Y-%m-%d, %H:%M:%S, %H:%M
///   %n %t, a blank      any blanks, none included
///   %%                  a percent sign
///
/// A fraction begins with `.` or `,`.
///
/// Without a zone the time is UTC. Immutable, thread-safe, no allocation when reading.
class TimePattern {
 public:
  struct Problem {
    std::size_t offset = 0, length = 0;  ///< of the part that is wrong
    std::string message, hint;
  };
  /// Nothing: `problem` says why.
  static std::optional<TimePattern> compile(std::string_view pattern, Problem& problem);

  /// The time at the beginning of `text`; `used` becomes the number of bytes read. Returns nothing
  /// if the text does not match, the date does not exist, or the time is outside the years 1970 ..
  /// 9999.
  std::optional<TimePoint> read(std::string_view text, std::size_t& used) const noexcept;

 private:
  struct Step {
    char directive = 0;  // 0: the literal
    char literal = 0;
  };
  std::vector<Step> steps_;
};

/// How the times of some records are written.
struct TimeForm {
  std::optional<EpochUnit> unit;  ///< numbers of it since 1970; nothing: `pattern`
  std::string pattern;            ///< that TimePattern compiles
};

/// A number of `unit` since 1970, all of `text`. A fraction is kept to the millisecond. Nothing
/// outside the years 1970 .. 9999.
std::optional<TimePoint> read_epoch(std::string_view text, EpochUnit unit) noexcept;
/// The same of a number that is one already. Integers stay exact, whatever the unit.
std::optional<TimePoint> epoch_time(Number number, EpochUnit unit) noexcept;

}  // namespace weir
