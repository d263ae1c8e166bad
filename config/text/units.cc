#include "config/text/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "config/text/yaml_text.h"
#include "core/chars/ascii.h"
#include "core/chars/parse.h"
#include "core/text.h"
#include "core/unix_path.h"

namespace weir::config {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::int64_t kLongestMs = 36'500LL * 86'400'000;

struct SizeUnit {
  std::string_view name;
  unsigned shift;
};
constexpr std::array<SizeUnit, 4> kSizeUnits = {{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};

/// Reads digits from the front; nullopt if there are none or they do not fit.
std::optional<std::uint64_t> take_digits(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view take_letters(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && !ascii::is_digit(text[n])) ++n;
  const std::string_view out = text.substr(0, n);
  text.remove_prefix(n);
  return out;
}

/// `1w` means 7d, and `1.5h` 90m; empty: not known.
std::string hint_of_duration(std::string_view text) {
  constexpr std::array<std::string_view, 7> kEndless = {
      "forever", "always", "permanent", "permanently", "never", "infinite", "inf"};
  if (std::find(kEndless.begin(), kEndless.end(), text) != kEndless.end())
    return "a duration has an end: write a length such as 30d; entries of a list may have none";
  std::string_view rest = text;
  const auto amount = take_digits(rest);
  constexpr std::uint64_t kMost = 100'000;
  if (!amount || *amount > kMost) return {};
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  if (rest == "w" || rest == "week" || rest == "weeks" || rest == "周" || rest == "星期")
    return "there are no weeks: write " + std::to_string(*amount * 7) + "d";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kChinese = {
      {{"ms", "毫秒"},
       {"s", "秒"},
       {"s", "秒钟"},
       {"m", "分"},
       {"m", "分钟"},
       {"h", "时"},
       {"h", "小时"},
       {"d", "天"},
       {"d", "日"}}};
  for (const auto& [unit, word] : kChinese) {
    if (rest == word)
      return "did you mean \"" + std::to_string(*amount) + std::string(unit) + "\"?";
  }
  if (!rest.starts_with('.')) return {};
  rest.remove_prefix(1);
  const std::size_t digits = rest.size();
  const auto part = take_digits(rest);
  constexpr std::size_t kDigitsMax = 3;
  if (!part || digits - rest.size() > kDigitsMax) return {};
  std::uint64_t scale = 1;
  for (std::size_t i = rest.size(); i < digits; ++i) scale *= 10;
  for (const Unit& unit : kUnits) {
    const auto ms = static_cast<std::uint64_t>(unit.ms);
    if (unit.name != rest || part.value() * ms % scale != 0) continue;
    const std::uint64_t total = *amount * ms + *part * ms / scale;
    return "no fractions: write " + human_duration(milliseconds{static_cast<std::int64_t>(total)});
  }
  return {};
}

/// The number that `1k`, `1_000` or `1,000` means. Empty: not known.
std::string hint_of_number(std::string_view text) {
  std::string_view rest = text;
  const auto first = take_digits(rest);
  if (!first || rest.empty()) return {};
  constexpr std::uint64_t kMost = 1'000'000'000;
  const std::string unit = ascii::lowered(rest);
  const std::uint64_t factor = unit == "k" ? 1'000 : unit == "mio" ? 1'000'000 : 0;
  if (factor != 0 && *first <= kMost) return "write " + std::to_string(*first * factor);
  std::string digits;
  for (const char c : text) {
    if (ascii::is_digit(c)) digits += c;
    if (!ascii::is_digit(c) && c != '_' && c != ',' && c != '\'' && c != ' ') return {};
  }
  return "write " + digits;
}

Parsed<milliseconds> bad_duration(std::string_view text) {
  if (std::string hint = hint_of_duration(text); !hint.empty())
    return {std::nullopt, quoted(text) + " is not a duration", std::move(hint)};
  return {std::nullopt, quoted(text) + " is not a duration",
          "a duration is written like 500ms, 15m or 1h30m"};
}

/// `15min` means 15m: the first letter of the word is the unit.
std::string_view meant_unit(std::string_view word) {
  while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
  if (word.starts_with("ms") || word.starts_with("mil")) return "ms";
  if (word.empty()) return {};
  const char c = static_cast<char>(word.front() | 0x20);
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
    return u.name[0] == c && u.name.size() == 1;
  });
  return found == kUnits.end() ? std::string_view{} : found->name;
}

/// `minute`, `hourly`, `5 minutes` without the 5: one of that unit.
std::string_view unit_of_word(std::string_view word) {
  struct Named {
    std::string_view unit, words;
  };
  constexpr Named kWords[] = {
      {"1s", " s sec second seconds secondly "}, {"1m", " m min mins minute minutes minutely "},
      {"1h", " h hr hour hours hourly "},        {"1d", " d day days daily "},
      {"7d", " w week weeks weekly "},           {"30d", " month months monthly "}};
  std::string small = " ";
  for (const char c : word) small += ascii::lower(c);
  small += ' ';
  for (const Named& named : kWords) {
    if (small.size() > 2 && named.words.find(small) != std::string_view::npos) return named.unit;
  }
  return {};
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.size() > 5) return std::nullopt;
  const auto port = parse_whole<std::uint16_t>(text);
  return port.value_or(0) == 0 ? std::nullopt : port;
}

/// Host characters of RFC 1123 and underscores, which container networks use.
bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && host.front() != '-' && host.front() != '.' &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return ascii::is_digit(c) || ascii::is_letter(c) || c == '-' || c == '.' || c == '_';
         });
}

/// `8481`, `*:8481`, `http://127.0.0.1:8481`, `127.0.0.1`: the part that is missing or superfluous.
std::string hint_of_listen(std::string_view text) {
  const auto both = [](std::string_view port) {
    return "write 127.0.0.1:" + std::string(port) +
           " for this machine alone, 0.0.0.0:" + std::string(port) + " for all addresses";
  };
  if (parse_port(text)) return both(text);
  if (text.starts_with("*:") && parse_port(text.substr(2)))
    return "write 0.0.0.0:" + std::string(text.substr(2)) + " for all addresses";
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    std::string_view rest = text.substr(scheme + 3);
    if (rest.starts_with('/')) return "write unix:" + std::string(rest);
    rest = rest.substr(0, rest.find('/'));
    if (rest.rfind(':') != std::string_view::npos) return "write " + std::string(rest);
  }
  if (text.starts_with('/')) return "write unix:" + std::string(text);
  if (Address::parse(text)) {
    const bool v6 = text.find(':') != std::string_view::npos;
    return "add the port: " +
           (v6 ? "\"[" + std::string(text) + "]:8480\"" : std::string(text) + ":8480");
  }
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && parse_port(text.substr(colon + 1)) &&
      is_host_name(text.substr(0, colon))) {
    return "a name is not an address: " + both(text.substr(colon + 1));
  }
  return "write 0.0.0.0:8480, \"[::]:8480\" or unix:/run/weir/admin.sock";
}

/// `127.0.0.1:3000`, `3000`, `app:3000/api`: the URL that was meant.
std::string hint_of_upstream(std::string_view text) {
  if (text.starts_with('/')) return "write unix:" + std::string(text);
  const std::size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find('/'));
  if (scheme != std::string_view::npos && is_host_name(text))
    return "write http://" + std::string(text);
  if (parse_port(text)) return "write http://127.0.0.1:" + std::string(text);
  const std::size_t colon = text.rfind(':');
  const bool port = colon != std::string_view::npos && parse_port(text.substr(colon + 1));
  if (text.starts_with(':') && port) return "write http://127.0.0.1" + std::string(text);
  if (port && is_host_name(text.substr(0, colon))) return "write http://" + std::string(text);
  if (is_host_name(text)) return "write http://" + std::string(text) + ":PORT";
  return "write http://127.0.0.1:3000 or unix:/run/app.sock";
}

Parsed<Endpoint> unix_endpoint(std::string_view text) {
  const std::string_view path = text.substr(5);
  if (path.empty() || path.front() != '/') {
    return {std::nullopt, "a Unix socket needs an absolute path",
            "write unix:/run/weir/admin.sock"};
  }
  if (path.size() > kUnixPathMax)
    return {std::nullopt, "the path of a Unix socket has at most 107 bytes", ""};
  Endpoint out;
  out.path = path;
  return {out, "", ""};
}

}  // namespace

std::optional<MeantRate> meant_rate(std::string_view text) {
  std::string_view rest = text;
  const auto many = take_digits(rest);
  if (!many || rest.empty()) return std::nullopt;
  const auto skip_blanks = [&] {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  };
  skip_blanks();
  for (const std::string_view word : {"requests", "request", "reqs", "req", "r"}) {
    if (!rest.starts_with(word)) continue;
    rest.remove_prefix(word.size());
    break;
  }
  skip_blanks();
  if (rest.starts_with("per ")) {
    rest.remove_prefix(4);
  } else if (!rest.empty() && (rest.front() == '/' || rest.front() == '-')) {
    rest.remove_prefix(1);
  } else {
    return std::nullopt;
  }
  skip_blanks();
  std::string time(unit_of_word(rest));
  if (time.empty() && !rest.empty() && ascii::is_digit(rest.front()) && parse_duration(rest))
    time = std::string(rest);
  if (time.empty()) return std::nullopt;
  return MeantRate{std::to_string(*many), std::move(time)};
}

Parsed<milliseconds> parse_duration(std::string_view text) {
  std::string_view rest = text;
  std::int64_t total = 0;
  std::size_t least = 0;  // index into kUnits from which the next unit may come
  if (rest.empty()) return bad_duration(text);
  if (!ascii::is_digit(rest.front())) {
    Parsed<milliseconds> bad = bad_duration(text);
    if (const auto meant = unit_of_word(text); !meant.empty())
      bad.hint = "did you mean \"" + std::string(meant) + "\"?";
    return bad;
  }
  while (!rest.empty()) {
    if (!ascii::is_digit(rest.front())) return bad_duration(text);
    const auto amount = take_digits(rest);
    if (!amount || *amount > static_cast<std::uint64_t>(kLongestMs)) {
      return {std::nullopt, quoted(text) + " is too long", "a duration has at most 36500d"};
    }
    const std::string_view word = take_letters(rest);
    if (word.empty()) {
      return {std::nullopt, "duration " + quoted(text) + " has no unit",
              "write " + std::string(text) + "s or " + std::string(text) +
                  "m; units are ms, s, m, h and d"};
    }
    const auto* unit =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == word; });
    if (unit == kUnits.end()) {
      Parsed<milliseconds> bad = bad_duration(text);
      if (const auto meant = meant_unit(word); !meant.empty() && rest.empty() && least == 0 &&
                                               word.front() != '.' &&
                                               hint_of_duration(text).empty()) {
        bad.hint = "did you mean \"" + std::to_string(*amount) + std::string(meant) + "\"?";
      }
      return bad;
    }
    const auto index = static_cast<std::size_t>(unit - kUnits.begin());
    if (index < least)
      return {std::nullopt, quoted(text) + " is not a duration",
              "the larger unit comes first, and each once"};
    least = index + 1;
    if (static_cast<std::int64_t>(*amount) > (kLongestMs - total) / unit->ms) {
      return {std::nullopt, quoted(text) + " is too long", "a duration has at most 36500d"};
    }
    total += static_cast<std::int64_t>(*amount) * unit->ms;
  }
  return {milliseconds{total}, "", ""};
}

Parsed<std::uint64_t> parse_size(std::string_view text) {
  std::string_view rest = text;
  const auto amount =
      !rest.empty() && ascii::is_digit(rest.front()) ? take_digits(rest) : std::nullopt;
  if (!amount)
    return {std::nullopt, quoted(text) + " is not a size",
            "a size is written like 64KiB or 256MiB"};
  if (rest.empty()) {
    return {std::nullopt, "size " + quoted(text) + " has no unit", "units are B, KiB, MiB and GiB"};
  }
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.name != rest) continue;
    if (*amount > (std::uint64_t{1} << 50 >> unit.shift))
      return {std::nullopt, quoted(text) + " is too large", ""};
    return {*amount << unit.shift, "", ""};
  }
  const char first = static_cast<char>(rest.front() & ~0x20);
  const std::string_view meant = first == 'K'   ? "KiB"
                                 : first == 'M' ? "MiB"
                                 : first == 'G' ? "GiB"
                                                : "";
  return {std::nullopt, quoted(text) + " is not a size",
          meant.empty() ? "units are B, KiB, MiB and GiB"
                        : "did you mean \"" + std::to_string(*amount) + std::string(meant) + "\"?"};
}

Parsed<double> parse_distance(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number(text.substr(0, end));
  if (!number) {
    return {std::nullopt, quoted(text) + " is not a distance",
            "a distance is written like 500m or 2km"};
  }
  const std::string_view unit = text.substr(end);
  if (unit == "m") return {number.value->as_real(), "", ""};
  if (unit == "km") return {number.value->as_real() * 1000, "", ""};
  if (unit.empty())
    return {std::nullopt, "distance " + quoted(text) + " has no unit", "units are m and km"};
  return {std::nullopt, quoted(text) + " is not a distance", "units are m and km"};
}

Parsed<TimePoint> parse_date(std::string_view text) {
  const Parsed<TimePoint> bad{std::nullopt, quoted(text) + " is not a date",
                              "write 2027-01-01 or 2027-01-01T08:00:00+08:00"};
  const auto number = [&](std::size_t at, std::size_t length, int least, int most) -> int {
    int value = 0;
    for (std::size_t i = at; i < at + length; ++i) {
      if (i >= text.size() || !ascii::is_digit(text[i])) return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value < least || value > most ? -1 : value;
  };
  const int year = number(0, 4, 1970, 9999), month = number(5, 2, 1, 12), day = number(8, 2, 1, 31);
  if (text.size() < 10 || text[4] != '-' || text[7] != '-' || year < 0 || month < 0 || day < 0)
    return bad;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return {std::nullopt, quoted(text) + ": there is no such day", ""};
  TimePoint at = std::chrono::time_point_cast<milliseconds>(std::chrono::sys_days{date});
  if (text.size() == 10) return {at, "", ""};
  const int hour = number(11, 2, 0, 23), minute = number(14, 2, 0, 59),
            second = number(17, 2, 0, 59);
  if (text.size() < 20 || (text[10] | 0x20) != 't' || text[13] != ':' || text[16] != ':' ||
      hour < 0 || minute < 0 || second < 0) {
    return bad;
  }
  at += std::chrono::hours{hour} + std::chrono::minutes{minute} + std::chrono::seconds{second};
  std::size_t i = 19;
  if (text[i] == '.') {
    int scale = 100;
    const std::size_t digits = ++i;
    for (; i < text.size() && ascii::is_digit(text[i]); ++i, scale /= 10)
      at += milliseconds{(text[i] - '0') * scale};
    if (i == digits) return bad;
  }
  if (i >= text.size()) return bad;
  if ((text[i] | 0x20) == 'z') return i + 1 == text.size() ? Parsed<TimePoint>{at, "", ""} : bad;
  const int off_hour = number(i + 1, 2, 0, 23), off_minute = number(i + 4, 2, 0, 59);
  if ((text[i] != '+' && text[i] != '-') || i + 6 != text.size() || text[i + 3] != ':' ||
      off_hour < 0 || off_minute < 0)
    return bad;
  const auto offset = std::chrono::hours{off_hour} + std::chrono::minutes{off_minute};
  return {text[i] == '+' ? at - offset : at + offset, "", ""};
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return {std::nullopt, quoted(text) + " does not fit into 64 bits",
            "a whole number is between -9223372036854775808 and 9223372036854775807"};
  if (error != std::errc{} || end != text.data() + text.size())
    return {std::nullopt, quoted(text) + " is not a whole number", ""};
  return {value, "", ""};
}

Parsed<Number> parse_number(std::string_view text) {
  const bool whole = !text.empty() && std::all_of(text.begin() + (text.front() == '-' ? 1 : 0),
                                                  text.end(), ascii::is_digit);
  if (whole && text != "-") {
    const auto integer = parse_integer(text);
    if (!integer) return {std::nullopt, integer.message, integer.hint};
  }
  return parse_data_number(text);
}

Parsed<Number> parse_data_number(std::string_view text) {
  if (const auto integer = parse_integer(text)) return {Number{*integer.value}, "", ""};
  const bool starts =
      !text.empty() && (ascii::is_digit(text.front()) ||
                        (text.size() > 1 && text.front() == '-' && ascii::is_digit(text[1])));
  const auto value = parse_whole<double>(text);
  if (!starts || !value || !std::isfinite(*value))
    return {std::nullopt, quoted(text) + " is not a number", hint_of_number(text)};
  return {Number::real(*value), "", ""};
}

Parsed<Endpoint> parse_listen(std::string_view text) {
  if (text.starts_with("unix:")) return unix_endpoint(text);
  const Parsed<Endpoint> bad{std::nullopt, quoted(text) + " is not an address to listen on",
                             hint_of_listen(text)};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad;
  const auto port = parse_port(text.substr(colon + 1));
  if (!port && text.find("://") != std::string_view::npos) return bad;
  if (!port) return {std::nullopt, quoted(text) + " has no port between 1 and 65535", ""};
  std::string_view host = text.substr(0, colon);
  Endpoint out;
  out.port = *port;
  if (host.empty()) {
    out.host = "0.0.0.0";
  } else if (host == "localhost") {
    out.host = "127.0.0.1";
  } else {
    const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (brackets) host = host.substr(1, host.size() - 2);
    if (!Address::parse(host) || (host.find(':') != std::string_view::npos) != brackets) return bad;
    out.host = host;
  }
  return {out, "", ""};
}

Parsed<Endpoint> parse_upstream(std::string_view text) {
  if (text.starts_with("unix:")) return unix_endpoint(text);
  const Parsed<Endpoint> bad{std::nullopt, quoted(text) + " is not an upstream",
                             hint_of_upstream(text)};
  if (text.starts_with("https://"))
    return {std::nullopt, "TLS to the upstream is not supported yet",
            "the app beside weir speaks http://"};
  if (!text.starts_with("http://")) return bad;
  std::string_view rest = text.substr(7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('/') != std::string_view::npos)
    return {std::nullopt, "an upstream has no path",
            hint_of_upstream(text) + "; weir sends the path that the client asks for"};
  Endpoint out;
  out.port = 80;
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos || !Address::parse(rest.substr(1, close - 1))) return bad;
    out.host = rest.substr(1, close - 1);
    port = rest.substr(close + 1);
  } else {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    out.host = rest.substr(0, colon);
    port = rest.substr(colon);
    if (!is_host_name(out.host)) return bad;
  }
  if (port.empty()) return {out, "", ""};
  const auto value = port.front() == ':' ? parse_port(port.substr(1)) : std::nullopt;
  if (!value) return {std::nullopt, quoted(text) + " has no port between 1 and 65535", ""};
  out.port = *value;
  return {out, "", ""};
}

bool is_foreign_unlimited(std::string_view text) {
  constexpr std::string_view kWords[] = {"inf",      ".inf",    "+inf",     "infinity",
                                         "infinite", "nolimit", "no limit", "unbounded"};
  const std::string low = ascii::lowered(text);
  return std::find(std::begin(kWords), std::end(kWords), low) != std::end(kWords);
}

std::string format_distance(double metres) {
  const bool kilometres = metres >= 10'000 && std::fmod(metres, 1000) == 0;
  const double shown = kilometres ? metres / 1000 : metres;
  return Number::real(shown).to_string() + (kilometres ? "km" : "m");
}

std::string format_size(std::uint64_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    const std::uint64_t one = std::uint64_t{1} << unit.shift;
    if (bytes >= one && bytes % one == 0)
      return std::to_string(bytes >> unit.shift) + std::string(unit.name);
  }
  return std::to_string(bytes) + "B";
}

bool is_name(std::string_view text, bool dash) {
  constexpr std::size_t kLongest = 64;
  const auto letter = [](char c) { return ascii::is_letter(c) || c == '_'; };
  return !text.empty() && text.size() <= kLongest && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || ascii::is_digit(c) || (dash && c == '-'); });
}

}  // namespace weir::config
