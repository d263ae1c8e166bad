#include "authz/rate_limit_messages.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <limits>

#include "authz/header_lines.h"
#include "authz/wire_fields.h"
#include "core/number.h"
#include "core/utf8.h"

namespace weir::authz {
namespace {

namespace rls = envoy::service::ratelimit::v3;
using envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
using google::protobuf::Struct;

constexpr std::int64_t kHitsMax = kExactInteger;
constexpr std::int64_t kUint32Max = std::numeric_limits<std::uint32_t>::max();

std::uint32_t narrow(std::int64_t number) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, kUint32Max));
}

/// Each `Name: value` line as a header value.
template <class Add>
void add_lines(std::string_view lines, Add add) {
  for_each_line(lines, [&](std::string_view name, std::string_view value) {
    if (!is_utf8(name) || !is_utf8(value)) return;
    auto* header = add();
    // Envoy's own are in lower case, and it refuses none that is not.
    header->mutable_key()->assign(name);
    header->mutable_value()->assign(value);
  });
}

void put(const boost::json::value& from, google::protobuf::Value& to, int depth);

void merge(const boost::json::object& from, Struct& to, int depth) {
  for (const auto& [key, value] : from) {
    google::protobuf::Value& slot = (*to.mutable_fields())[std::string(key)];
    const bool both = value.is_object() && slot.has_struct_value();
    if (both && depth < 16) {
      merge(value.get_object(), *slot.mutable_struct_value(), depth + 1);
    } else if (slot.kind_case() == google::protobuf::Value::KIND_NOT_SET) {
      put(value, slot, depth);  // the first value stays
    }
  }
}

void put(const boost::json::value& from, google::protobuf::Value& to, int depth) {
  if (depth > 16) return to.set_null_value(google::protobuf::NULL_VALUE);
  switch (from.kind()) {
    case boost::json::kind::null:
      return to.set_null_value(google::protobuf::NULL_VALUE);
    case boost::json::kind::bool_:
      return to.set_bool_value(from.get_bool());
    case boost::json::kind::int64:
      return to.set_number_value(static_cast<double>(from.get_int64()));
    case boost::json::kind::uint64:
      return to.set_number_value(static_cast<double>(from.get_uint64()));
    case boost::json::kind::double_:
      return to.set_number_value(from.get_double());
    case boost::json::kind::string:
      return to.set_string_value(std::string(from.get_string()));
    case boost::json::kind::array:
      for (const auto& item : from.get_array())
        put(item, *to.mutable_list_value()->add_values(), depth + 1);
      return;
    case boost::json::kind::object:
      merge(from.get_object(), *to.mutable_struct_value(), depth + 1);
      return;
  }
}

/// A limit that a call brings along, as protobuf's text.
std::string text_of(const RateLimitDescriptor::RateLimitOverride& limit) {
  static constexpr const char* kOverrideUnits[] = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                                                   "DAY",     "MONTH",  "YEAR"};
  std::string out;
  if (limit.requests_per_unit() != 0)
    out = "requests_per_unit:" + std::to_string(limit.requests_per_unit());
  const auto unit = static_cast<std::size_t>(limit.unit());
  if (unit != 0 && unit < std::size(kOverrideUnits))
    out.append(out.empty() ? "" : " ").append("unit:").append(kOverrideUnits[unit]);
  return out;
}

/// The question, and the metadata of the rules that pass, in the form of envoyproxy/ratelimit.
void write_metadata(const RateLimitCall& call, const rls::RateLimitRequest& request, Struct& out) {
  auto& fields = *out.mutable_fields();
  fields["domain"].set_string_value(request.domain());
  auto& descriptors = *fields["descriptors"].mutable_list_value();
  for (const auto& descriptor : request.descriptors()) {
    auto& one = *descriptors.add_values()->mutable_struct_value()->mutable_fields();
    auto& entries = *one["entries"].mutable_list_value();
    for (const auto& entry : descriptor.entries())
      entries.add_values()->set_string_value(entry.key() + "=" + entry.value());
    if (descriptor.has_limit()) one["limit"].set_string_value(text_of(descriptor.limit()));
    if (descriptor.has_hits_addend())
      one["hitsAddend"].set_number_value(static_cast<double>(descriptor.hits_addend().value()));
  }
  if (request.hits_addend() != 0) fields["hitsAddend"].set_number_value(request.hits_addend());
  if (call.metadata().empty()) return;
  Struct& metadata = *fields["metadata"].mutable_struct_value();
  for (const std::string& text : call.metadata()) {
    boost::json::error_code wrong;
    const boost::json::value value = boost::json::parse(text, wrong);
    if (!wrong && value.is_object()) merge(value.get_object(), metadata, 0);
  }
}

}  // namespace

RequestSize size_of(std::string_view request) noexcept {
  std::size_t descriptors = 0;
  WireFields fields(request);
  while (fields.next()) {
    if (fields.tag() != length_delimited(rls::RateLimitRequest::kDescriptorsFieldNumber)) continue;
    if (++descriptors > RateLimitCall::kDescriptorsMax) return RequestSize::too_large;
    std::size_t entries = 0;
    WireFields descriptor(fields.bytes());
    while (descriptor.next()) {
      constexpr auto kEntries = length_delimited(RateLimitDescriptor::kEntriesFieldNumber);
      if (descriptor.tag() == kEntries && ++entries > RateLimitCall::kEntriesMax)
        return RequestSize::too_large;
    }
    if (!descriptor.is_sound()) return RequestSize::unreadable;
  }
  return fields.is_sound() ? RequestSize::fits : RequestSize::unreadable;
}

std::int64_t read_request(const rls::RateLimitRequest& request, RateLimitCall& call) {
  std::int64_t given_back = 0;
  call.begin(request.domain());
  const std::int64_t hits = std::max<std::int64_t>(1, request.hits_addend());
  for (const auto& descriptor : request.descriptors()) {
    Descriptor& out = call.add();
    out.hits = hits;
    if (descriptor.has_hits_addend()) {
      out.hits = static_cast<std::int64_t>(
          std::min<std::uint64_t>(descriptor.hits_addend().value(), kHitsMax));
    }
    // A counter that refuses takes nothing back: hits that are given back only look.
    if (descriptor.is_negative_hits()) {
      out.hits = 0;
      ++given_back;
    }
    if (descriptor.has_limit()) {
      const int unit = descriptor.limit().unit();
      out.limit = {descriptor.limit().requests_per_unit(),
                   unit >= 1 && unit <= 6 ? static_cast<RateUnit>(unit) : RateUnit::unknown};
    }
    for (const auto& entry : descriptor.entries()) call.add_entry(entry.key(), entry.value());
  }
  return given_back;
}

void write_response(const RateLimitCall& call, const policies::PolicySet& set,
                    const rls::RateLimitRequest& request, rls::RateLimitResponse& response) {
  response.set_overall_code(call.is_over() ? rls::RateLimitResponse::OVER_LIMIT
                                           : rls::RateLimitResponse::OK);
  for (std::size_t i = 0; i < call.size(); ++i) {
    const RateLimitCall::Status& status = call.status(i);
    auto& out = *response.add_statuses();
    out.set_code(status.what.over ? rls::RateLimitResponse::OVER_LIMIT
                                  : rls::RateLimitResponse::OK);
    if (status.what.has_limit) {
      auto& limit = *out.mutable_current_limit();
      limit.set_requests_per_unit(narrow(status.what.requests));
      limit.set_unit(static_cast<rls::RateLimitResponse::RateLimit::Unit>(status.what.unit));
      if (is_utf8(status.name)) limit.set_name(status.name);
      out.set_limit_remaining(narrow(status.what.remaining));
    } else if (status.what.unlimited && !status.what.over) {
      out.set_limit_remaining(narrow(kUint32Max));
    }
    const std::int64_t reset = policies::reset_seconds(status.what.reset);
    if (reset > 0) out.mutable_duration_until_reset()->set_seconds(reset);
  }
  add_lines(call.request_lines(), [&] { return response.add_request_headers_to_add(); });
  add_lines(call.response_lines(), [&] { return response.add_response_headers_to_add(); });
  const RateLimitCall::Status* const scarce = call.scarcest();
  if (scarce != nullptr && !set.ratelimit.limit_header.empty()) {
    const auto add = [&](const std::string& name, std::int64_t number) {
      auto* header = response.add_response_headers_to_add();
      header->set_key(name);
      header->set_value(std::to_string(number));
    };
    add(set.ratelimit.limit_header, scarce->what.requests);
    add(set.ratelimit.remaining_header, scarce->what.remaining);
    add(set.ratelimit.reset_header, policies::reset_seconds(scarce->what.reset));
  }
  if (call.is_over() && !call.body().empty()) {
    response.set_raw_body(call.body().data(), call.body().size());
    if (!call.content_type().empty() && is_utf8(call.content_type())) {
      auto* const header = response.add_response_headers_to_add();  // else Envoy writes text/plain
      header->set_key("content-type");
      header->set_value(call.content_type().data(), call.content_type().size());
    }
  }
  if (set.ratelimit.metadata) write_metadata(call, request, *response.mutable_dynamic_metadata());
}

}  // namespace weir::authz
