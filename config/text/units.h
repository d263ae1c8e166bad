#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/model.h"

/// Texts with units -> values. Pure; each reports its error in words of the user.
namespace weir::config {

/// Either a value or why there is none; `hint` may be empty.
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string message;
  std::string hint;
  explicit operator bool() const noexcept { return value.has_value(); }
};

/// `15m`, `500ms`, `1h30m`, `7d`: whole numbers with ms, s, m, h, d, the larger units first.
/// 0 .. 36500 d.
Parsed<milliseconds> parse_duration(std::string_view text);
/// A rate that a user has written in place of a window or a threshold: `10/m`, `10r/s`,
/// `100 per minute`, `5/15m`. Only for hints.
struct MeantRate {
  std::string many;    ///< `10`
  std::string window;  ///< `1m`
  /// As weir writes it: `10/m`.
  std::string text() const {
    const bool one = window.size() == 2 && window.front() == '1';
    return many + "/" + (one ? window.substr(1) : window);
  }
};
std::optional<MeantRate> meant_rate(std::string_view text);
/// `64KiB`, `256MiB`, `512B`; also GiB. Bytes.
Parsed<std::uint64_t> parse_size(std::string_view text);
/// `1000m`, `1.5km`: a number with m or km, not negative. Metres.
Parsed<double> parse_distance(std::string_view text);
/// `2027-01-01` (midnight UTC) or RFC 3339, `2027-01-01T08:00:00+08:00`.
Parsed<TimePoint> parse_date(std::string_view text);
/// A whole number of 64 bits: digits, with `-` before a negative one. Leading zeros are allowed.
Parsed<std::int64_t> parse_integer(std::string_view text);
/// A whole number of 64 bits or a finite decimal one, `0.5`, `1e6`.
Parsed<Number> parse_number(std::string_view text);
/// The same of data, where a whole number beyond 64 bits is the nearest decimal one.
Parsed<Number> parse_data_number(std::string_view text);
/// Where to listen: `0.0.0.0:8480`, `[::]:8480`, `:8480` (all addresses), `localhost:8480`,
/// `unix:/path`.
Parsed<Endpoint> parse_listen(std::string_view text);
/// Where to send: `http://HOST:PORT` (port 80 if left out), `unix:/path`. HOST may be a name.
Parsed<Endpoint> parse_upstream(std::string_view text);

/// `1000m`, `25km`: kilometres where they come out whole and are ten or more.
std::string format_distance(double metres);
/// `256MiB`, `1000B`.
std::string format_size(std::uint64_t bytes);

/// [A-Za-z_][A-Za-z0-9_]*, with `dash` also '-' after the first character; at most 64 characters.
bool is_name(std::string_view text, bool dash);
/// `inf`, `.inf`, `infinity`, `no limit`, `unbounded`: how people write that there is no limit, in
/// any letters. weir's own words for it are not among them. Only for hints.
bool is_foreign_unlimited(std::string_view text);

}  // namespace weir::config
