#include "app/tools/ctl/ctl_time.h"

#include <ctime>

namespace weir::app {
namespace {

// The number of two digits there; -1: there is none up to `most`.
int two_digits(std::string_view text, std::size_t at, int most) {
  if (at + 2 > text.size()) return -1;
  const char a = text[at], b = text[at + 1];
  if (a < '0' || a > '9' || b < '0' || b > '9') return -1;
  const int value = (a - '0') * 10 + (b - '0');
  return value <= most ? value : -1;
}

}  // namespace

config::Parsed<TimePoint> parse_past(std::string_view text, TimePoint now) {
  const bool clock = (text.size() == 5 || text.size() == 8) && text[2] == ':' &&
                     (text.size() == 5 || text[5] == ':');
  if (clock) {
    const int hour = two_digits(text, 0, 23), minute = two_digits(text, 3, 59);
    const int second = text.size() == 8 ? two_digits(text, 6, 59) : 0;
    if (hour >= 0 && minute >= 0 && second >= 0) {
      const auto seconds = static_cast<std::time_t>(to_ms(now) / 1000);
      std::tm parts{};
      localtime_r(&seconds, &parts);
      parts.tm_hour = hour;
      parts.tm_min = minute;
      parts.tm_sec = second;
      parts.tm_isdst = -1;
      TimePoint at = from_ms(std::int64_t{std::mktime(&parts)} * 1000);
      if (at > now) {
        --parts.tm_mday;
        parts.tm_hour = hour;
        parts.tm_isdst = -1;
        at = from_ms(std::int64_t{std::mktime(&parts)} * 1000);
      }
      return {at, "", ""};
    }
  }
  if (const auto ago = config::parse_duration(text)) return {now - *ago.value, "", ""};
  auto date = config::parse_date(text);
  if (!date) {
    date.message = "\"" + std::string(text) +
                   "\" is not a time: write 14:00, 2h (ago), or 2027-01-01T08:00:00+08:00";
  }
  return date;
}

}  // namespace weir::app
