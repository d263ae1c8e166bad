#include "authz/check_request.h"

#include <algorithm>
#include <cmath>

#include "core/chars/method.h"
#include "core/chars/own_headers.h"
#include "core/kept_memory.h"
#include "core/number.h"
#include "net/http/client_address.h"
#include "net/http/fields.h"
#include "net/http/scan.h"

namespace weir::authz {

using policies::Extracted;
using policies::MissReason;

namespace {

/// As the same number in a JSON body: a whole one is an integer.
Value number(double value) noexcept {
  constexpr double kMost = kExactInteger;
  const bool whole = value >= -kMost && value <= kMost && std::trunc(value) == value;
  return whole ? Value::integer(static_cast<std::int64_t>(value)) : Value::real(value);
}

Extracted value_of(const google::protobuf::Value& value) noexcept {
  switch (value.kind_case()) {
    case google::protobuf::Value::kStringValue:
      return {Value::text(value.string_value())};
    case google::protobuf::Value::kNumberValue:
      if (!std::isfinite(value.number_value())) return Extracted::miss(MissReason::unreadable);
      return {number(value.number_value())};
    case google::protobuf::Value::kBoolValue:
      return {Value::boolean(value.bool_value())};
    case google::protobuf::Value::kStructValue:
    case google::protobuf::Value::kListValue:
      return Extracted::miss(MissReason::unreadable);  // a key has single values
    default:
      return Extracted::miss(MissReason::absent);
  }
}

const google::protobuf::Value* member(const google::protobuf::Struct& of, std::string_view name) {
  for (const auto& [key, value] : of.fields()) {
    if (key == name) return &value;
  }
  return nullptr;
}

const google::protobuf::Value* step(const google::protobuf::Value& from,
                                    const policies::PathStep& to) {
  if (to.is_index) {
    const auto index = static_cast<int>(to.index);
    const bool there = from.has_list_value() && index < from.list_value().values_size();
    return there ? &from.list_value().values(index) : nullptr;
  }
  return from.has_struct_value() ? member(from.struct_value(), to.name) : nullptr;
}

const google::protobuf::Struct* name_space(const CheckFields::Metadata* metadata,
                                           std::string_view name) {
  if (metadata == nullptr) return nullptr;
  for (const auto& [key, value] : metadata->filter_metadata()) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

bool comes_as_metadatum(std::string_view header) noexcept {
  return header != "x-forwarded-for" && header != "forwarded" && !header.starts_with("x-envoy-");
}

void CheckReader::add_header(std::string_view name, std::string_view value) {
  if (name.starts_with(':')) {
    if (name == ":method") method_ = value;
    if (name == ":path") path_ = value;
    if (name == ":authority") authority_ = value;
    if (name == ":scheme") scheme_ = value;
    return;
  }
  headers_.push_back({name, value});
  if (is_own_header(name)) forged_.push_back(name);
}

void CheckReader::read_headers() {
  headers_.clear();
  forged_.clear();
  method_ = path_ = authority_ = scheme_ = {};
  const auto& from = fields_.headers.empty() ? fields_.lines : fields_.headers;
  for (const HeaderField& field : from) add_header(field.name, field.value);
}

std::string_view CheckReader::header(std::string_view name) const noexcept {
  for (const HeaderField& field : headers_) {
    if (net::same_ignoring_case(field.name, name)) return field.value;
  }
  return {};
}

/// A missing part was not sent, or was cut off: it counts as not read.
void CheckReader::read_body(const CheckRules& rules) {
  const std::string_view body = fields_.raw_body.empty() ? fields_.body : fields_.raw_body;
  const std::string_view partial = header("x-envoy-auth-partial-body");
  request_.body = {};
  request_.body_state = BodyState::not_read;
  if (net::same_ignoring_case(partial, "true")) return;
  if (body.empty() && partial.empty()) return;
  const std::string_view coding = header("content-encoding");
  if (!coding.empty() && !net::same_ignoring_case(coding, "identity")) {
    request_.body_state = BodyState::encoded;
  } else if (body.size() > rules.body_bytes_max) {
    request_.body_state = BodyState::too_large;
  } else {
    request_.body_state = BodyState::complete;
    request_.body = body;
  }
}

std::string_view CheckReader::read(std::string_view client_word, const CheckRules& rules,
                                   TimePoint now) {
  read_headers();
  request_ = {};
  target_ = {};
  request_.time = now;
  request_.headers = headers_;
  request_.facts = this;

  std::optional<Address> source;
  if (fields_.source)
    source = net::parse_hop(*fields_.source);  // the address may have a zone (fe80::1%2)
  const HeaderField word{rules.client.header(), client_word};
  const bool told = client_word.data() != nullptr;
  const bool ours = rules.client.header().starts_with("x-weir-");
  // A header of our own name that does not come as a metadatum is the client's own.
  const std::span<const HeaderField> said = told   ? std::span(&word, 1)
                                            : ours ? std::span<const HeaderField>()
                                                   : request_.headers;
  const std::optional<Address> client = rules.client.client(source, said);
  if (client) request_.client = *client;
  client_known_ = client.has_value();

  if (!fields_.has_http) return {};  // plain TCP
  const auto said_or = [](std::string_view field, std::string_view pseudo) {
    return field.empty() ? pseudo : field;
  };
  request_.method = said_or(fields_.method, method_);
  if (!is_method(request_.method)) return "the method of the request is missing or none";
  if (const auto wrong = read_host(said_or(fields_.host, authority_), host_room_, request_);
      !wrong.empty())
    return wrong;
  const std::string_view scheme = said_or(fields_.scheme, scheme_);
  const bool https = net::same_ignoring_case(scheme, "https") ||
                     net::same_ignoring_case(header("x-forwarded-proto"), "https");
  request_.scheme = https ? "https" : "http";
  read_body(rules);
  return read_target(asked_target(), rules.path, room_.span(), target_, request_);
}

void CheckReader::read_target_again(const PathRules& rules) noexcept {
  if (!fields_.has_http) return;
  target_ = {};
  static_cast<void>(read_target(asked_target(), rules, room_.span(), target_, request_));
}

void CheckReader::clear() noexcept {
  request_ = {};
  fields_.clear();
  clear_keeping(headers_, CheckFields::kFieldsKept);
  clear_keeping(forged_, CheckFields::kFieldsKept);
}

Extracted CheckReader::context(std::string_view name) const noexcept {
  for (const auto& [key, value] : fields_.context) {
    if (key == name) return {Value::text(value)};
  }
  return Extracted::miss(MissReason::absent);
}

Extracted CheckReader::metadata(policies::Arena&,
                                std::span<const policies::PathStep> path) const noexcept {
  if (path.size() < 2 || path[0].is_index) return Extracted::miss(MissReason::absent);
  const google::protobuf::Struct* space = name_space(fields_.metadata, path[0].name);
  if (space == nullptr) space = name_space(fields_.route_metadata, path[0].name);
  if (space == nullptr || path[1].is_index) return Extracted::miss(MissReason::absent);
  const google::protobuf::Value* value = member(*space, path[1].name);
  for (std::size_t i = 2; value != nullptr && i < path.size(); ++i) value = step(*value, path[i]);
  return value == nullptr ? Extracted::miss(MissReason::absent) : value_of(*value);
}

}  // namespace weir::authz
