#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/number.h"
#include "net/http/json_reply.h"

/// Bodies of the admin API, both ways.
namespace weir::admin {

inline constexpr std::size_t kJsonDepthMax = 16;

using net::json_reply;
using net::problem;
using net::utf8_text;

/// A body that must be one JSON object with members of `known` only; else the problem to answer
/// with. Of a repeated member the last counts. Depth at most kJsonDepthMax.
std::variant<boost::json::object, net::HttpReply> read_object(
    std::string_view body, std::initializer_list<std::string_view> known);

/// Sets `NAME` to the time as RFC 3339 with milliseconds, null for limiter::kForever and later.
void put_time(boost::json::object& out, std::string_view name, TimePoint time);
/// Sets `until`, and `left_seconds` from now to then (0 at least).
void put_until(boost::json::object& out, TimePoint until, TimePoint now);
/// Each as text that is valid UTF-8.
boost::json::array texts(const std::vector<std::string>& from);
/// The value must be a string, and outlive the view.
std::string_view text_of(const boost::json::value& value);
/// The threshold `name` of a body: a number that fits into 64 bits; a whole one stays exact, also
/// one that is written as 2e1 or 20.0. Returns its error; empty: none.
std::string read_threshold(const boost::json::value& value, std::string_view name, Number& out);
/// Integers stay exact; a threshold that nothing reaches is "unlimited".
boost::json::value number_value(Number number);

}  // namespace weir::admin
