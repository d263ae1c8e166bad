#include "policies/lang/expr/functions.h"

#include <cctz/civil_time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <new>

#include "core/chars/parse.h"
#include "core/geo.h"
#include "core/number.h"
#include "policies/lang/extractors/blank.h"
#include "policies/lang/extractors/json.h"
#include "policies/lang/extractors/text.h"
#include "policies/lang/frame.h"
#include "policies/lang/threshold_table.h"

namespace weir::policies::expr {
namespace {

/// CEL's range of int(double): both ends of the integers are out, since doubles there are not
/// exact.
Value to_integer(double d) noexcept {
  if (!(d > -0x1p63 && d < 0x1p63)) return Value::error();  // NaN too
  return Value::integer(static_cast<std::int64_t>(d));
}

template <class T>
std::optional<T> parse_number(std::string_view text) noexcept {
  if (!text.empty() && text[0] == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text[0] == '-') return std::nullopt;
  }
  return parse_whole<T>(text);
}

Value call_int(const Call& c) noexcept {
  const Value& x = c.args[0];
  if (x.is(Type::integer)) return x;
  // CEL drops the fraction. A client could then get 0.9 of something for nothing, again and again.
  // So a value that is not an integer is refused; round() is there for rounding.
  if (x.is(Type::real)) {
    return std::trunc(x.as_real()) == x.as_real() ? to_integer(x.as_real()) : Value::error();
  }
  const auto integer = parse_number<std::int64_t>(x.as_text());
  return integer ? Value::integer(*integer) : Value::error();
}

Value call_double(const Call& c) noexcept {
  const Value& x = c.args[0];
  if (x.is(Type::real)) return x;
  if (x.is(Type::integer)) return Value::real(static_cast<double>(x.as_integer()));
  const std::string_view text = x.as_text();
  if (text.find('(') != std::string_view::npos) return Value::error();  // from_chars' nan(...)
  const auto real = parse_number<double>(text);
  return real ? Value::real(*real) : Value::error();
}

Value call_string(const Call& c) noexcept {
  const Value& x = c.args[0];
  if (x.is(Type::text)) return x;
  if (x.is(Type::boolean)) return Value::text(x.as_boolean() ? "true" : "false");
  constexpr std::size_t kRoom = 64;
  char* out = c.frame.arena().allocate(kRoom);
  if (out == nullptr) return Value::error();
  const std::size_t size =
      x.is(Type::address) ? x.as_address().to_chars(out) : x.as_number().to_chars(out);
  c.frame.arena().shrink(kRoom, size);
  return Value::text({out, size});
}

Value call_bool(const Call& c) noexcept {
  const Value& x = c.args[0];
  if (x.is(Type::boolean)) return x;
  const std::string_view text = x.as_text();
  for (const std::string_view word : {"true", "True", "TRUE", "t", "1"}) {
    if (text == word) return Value::boolean(true);
  }
  for (const std::string_view word : {"false", "False", "FALSE", "f", "0"}) {
    if (text == word) return Value::boolean(false);
  }
  return Value::error();
}

Value call_round(const Call& c) noexcept {
  const Value& x = c.args[0];
  return x.is(Type::integer) ? x : to_integer(std::round(x.as_real()));
}

Value call_size(const Call& c) noexcept {
  const Value& x = c.args[0];
  if (x.is(Type::list)) return Value::integer(static_cast<std::int64_t>(x.as_list().size()));
  if (x.is(Type::json)) return Value::integer(json_size(x.as_json()));
  const std::string_view text = x.as_text();
  return Value::integer(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;  // all but continuation bytes
  }));
}

Value call_starts_with(const Call& c) noexcept {
  return Value::boolean(c.args[0].as_text().starts_with(c.args[1].as_text()));
}

Value call_ends_with(const Call& c) noexcept {
  return Value::boolean(c.args[0].as_text().ends_with(c.args[1].as_text()));
}

Value call_contains(const Call& c) noexcept {
  const std::string_view text = c.args[0].as_text(), part = c.args[1].as_text();
  if (part.empty()) return Value::boolean(true);
  if (text.empty()) return Value::boolean(false);
  // memmem is linear; string_view::find is not, and both texts may come from one client.
  return Value::boolean(memmem(text.data(), text.size(), part.data(), part.size()) != nullptr);
}

Value call_matches(const Call& c) noexcept {
  const std::string_view text = c.args[0].as_text();
  const re2::RE2& pattern = *std::get<std::unique_ptr<re2::RE2>>(c.payload);
  try {  // RE2 makes its states where they are reached first
    return Value::boolean(
        re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern));
  } catch (const std::bad_alloc&) {
    return Value::error();
  }
}

template <char kFirst, char kLast>
Value change_case(const Call& c) noexcept {
  const std::string_view text = c.args[0].as_text();
  const auto changes = [](char byte) { return byte >= kFirst && byte <= kLast; };
  if (std::none_of(text.begin(), text.end(), changes)) return c.args[0];
  char* const out = c.frame.arena().allocate(text.size());
  if (out == nullptr) return Value::error();
  std::transform(text.begin(), text.end(), out,
                 [&](char byte) { return changes(byte) ? static_cast<char>(byte ^ 0x20) : byte; });
  return Value::text({out, text.size()});
}

Value call_trim(const Call& c) noexcept { return Value::text(trim_blanks(c.args[0].as_text())); }

Value call_cidr(const Call& c) noexcept {
  const Value& x = c.args[0];
  const auto& networks = std::get<std::vector<Cidr>>(c.payload);
  const auto holds = [&networks](const Address& address) {
    return Value::boolean(std::any_of(networks.begin(), networks.end(), [&](const Cidr& network) {
      return network.contains(address);
    }));
  };
  if (x.is(Type::address)) return holds(x.as_address());
  const auto parsed = Address::parse(x.as_text());
  return parsed ? holds(*parsed) : Value::error();
}

Value call_address(const Call& c) noexcept {
  const Value& x = c.args[0];
  if (x.is(Type::address)) return x;
  const auto parsed = Address::parse(x.as_text());
  const Address* const kept = parsed ? c.frame.arena().make(*parsed) : nullptr;
  return kept != nullptr ? Value::address(kept) : Value::error();
}

Value call_in_list(const Call& c) noexcept {
  const ListOracle* lists = c.frame.lists();
  return Value::boolean(lists != nullptr &&
                        lists->contains(std::get<std::size_t>(c.payload), c.args));
}

Value call_lookup(const Call& c) noexcept {
  const auto& table = *std::get<std::shared_ptr<const ThresholdTable>>(c.payload);
  std::array<std::array<char, 64>, kArgumentsMax> room;
  std::array<std::optional<std::string_view>, kArgumentsMax> dimensions;
  for (std::size_t i = 0; i < c.args.size(); ++i) {
    const Value& x = c.args[i];
    if (x.is(Type::text)) {
      dimensions[i] = x.as_text();
    } else if (x.is(Type::boolean)) {
      dimensions[i] = x.as_boolean() ? "true" : "false";
    } else if (x.is(Type::address)) {
      dimensions[i] = std::string_view(room[i].data(), x.as_address().to_chars(room[i].data()));
    } else {
      dimensions[i] = std::string_view(room[i].data(), x.as_number().to_chars(room[i].data()));
    }
  }
  const auto limit = table.find({dimensions.data(), c.args.size()});
  return limit ? Value::number(*limit) : Value::null();
}

Value call_distance(const Call& c) noexcept {
  double degrees[4];
  for (std::size_t i = 0; i < 4; ++i) degrees[i] = c.args[i].as_number().as_real();
  const double metres = distance_metres(degrees[0], degrees[1], degrees[2], degrees[3]);
  return std::isnan(metres) ? Value::error() : Value::real(metres);
}

Value call_geohash(const Call& c) noexcept {
  const std::int64_t letters = c.args[2].as_integer();
  if (letters < 1 || letters > static_cast<std::int64_t>(kGeohashMax)) return Value::error();
  char* const out = c.frame.arena().allocate(kGeohashMax);
  if (out == nullptr) return Value::error();
  const std::size_t n = geohash(c.args[0].as_number().as_real(), c.args[1].as_number().as_real(),
                                static_cast<std::size_t>(letters), out);
  return n == 0 ? Value::error() : Value::text({out, n});
}

cctz::civil_second local_time(const Call& c) noexcept {
  const std::int64_t ms = c.args[0].as_integer();
  // Floor, so that times before 1970 fall into the right second.
  const std::int64_t seconds = ms / 1000 - (ms % 1000 < 0 ? 1 : 0);
  const cctz::time_point<cctz::seconds> at{cctz::seconds(seconds)};
  return cctz::convert(at, std::get<cctz::time_zone>(c.payload));
}

Value call_hour(const Call& c) noexcept { return Value::integer(local_time(c).hour()); }

Value call_weekday(const Call& c) noexcept {
  const int monday_first = static_cast<int>(cctz::get_weekday(cctz::civil_day(local_time(c))));
  return Value::integer((monday_first + 1) % 7);
}

/// FNV-1a (Fowler, Noll, Vo) with the finalizer of MurmurHash3 (Appleby), so that `% 100` is even.
/// Not secret and the same in every replica and version: it is for sampling, not for keys.
Value call_hash(const Call& c) noexcept {
  char buffer[64];
  const Value& x = c.args[0];
  std::string_view text;
  if (x.is(Type::text)) {
    text = x.as_text();
  } else if (x.is(Type::boolean)) {
    text = x.as_boolean() ? "true" : "false";
  } else if (x.is(Type::address)) {
    text = {buffer, x.as_address().to_chars(buffer)};
  } else {
    text = {buffer, x.as_number().to_chars(buffer)};
  }
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char byte : text) h = (h ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
  return Value::integer(static_cast<std::int64_t>((h ^ (h >> 33)) >> 1));
}

using enum Type;
using Role = Param::Role;
constexpr TypeSet kScalar = set_of(boolean, integer, real, text, address);
constexpr TypeSet kText = set_of(text);
constexpr TypeSet kNumber = set_of(Type::integer, Type::real);

const std::vector<FunctionRow>& table() {
  static const std::vector<FunctionRow> rows = {
      {"has",
       false,
       {{"field", Role::value, 0xffff}},
       1,
       1,
       boolean,
       false,
       "true if the field is there (not null)",
       nullptr},
      {"size",
       true,
       {{"x", Role::value, set_of(text, list, json)}},
       1,
       1,
       integer,
       true,
       "characters of a string, elements of a list, members of a JSON object",
       call_size},
      {"int",
       false,
       {{"x", Role::value, set_of(integer, real, text)}},
       1,
       1,
       integer,
       true,
       "to an integer: a double without a fraction, or a decimal string; a fraction fails "
       "(round(x) rounds), and so does a value out of range",
       call_int},
      {"double",
       false,
       {{"x", Role::value, set_of(integer, real, text)}},
       1,
       1,
       real,
       true,
       "to a double",
       call_double},
      {"string",
       false,
       {{"x", Role::value, kScalar}},
       1,
       1,
       text,
       true,
       "to canonical text, as in keys",
       call_string},
      {"bool",
       false,
       {{"x", Role::value, set_of(boolean, text)}},
       1,
       1,
       boolean,
       true,
       "to a bool: true, True, TRUE, t, 1 and false, False, FALSE, f, 0; others fail",
       call_bool},
      {"round",
       false,
       {{"x", Role::value, set_of(integer, real)}},
       1,
       1,
       integer,
       true,
       "to the nearest integer, halves away from zero; a value out of range fails",
       call_round},
      {"startsWith",
       true,
       {{"x", Role::value, kText}, {"prefix", Role::value, kText}},
       2,
       2,
       boolean,
       true,
       "whether a string begins with the prefix",
       call_starts_with},
      {"endsWith",
       true,
       {{"x", Role::value, kText}, {"suffix", Role::value, kText}},
       2,
       2,
       boolean,
       true,
       "whether a string ends with the suffix",
       call_ends_with},
      {"contains",
       true,
       {{"x", Role::value, kText}, {"part", Role::value, kText}},
       2,
       2,
       boolean,
       true,
       "whether a string has this part",
       call_contains},
      {"matches",
       true,
       {{"x", Role::value, kText}, {"pattern", Role::pattern}},
       2,
       2,
       boolean,
       true,
       "whether a string has a part that matches the RE2 pattern; ^ and $ bind it to the ends",
       call_matches},
      {"lowerAscii",
       true,
       {{"x", Role::value, kText}},
       1,
       1,
       text,
       true,
       "A-Z become a-z",
       change_case<'A', 'Z'>},
      {"upperAscii",
       true,
       {{"x", Role::value, kText}},
       1,
       1,
       text,
       true,
       "a-z become A-Z",
       change_case<'a', 'z'>},
      {"trim",
       true,
       {{"x", Role::value, kText}},
       1,
       1,
       text,
       true,
       "without blanks at both ends: all that common languages trim, NUL and U+3000 too",
       call_trim},
      {"address",
       false,
       {{"x", Role::value, set_of(address, text)}},
       1,
       1,
       address,
       true,
       "to an IP address, so that every spelling of it is one key; other text fails",
       call_address},
      {"cidr",
       true,
       {{"ip", Role::value, set_of(address, text)}, {"network", Role::network}},
       2,
       1024,
       boolean,
       true,
       "whether an address lies in one of the networks: ip.cidr(\"10.0.0.0/8\")",
       call_cidr},
      {"inList",
       false,
       {{"list", Role::list_name}, {"field", Role::value, kScalar}},
       2,
       kArgumentsMax,
       boolean,
       false,
       "whether a list has a live entry for the field(s): inList(\"office\", ip)",
       call_in_list},
      {"lookup",
       false,
       {{"table", Role::table_name}, {"field", Role::value, kScalar}},
       2,
       kArgumentsMax,
       Type::dyn,
       false,
       "the limit that a table has for the field(s): lookup(\"gold_limit\", ocpc, os); null if "
       "none "
       "matches",
       call_lookup},
      {"distance",
       false,
       {{"lat1", Role::value, kNumber},
        {"lon1", Role::value, kNumber},
        {"lat2", Role::value, kNumber},
        {"lon2", Role::value, kNumber}},
       4,
       4,
       real,
       true,
       "metres between two places, given in degrees",
       call_distance},
      {"geohash",
       false,
       {{"lat", Role::value, kNumber},
        {"lon", Role::value, kNumber},
        {"letters", Role::value, set_of(integer)}},
       3,
       3,
       text,
       true,
       "the cell of a place, 1 to 12 letters: geohash(lat, lon, 6)",
       call_geohash},
      {"hour",
       true,
       {{"time", Role::value, set_of(integer)}, {"zone", Role::zone}},
       1,
       2,
       integer,
       true,
       "hour of the day, 0 to 23: hour(\"Asia/Shanghai\") of the event, or of Unix milliseconds",
       call_hour},
      {"weekday",
       true,
       {{"time", Role::value, set_of(integer)}, {"zone", Role::zone}},
       1,
       2,
       integer,
       true,
       "day of the week, Sunday is 0: weekday(\"Europe/Berlin\") of the event, or of a time",
       call_weekday},
      {"hash",
       false,
       {{"x", Role::value, kScalar}},
       1,
       1,
       integer,
       true,
       "a stable number from 0 to 2^63-1, for sampling: hash(user) % 100 < 10",
       call_hash},
  };
  return rows;
}

}  // namespace

std::span<const FunctionRow> function_rows() { return table(); }

const FunctionRow* find_function(std::string_view name) {
  for (const FunctionRow& row : table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace weir::policies::expr
