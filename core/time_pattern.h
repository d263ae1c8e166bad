#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

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

/// A number of seconds (a fraction is kept to the millisecond) or of milliseconds, all of `text`.
std::optional<TimePoint> read_epoch_seconds(std::string_view text) noexcept;
std::optional<TimePoint> read_epoch_millis(std::string_view text) noexcept;
/// From a number that is one already; nothing outside the years 1970 .. 9999.
std::optional<TimePoint> epoch_time(double number, bool seconds) noexcept;

}  // namespace weir
