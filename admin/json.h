#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/clock.h"
#include "core/number.h"
#include "net/http_server.h"

/// Bodies of the admin API, both ways.
namespace weir::admin {

inline constexpr std::size_t kJsonDepthMax = 16;

net::HttpReply json_reply(const boost::json::value& body, int status = 200);
/// problem+json (RFC 9457). `more`: further members.
net::HttpReply problem(int status, std::string_view detail, const boost::json::object& more = {});

/// A body that must be one JSON object with members of `known` only; else the problem to answer
/// with. Of a repeated member the last counts. Depth at most kJsonDepthMax.
std::variant<boost::json::object, net::HttpReply> read_object(
    std::string_view body, std::initializer_list<std::string_view> known);

/// Sets `NAME` to the time as RFC 3339 with milliseconds, null for limiter::kForever and later.
void put_time(boost::json::object& out, std::string_view name, TimePoint time);
/// Sets `until`, and `left_seconds` from now to then (0 at least).
void put_until(boost::json::object& out, TimePoint until, TimePoint now);
/// Integers stay exact; a threshold that nothing reaches is "unlimited".
boost::json::value number_value(Number number);
/// Keys and reasons may be any bytes: what is no UTF-8 becomes U+FFFD.
std::string utf8_text(std::string_view bytes);

}  // namespace weir::admin
