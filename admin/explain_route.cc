#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "admin/explainer.h"
#include "admin/routes.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "core/chars/token.h"
#include "core/json_numbers.h"
#include "net/http/fields.h"
#include "net/http/head.h"
#include "net/http/scan.h"
#include "net/http/target.h"
#include "net/http/uri.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kFieldsMax = net::FieldList::kMax;

/// A request made of a description, and the memory of its views.
struct Made {
  Request request;
  policies::Instant at{};
  std::string method = "GET", target, host, body;
  std::vector<std::pair<std::string, std::string>> field_texts;
  std::vector<HeaderField> fields;
  std::vector<char> path_room;
  net::NormalTarget normal;
};

std::string add_field(std::string_view name, const json::value& value, Made& made) {
  if (!is_token(name)) return "a name in `headers` is not a field name";
  if (!value.is_string()) return "a value in `headers` is a text, or a list of texts";
  const std::string_view text = ascii::trimmed(text_of(value));
  if (ascii::has_control_but_tab(text)) return "a value in `headers` has a control character";
  if (made.field_texts.size() == kFieldsMax) return "`headers` has too many fields";
  made.field_texts.emplace_back(name, text);
  return {};
}

std::string read_fields(const json::value& headers, Made& made) {
  if (!headers.is_object()) return "`headers` is an object of field names";
  for (const auto& [key, value] : headers.get_object()) {
    const std::string_view name(key.data(), key.size());
    if (!value.is_array()) {
      if (std::string wrong = add_field(name, value, made); !wrong.empty()) return wrong;
      continue;
    }
    for (const json::value& item : value.get_array()) {
      if (std::string wrong = add_field(name, item, made); !wrong.empty()) return wrong;
    }
  }
  return {};
}

const std::string* find_field(const Made& made, std::string_view name) {
  for (const auto& [key, value] : made.field_texts) {
    if (net::same_ignoring_case(key, name)) return &value;
  }
  return nullptr;
}

// `/path?query`, or `http://host/path?query`.
std::string read_url(std::string_view url, Made& made) {
  made.request.scheme = "http";
  std::string_view authority;
  for (const std::string_view scheme : {"http", "https"}) {
    if (!url.starts_with(scheme) || !url.substr(scheme.size()).starts_with("://")) continue;
    made.request.scheme = scheme;
    url.remove_prefix(scheme.size() + 3);
    const std::size_t end = std::min(url.find_first_of("/?"), url.size());
    authority = url.substr(0, end);
    if (authority.empty()) return "`url` has no host";
    url.remove_prefix(end);
    break;
  }
  made.target = url.starts_with('/') ? std::string(url) : "/" + std::string(url);
  if (authority.empty() && !url.starts_with('/')) return "`url` is /PATH or http://HOST/PATH";
  if (net::lacks_escapes(made.target))
    return "`url` has a blank, a control character or a fragment";
  const std::string* const field = find_field(made, "host");
  if (field != nullptr) authority = *field;
  if (authority.empty()) authority = "localhost";
  auto host = net::host_word_of(authority);
  if (!host) return "the host is neither HOST nor HOST:PORT";
  made.host = std::move(*host);
  return {};
}

std::string read_body(const json::value& body, Made& made) {
  if (body.is_string()) {
    made.body = text_of(body);
  } else if (body.is_object() || body.is_array()) {
    made.body = plain_numbers(json::serialize(body));
    if (find_field(made, "content-type") == nullptr) {
      made.field_texts.emplace_back("content-type", "application/json");
    }
  } else {
    return "`body` is a text, or JSON to be sent as such";
  }
  return {};
}

// Returns the error in the description, or an empty text.
std::string read_description(const json::object& from, Made& made) {
  for (const std::string_view name : {"method", "url", "ip", "time"}) {
    const json::value* const value = from.if_contains(name);
    if (value != nullptr && !value->is_string()) return "`" + std::string(name) + "` is a text";
  }
  const json::value* const url = from.if_contains("url");
  if (url == nullptr) return "`url` is missing";
  if (const json::value* method = from.if_contains("method")) made.method = text_of(*method);
  if (!is_method(made.method)) return "`method` is not an HTTP method, in capitals";
  if (const json::value* headers = from.if_contains("headers")) {
    if (std::string wrong = read_fields(*headers, made); !wrong.empty()) return wrong;
  }
  if (std::string wrong = read_url(text_of(*url), made); !wrong.empty()) return wrong;
  if (const json::value* body = from.if_contains("body")) {
    if (std::string wrong = read_body(*body, made); !wrong.empty()) return wrong;
  }
  made.request.client = Address::loopback();
  if (const json::value* ip = from.if_contains("ip")) {
    const auto address = Address::parse(text_of(*ip));
    if (!address) return "`ip` is not an IP address";
    made.request.client = *address;
  }
  if (const json::value* time = from.if_contains("time")) {
    const auto parsed = config::parse_date(text_of(*time));
    if (!parsed) return "`time`: " + parsed.message;
    made.at = {*parsed.value, *parsed.value};
  }
  return {};
}

// Points the request at what has been read; nothing of it may move after this.
std::string finish(Made& made, const policies::PolicySet& set) {
  for (const auto& [name, value] : made.field_texts) made.fields.push_back({name, value});
  made.path_room.resize(net::normal_path_room(made.target.size()));
  net::NormalTarget& target = made.normal;
  if (net::normalise_target(made.target, set.path_rules, made.path_room, target) !=
      net::HttpRefusal::none) {
    return "the proxy refuses this path with 400: it has a broken escape, or %00";
  }
  Request& request = made.request;
  request.time = made.at.now;
  request.method = made.method;
  target.describe(request);
  request.host = made.host;
  request.headers = made.fields;
  const std::string* const coding = find_field(made, "content-encoding");
  const bool encoded =
      coding != nullptr && !coding->empty() && !net::same_ignoring_case(*coding, "identity");
  request.body_state = encoded ? BodyState::encoded : BodyState::complete;
  if (!encoded) request.body = made.body;
  return {};
}

bool wants_text(std::string_view accept) {
  const std::size_t text = accept.find("text/plain");
  return text != std::string_view::npos && text < accept.find("application/json");
}

}  // namespace

boost::asio::awaitable<net::HttpReply> explain_request(Call& call) {
  if (auto refused = call.refuse_unknown({})) co_return std::move(*refused);
  auto body = read_object(call.request.body, {"method", "url", "ip", "headers", "body", "time"});
  if (auto* refused = std::get_if<net::HttpReply>(&body)) co_return std::move(*refused);
  Made made;
  made.at = call.at;
  std::string wrong = read_description(std::get<json::object>(body), made);
  if (wrong.empty()) wrong = finish(made, *call.set);
  if (!wrong.empty()) co_return problem(400, wrong);
  const policies::Explanation explanation =
      co_await call.explainer.explain(call, made.request, made.at);
  net::HttpReply reply;
  const bool text = wants_text(call.request.field("accept"));
  reply.content_type = text ? "text/plain; charset=utf-8" : "application/json";
  reply.body = text ? explanation.to_text(false) : explanation.to_json();
  co_return reply;
}

}  // namespace weir::admin
