#include "net/http/json_reply.h"

#include <algorithm>
#include <boost/json/serialize.hpp>

#include "core/http_status.h"
#include "core/json_numbers.h"
#include "core/utf8.h"

namespace weir::net {
namespace {

namespace json = boost::json;

HttpReply reply_of(const json::value& body, int status, std::string content_type) {
  HttpReply reply;
  reply.status = status;
  reply.content_type = std::move(content_type);
  reply.body = plain_numbers(json::serialize(body));
  reply.body += '\n';
  return reply;
}

}  // namespace

HttpReply json_reply(const json::value& body, int status) {
  return reply_of(body, status, "application/json");
}

HttpReply problem(int status, std::string_view detail, const json::object& more) {
  json::object body;
  body["type"] = "about:blank";
  body["title"] = reason_phrase(status);
  body["status"] = status;
  body["detail"] = detail;
  for (const auto& [name, value] : more) body[name] = value;
  return reply_of(body, status, "application/problem+json");
}

std::string utf8_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = decode_utf8(bytes).length;
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += bytes.substr(0, length);
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace weir::net
