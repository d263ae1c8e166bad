#include "config/text/zone_hint.h"

#include <optional>

#include "core/chars/ascii.h"

namespace weir::config {
namespace {

struct ZoneRow {
  std::string_view words;  ///< in small letters, with blanks around each
  std::string_view hint;
};
constexpr ZoneRow kZones[] = {
    {" cst ",
     "CST is the time of China, Chicago or Cuba: write Asia/Shanghai, America/Chicago ..."},
    {" ist ",
     "IST is the time of India, Israel or Ireland: write Asia/Kolkata, Asia/Jerusalem ..."},
    {" bst ", "write Europe/London"},
    {" jst ", "write Asia/Tokyo"},
    {" kst ", "write Asia/Seoul"},
    {" hkt ", "write Asia/Hong_Kong"},
    {" sgt ", "write Asia/Singapore"},
    {" pst pdt pt ", "write America/Los_Angeles"},
    {" mdt mt ", "write America/Denver"},
    {" cdt ct ", "write America/Chicago"},
    {" edt et ", "write America/New_York"},
    {" cest ", "write Europe/Paris, Europe/Berlin ..."},
    {" msk ", "write Europe/Moscow"},
    {" aest aedt ", "write Australia/Sydney"},
    {" asia/beijing beijing china shanghai asia/peking ", "write Asia/Shanghai"},
    {" asia/delhi asia/mumbai asia/bangalore ", "write Asia/Kolkata"},
    {" local localtime system ",
     "write the zone's name, such as Asia/Shanghai: a configuration "
     "means the same on every machine"},
    {" z zulu utc+0 gmt+0 +00:00 ", "write UTC"},
};

/// The whole hours of `+08:00`, `UTC+8`, `GMT-5`; nullopt: it is no such offset.
std::optional<int> offset_hours(std::string_view text) {
  for (const std::string_view name : {"utc", "gmt"}) {
    if (text.starts_with(name)) text.remove_prefix(name.size());
  }
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  int hours = 0;
  std::size_t digits = 0;
  for (; digits < 2 && digits < text.size() && ascii::is_digit(text[digits]); ++digits)
    hours = hours * 10 + (text[digits] - '0');
  text.remove_prefix(digits);
  const bool whole = text.empty() || text == "00" || text == ":00" || text == ":0";
  if (digits == 0 || !whole || hours == 0 || hours > 14) return std::nullopt;
  return sign * hours;
}

}  // namespace

std::string zone_hint(std::string_view text) {
  const std::string low = ascii::lowered(text);
  const std::string word = " " + low + " ";
  for (const ZoneRow& row : kZones) {
    if (low.find(' ') == std::string::npos && row.words.find(word) != std::string_view::npos)
      return std::string(row.hint);
  }
  if (const auto hours = offset_hours(low)) {
    // POSIX counts west of Greenwich, and so do these names.
    const std::string etc =
        *hours > 0 ? "Etc/GMT-" + std::to_string(*hours) : "Etc/GMT+" + std::to_string(-*hours);
    const std::string city =
        *hours == 8 ? "Asia/Shanghai, or " : "a place such as Asia/Shanghai, or ";
    return "write " + city + "\"" + etc + "\", which is " + (*hours > 0 ? "+" : "") +
           std::to_string(*hours) + " h: its sign is the other way round";
  }
  return "write a name of the IANA database (tzdata), such as Asia/Shanghai or UTC";
}

}  // namespace weir::config
