#include "core/time_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/chars/ascii.h"

namespace weir {
namespace {

constexpr std::int64_t kMsMax = 253'402'300'799'999;  // the end of the year 9999
constexpr std::string_view kDirectives = "YymdejbBhaAHIpMSzZsntDFTR%";

bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                   "may",       "june",     "july",     "august",
                                                   "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> kWeekdays{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};

/// Days since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
constexpr std::int64_t days_from_civil(int y, int m, int d) noexcept {
  y -= m <= 2 ? 1 : 0;
  const int era = y / 400;
  const int yoe = y - era * 400;
  const int doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return static_cast<std::int64_t>(era) * 146'097 + doe - 719'468;
}

constexpr bool is_leap(int y) noexcept { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }
constexpr int days_in(int y, int m) noexcept {
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return m == 2 && is_leap(y) ? 29 : kDays[static_cast<std::size_t>(m - 1)];
}

/// The parts that have been read so far.
struct Parts {
  int year = 1970, month = 1, day = 1, year_day = 0, hour = 0, minute = 0, second = 0, half = -1;
  bool twelve = false;
  std::int64_t ms = 0;
  std::int64_t offset_s = 0;
  std::optional<std::int64_t> epoch_s;
};

/// The text from `at` on.
struct Cursor {
  const char* at;
  const char* end;

  bool number(int digits_most, int least, int most, int& out) noexcept {
    int value = 0, digits = 0;
    while (digits < digits_most && at != end && ascii::is_digit(*at)) {
      value = value * 10 + (*at++ - '0');
      ++digits;
    }
    out = value;
    return digits > 0 && value >= least && value <= most;
  }
  /// `.123`, in milliseconds, later digits dropped; none is 0.
  std::int64_t fraction() noexcept {
    if (end - at < 2 || (*at != '.' && *at != ',') || !ascii::is_digit(at[1])) return 0;
    ++at;
    std::int64_t ms = 0;
    int digits = 0;
    while (at != end && ascii::is_digit(*at)) {
      if (digits++ < 3) ms = ms * 10 + (*at - '0');
      ++at;
    }
    for (; digits < 3; ++digits) ms *= 10;
    return ms;
  }
  /// Index of the name at this position, its first three letters or all of it.
  template <std::size_t N>
  int name(const std::array<std::string_view, N>& names) noexcept {
    if (end - at < 3) return -1;
    const std::array<char, 3> three{ascii::lower(at[0]), ascii::lower(at[1]), ascii::lower(at[2])};
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i][0] != three[0] || names[i][1] != three[1] || names[i][2] != three[2]) continue;
      const std::size_t size = names[i].size();
      std::size_t same = 3;
      while (same<size&& static_cast<std::size_t>(end - at)> same &&
             ascii::lower(at[same]) == names[i][same]) {
        ++same;
      }
      at += same == size ? size : 3;
      return static_cast<int>(i);
    }
    return -1;
  }
  bool zone(std::int64_t& offset) noexcept {
    if (at == end) return false;
    if (*at == 'Z' || *at == 'z') return ++at, offset = 0, true;
    if (*at != '+' && *at != '-') return false;
    const bool west = *at++ == '-';
    int hours = 0, minutes = 0;
    if (end - at < 2 || !number(2, 0, 23, hours)) return false;
    if (at != end && *at == ':') ++at;
    if (at != end && ascii::is_digit(*at) && !number(2, 0, 59, minutes)) return false;
    offset = (hours * 60 + minutes) * 60;
    if (west) offset = -offset;
    return true;
  }
  bool zone_name() noexcept {
    const char* const from = at;
    while (at != end && ascii::is_letter(*at)) ++at;
    const std::string_view word(from, static_cast<std::size_t>(at - from));
    return word == "UTC" || word == "GMT" || word == "Z";
  }
  /// Some digits, of which there may be too many to be a time.
  bool epoch(std::uint64_t& out) noexcept {
    const char* const from = at;
    const char* const most = from + std::min<std::ptrdiff_t>(end - from, 19);
    std::uint64_t value = 0;
    while (at != most && ascii::is_digit(*at))
      value = value * 10 + static_cast<std::uint64_t>(*at++ - '0');
    out = value;
    return at != from;
  }
  bool seconds(Parts& parts) noexcept {
    std::uint64_t value = 0;
    if (!epoch(value)) return false;
    parts.epoch_s = static_cast<std::int64_t>(std::min<std::uint64_t>(value, kMsMax));
    parts.ms = fraction();
    return true;
  }
};

bool step(char directive, Cursor& c, Parts& p) noexcept {
  switch (directive) {
    case 'Y':
      return c.number(4, 1970, 9999, p.year);
    case 'y':
      if (!c.number(2, 0, 99, p.year)) return false;
      p.year += p.year < 69 ? 2000 : 1900;  // as POSIX has it
      return true;
    case 'm':
      return c.number(2, 1, 12, p.month);
    case 'e':
      if (c.at != c.end && *c.at == ' ') ++c.at;
      [[fallthrough]];
    case 'd':
      return c.number(2, 1, 31, p.day);
    case 'j':
      return c.number(3, 1, 366, p.year_day);
    case 'b':
      p.month = c.name(kMonths) + 1;
      return p.month > 0;
    case 'a':
      return c.name(kWeekdays) >= 0;
    case 'H':
      return c.number(2, 0, 23, p.hour);
    case 'I':
      return p.twelve = true, c.number(2, 1, 12, p.hour);
    case 'p':
      if (c.end - c.at < 2 || ascii::lower(c.at[1]) != 'm') return false;
      p.half = ascii::lower(*c.at) == 'a' ? 0 : ascii::lower(*c.at) == 'p' ? 1 : -1;
      c.at += 2;
      return p.half >= 0;
    case 'M':
      return c.number(2, 0, 59, p.minute);
    case 'S':
      if (!c.number(2, 0, 60, p.second)) return false;  // 60: a leap second
      p.ms = c.fraction();
      return true;
    case 'z':
      return c.zone(p.offset_s);
    case 'Z':
      return c.zone_name();
    case 's':
      return c.seconds(p);
    case 't':
      while (c.at != c.end && is_blank(*c.at)) ++c.at;
      return true;
    default:
      return false;
  }
}

std::optional<TimePoint> time_of(const Parts& p) noexcept {
  std::int64_t seconds = 0;
  if (p.epoch_s) {
    seconds = *p.epoch_s;
  } else {
    std::int64_t days = 0;
    if (p.year_day > 0) {
      if (p.year_day == 366 && !is_leap(p.year)) return std::nullopt;
      days = days_from_civil(p.year, 1, 1) + p.year_day - 1;
    } else {
      if (p.day > days_in(p.year, p.month)) return std::nullopt;
      days = days_from_civil(p.year, p.month, p.day);
    }
    const int hour = p.twelve ? p.hour % 12 + (p.half == 1 ? 12 : 0) : p.hour;
    seconds = days * 86'400 + hour * 3'600 + p.minute * 60 + p.second - p.offset_s;
  }
  if (seconds < 0 || seconds > kMsMax / 1000) return std::nullopt;
  return from_ms(seconds * 1000 + p.ms);
}

bool has(std::string_view directives, char c) {
  return directives.find(c) != std::string_view::npos;
}

}  // namespace

std::optional<TimePattern> TimePattern::compile(std::string_view pattern, Problem& problem) {
  TimePattern out;
  std::string seen;
  const auto add = [&](char directive) {
    const char one = directive == 'B' || directive == 'h' ? 'b'
                     : directive == 'A'                   ? 'a'
                     : directive == 'n'                   ? 't'
                                                          : directive;
    seen += one;
    out.steps_.push_back({one, 0});
  };
  const auto spell = [&](std::string_view text) {
    for (const char c : text) {
      if (ascii::is_letter(c))
        add(c);
      else
        out.steps_.push_back({0, c});
    }
  };
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == ' ' || c == '\t') {
      out.steps_.push_back({'t', 0});
    } else if (c != '%') {
      out.steps_.push_back({0, c});
    } else {
      const char directive = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
      if (directive == '\0' || !has(kDirectives, directive)) {
        problem = {i, directive == '\0' ? std::size_t{1} : std::size_t{2},
                   "\"" + std::string(pattern.substr(i, 2)) + "\" is not a part of a time",
                   "known are %Y %y %m %b %d %e %j %H %I %p %M %S %z %Z %s %F %T %D %R %a and %%"};
        return std::nullopt;
      }
      ++i;
      if (directive == '%')
        out.steps_.push_back({0, '%'});
      else if (directive == 'F')
        spell("Y-m-d");
      else if (directive == 'T')
        spell("H:M:S");
      else if (directive == 'D')
        spell("m/d/y");
      else if (directive == 'R')
        spell("H:M");
      else
        add(directive);
    }
  }
  const bool year = has(seen, 'Y') || has(seen, 'y');
  const bool date = year && (has(seen, 'j') || ((has(seen, 'm') || has(seen, 'b')) &&
                                                (has(seen, 'd') || has(seen, 'e'))));
  if (!date && !has(seen, 's')) {
    problem = {0, pattern.size(), "a time needs its year, month and day",
               "such as '%d/%b/%Y:%H:%M:%S %z', '%Y-%m-%dT%H:%M:%S%z' or '%s'"};
    return std::nullopt;
  }
  if (has(seen, 'I') != has(seen, 'p')) {
    problem = {0, pattern.size(), "%I and %p need each other", "%H is the hour of 24"};
    return std::nullopt;
  }
  return out;
}

std::optional<TimePoint> TimePattern::read(std::string_view text,
                                           std::size_t& used) const noexcept {
  Cursor cursor{text.data(), text.data() + text.size()};
  Parts parts;
  for (const Step& one : steps_) {
    if (one.directive != 0) {
      if (!step(one.directive, cursor, parts)) return std::nullopt;
    } else {
      if (cursor.at == cursor.end || *cursor.at != one.literal) return std::nullopt;
      ++cursor.at;
    }
  }
  used = static_cast<std::size_t>(cursor.at - text.data());
  return time_of(parts);
}

std::optional<TimePoint> epoch_time(Number number, EpochUnit unit) noexcept {
  const std::int64_t per_second = row_of(unit).per_second;
  if (!number.is_real()) {
    const std::int64_t value = number.integer();
    const bool seconds = unit == EpochUnit::seconds;
    const std::int64_t most = seconds ? kMsMax / 1000 : std::numeric_limits<std::int64_t>::max();
    if (value < 0 || value > most) return std::nullopt;
    const std::int64_t ms = seconds ? value * 1000 : value / (per_second / 1000);
    return ms <= kMsMax ? std::optional(from_ms(ms)) : std::nullopt;
  }
  const double value = number.as_real();
  const double ms = std::floor(
      unit == EpochUnit::seconds ? value * 1000 : value / static_cast<double>(per_second / 1000));
  if (!(ms >= 0 && ms <= static_cast<double>(kMsMax))) return std::nullopt;
  return from_ms(static_cast<std::int64_t>(ms));
}

std::optional<TimePoint> read_epoch(std::string_view text, EpochUnit unit) noexcept {
  Cursor cursor{text.data(), text.data() + text.size()};
  std::uint64_t value = 0;
  if (!cursor.epoch(value)) return std::nullopt;
  const std::int64_t fraction = cursor.at == cursor.end ? 0 : cursor.fraction();
  if (cursor.at != cursor.end ||
      value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  auto time = epoch_time(Number(static_cast<std::int64_t>(value)), unit);
  if (time && unit == EpochUnit::seconds) *time += milliseconds{fraction};
  return time;
}

}  // namespace weir
