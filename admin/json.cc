#include "admin/json.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cmath>
#include <cstdint>

#include "core/words.h"
#include "limiter/lists/lists.h"
#include "policies/set/describe.h"

namespace weir::admin {

namespace json = boost::json;

namespace {

constexpr std::size_t kNameShown = 64;  // of a member, in an error about it

}  // namespace

std::variant<json::object, net::HttpReply> read_object(
    std::string_view body, std::initializer_list<std::string_view> known) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  boost::system::error_code error;
  json::value value = json::parse(body, error, {}, options);
  if (error == json::error::too_deep) {
    return problem(400,
                   "the body is nested deeper than " + std::to_string(kJsonDepthMax) + " levels");
  }
  if (error) return problem(400, "the body is not valid JSON: " + error.message());
  if (!value.is_object()) return problem(400, "the body must be a JSON object");
  for (const auto& [name, member] : value.get_object()) {
    const std::string_view text(name.data(), name.size());
    if (std::find(known.begin(), known.end(), text) != known.end()) continue;
    std::string words;
    for (const std::string_view word : known) words.append(words.empty() ? "" : ", ").append(word);
    return problem(400, "unknown member \"" + utf8_text(text.substr(0, kNameShown)) + "\"" +
                            (words.empty() ? ": there are none here" : "; known are " + words));
  }
  return std::move(value.get_object());
}

void put_time(json::object& out, std::string_view name, TimePoint time) {
  if (time >= limiter::kForever) {
    out[name] = nullptr;
  } else {
    out[name] = policies::time_text(time);
  }
}

void put_until(json::object& out, TimePoint until, TimePoint now) {
  put_time(out, "until", until);
  if (until >= limiter::kForever) {
    out["left_seconds"] = nullptr;
  } else {
    out["left_seconds"] =
        static_cast<double>(std::max<std::int64_t>((until - now).count(), 0)) / 1000;
  }
}

json::array texts(const std::vector<std::string>& from) {
  json::array out;
  for (const std::string& text : from) out.emplace_back(utf8_text(text));
  return out;
}

std::string_view text_of(const json::value& value) {
  const json::string& text = value.get_string();
  return {text.data(), text.size()};
}

std::string read_threshold(const json::value& value, std::string_view name, Number& out) {
  constexpr double kBound = 0x1p63;
  if (value.is_int64()) {
    out = Number(value.get_int64());
    return {};
  }
  const double real = value.is_double() ? value.get_double() : kBound;
  if (!(real >= -kBound && real < kBound)) {
    const bool is_number = value.is_double() || value.is_uint64();
    return "\"" + utf8_text(name.substr(0, kNameShown)) + "\" is " +
           (is_number ? "too large: a" : "not a number: a") +
           " threshold is a number from -9223372036854775808 to 9223372036854775807";
  }
  out = std::trunc(real) == real ? Number(static_cast<std::int64_t>(real)) : Number::real(real);
  return {};
}

json::value number_value(Number number) {
  if (!number.is_real()) return number.integer();
  if (!number.is_finite()) return json::value(kUnlimited);
  return number.as_real();
}

}  // namespace weir::admin
