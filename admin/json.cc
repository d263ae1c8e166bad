#include "admin/json.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "limiter/lists.h"
#include "policies/describe.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

net::HttpReply reply_of(const json::value& body, int status, std::string content_type) {
  net::HttpReply reply;
  reply.status = status;
  reply.content_type = std::move(content_type);
  reply.body = json::serialize(body);
  reply.body += '\n';
  return reply;
}

std::string_view title(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

// The length of the valid UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || no_character ? 0 : length;
}

}  // namespace

net::HttpReply json_reply(const json::value& body, int status) {
  return reply_of(body, status, "application/json");
}

net::HttpReply problem(int status, std::string_view detail, const json::object& more) {
  json::object body;
  body["type"] = "about:blank";
  body["title"] = title(status);
  body["status"] = status;
  body["detail"] = detail;
  for (const auto& [name, value] : more) body[name] = value;
  return reply_of(body, status, "application/problem+json");
}

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
  if (error) return problem(400, "the body is no valid JSON: " + error.message());
  if (!value.is_object()) return problem(400, "the body must be a JSON object");
  for (const auto& [name, member] : value.get_object()) {
    const std::string_view text(name.data(), name.size());
    if (std::find(known.begin(), known.end(), text) != known.end()) continue;
    std::string words;
    for (const std::string_view word : known) words.append(words.empty() ? "" : ", ").append(word);
    return problem(400, "unknown member \"" + std::string(text.substr(0, 64)) + "\"" +
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

json::value number_value(Number number) {
  if (!number.is_real()) return number.integer();
  if (!number.is_finite()) return "unlimited";
  return number.as_real();
}

std::string utf8_text(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else {
      out += bytes.substr(0, length);
    }
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace weir::admin
