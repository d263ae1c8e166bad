#include "app/tools/check_json.h"

#include <boost/json/parse.hpp>
#include <stdexcept>

#include "core/chars/ascii.h"

namespace weir::app {
namespace {

namespace json = boost::json;
using Attributes = envoy::service::auth::v3::AttributeContext;

struct WrongShape : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string camel(std::string_view snake) {
  std::string out;
  for (std::size_t i = 0; i < snake.size(); ++i) {
    const bool raised = snake[i] == '_' && i + 1 < snake.size();
    if (raised) ++i;
    out += raised ? ascii::upper(snake[i]) : snake[i];
  }
  return out;
}

/// Null: there is none, or it is null.
const json::value* field_of(const json::object& of, std::string_view name) {
  const json::value* found = of.if_contains(name);
  if (found == nullptr) found = of.if_contains(camel(name));
  return found == nullptr || found->is_null() ? nullptr : found;
}

const json::object* object(const json::object& of, std::string_view name) {
  const json::value* const found = field_of(of, name);
  if (found == nullptr) return nullptr;
  if (!found->is_object()) throw WrongShape(std::string(name) + " is an object");
  return &found->get_object();
}

std::string text(const json::value& value, std::string_view name) {
  if (!value.is_string()) throw WrongShape(std::string(name) + " is a text");
  return std::string(value.get_string());
}

template <class Set>
void with_text(const json::object& of, std::string_view name, Set set) {
  if (const json::value* const found = field_of(of, name)) set(text(*found, name));
}

std::string from_base64(std::string_view coded, const char* what) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : coded) {
    if (c == '=') break;
    const std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t at = alphabet.find(c == '-' ? '+' : c == '_' ? '/' : c);
    if (at == std::string_view::npos) throw WrongShape(std::string(what) + " is base64");
    bits = bits << 6 | static_cast<std::uint32_t>(at);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return out;
}

void read_value(const json::value& from, google::protobuf::Value& out, int depth) {
  if (depth > 32) throw WrongShape("metadata has at most 32 levels");
  if (from.is_string()) {
    out.set_string_value(std::string(from.get_string()));
  } else if (from.is_bool()) {
    out.set_bool_value(from.get_bool());
  } else if (from.is_number()) {
    out.set_number_value(from.to_number<double>());
  } else if (from.is_object()) {
    auto& fields = *out.mutable_struct_value()->mutable_fields();
    for (const auto& [name, value] : from.get_object())
      read_value(value, fields[std::string(name)], depth + 1);
  } else if (from.is_array()) {
    for (const json::value& value : from.get_array())
      read_value(value, *out.mutable_list_value()->add_values(), depth + 1);
  }
}

void read_metadata(const json::object& from, std::string_view name,
                   envoy::config::core::v3::Metadata* (Attributes::*place)(), Attributes& out) {
  const json::object* const metadata = object(from, name);
  const json::object* const filters =
      metadata == nullptr ? nullptr : object(*metadata, "filter_metadata");
  if (filters == nullptr) return;
  for (const auto& [space, value] : *filters) {
    if (!value.is_object()) throw WrongShape("metadata of a filter is an object");
    auto& fields =
        *(*(out.*place)()->mutable_filter_metadata())[std::string(space)].mutable_fields();
    for (const auto& [key, of] : value.get_object()) read_value(of, fields[std::string(key)], 0);
  }
}

/// Reads `header_map`, which Envoy sends instead of `headers` with `encode_raw_headers`.
void read_header_map(const json::object& from, Attributes::HttpRequest& out) {
  const json::object* const map = object(from, "header_map");
  const json::value* const headers = map == nullptr ? nullptr : field_of(*map, "headers");
  if (headers == nullptr) return;
  if (!headers->is_array()) throw WrongShape("headers of header_map is a list");
  for (const json::value& each : headers->get_array()) {
    if (!each.is_object()) throw WrongShape("a header of header_map is an object");
    const json::object& header = each.get_object();
    auto& to = *out.mutable_header_map()->add_headers();
    with_text(header, "key", [&](std::string v) { to.set_key(std::move(v)); });
    with_text(header, "value", [&](std::string v) { to.set_value(std::move(v)); });
    with_text(header, "raw_value",
              [&](const std::string& v) { to.set_raw_value(from_base64(v, "raw_value")); });
  }
}

void read_http(const json::object& from, Attributes::HttpRequest& out) {
  with_text(from, "method", [&](std::string v) { out.set_method(std::move(v)); });
  with_text(from, "path", [&](std::string v) { out.set_path(std::move(v)); });
  with_text(from, "host", [&](std::string v) { out.set_host(std::move(v)); });
  with_text(from, "scheme", [&](std::string v) { out.set_scheme(std::move(v)); });
  with_text(from, "body", [&](std::string v) { out.set_body(std::move(v)); });
  with_text(from, "raw_body",
            [&](const std::string& v) { out.set_raw_body(from_base64(v, "raw_body")); });
  if (const json::object* const headers = object(from, "headers")) {
    for (const auto& [name, value] : *headers)
      (*out.mutable_headers())[std::string(name)] = text(value, "a header");
  }
  read_header_map(from, out);
}

void read_attributes(const json::object& from, Attributes& out) {
  if (const json::object* const source = object(from, "source")) {
    const json::object* const address = object(*source, "address");
    const json::object* const socket =
        address == nullptr ? nullptr : object(*address, "socket_address");
    if (socket != nullptr) {
      with_text(*socket, "address", [&](std::string v) {
        out.mutable_source()->mutable_address()->mutable_socket_address()->set_address(
            std::move(v));
      });
    }
  }
  const json::object* const request = object(from, "request");
  const json::object* const http = request == nullptr ? nullptr : object(*request, "http");
  if (http != nullptr) read_http(*http, *out.mutable_request()->mutable_http());
  if (const json::object* const context = object(from, "context_extensions")) {
    for (const auto& [name, value] : *context)
      (*out.mutable_context_extensions())[std::string(name)] = text(value, "a context extension");
  }
  read_metadata(from, "metadata_context", &Attributes::mutable_metadata_context, out);
  read_metadata(from, "route_metadata_context", &Attributes::mutable_route_metadata_context, out);
}

}  // namespace

std::string read_check(std::string_view text, envoy::service::auth::v3::CheckRequest& out) {
  boost::system::error_code error;
  const json::value parsed = json::parse(text, error);
  if (error) return "this is not JSON: " + error.message();
  if (!parsed.is_object()) return "a CheckRequest is an object";
  try {
    const json::object* const attributes = object(parsed.get_object(), "attributes");
    read_attributes(attributes != nullptr ? *attributes : parsed.get_object(),
                    *out.mutable_attributes());
  } catch (const WrongShape& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace weir::app
