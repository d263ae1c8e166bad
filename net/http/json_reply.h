#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "net/http/server.h"

/// Answers of the doors that use JSON.
namespace weir::net {

HttpReply json_reply(const boost::json::value& body, int status = 200);
/// problem+json (RFC 9457). `more`: further members.
HttpReply problem(int status, std::string_view detail, const boost::json::object& more = {});
/// Keys and reasons may be any bytes: bytes that are not UTF-8 become U+FFFD.
std::string utf8_text(std::string_view bytes);

}  // namespace weir::net
