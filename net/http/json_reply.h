#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "net/http/server.h"

/// What the doors that speak JSON answer with.
namespace weir::net {

HttpReply json_reply(const boost::json::value& body, int status = 200);
/// problem+json (RFC 9457). `more`: further members.
HttpReply problem(int status, std::string_view detail, const boost::json::object& more = {});
/// Keys and reasons may be any bytes: what is no UTF-8 becomes U+FFFD.
std::string utf8_text(std::string_view bytes);

}  // namespace weir::net
