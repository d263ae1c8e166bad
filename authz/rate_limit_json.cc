#include "authz/rate_limit_json.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "authz/rate_limit_call.h"
#include "core/chars/ascii.h"
#include "core/json_numbers.h"
#include "core/utf8.h"
#include "net/http/fields.h"

namespace weir::authz {
namespace {

namespace json = boost::json;
namespace rls = envoy::service::ratelimit::v3;
using JsonDescriptor = envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;

constexpr auto kUnits = std::to_array<std::string_view>(
    {"UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"});
static_assert(kUnits.size() == static_cast<std::size_t>(RateUnit::week) + 1);
constexpr auto kCodes = std::to_array<std::string_view>({"UNKNOWN", "OK", "OVER_LIMIT"});
static_assert(kCodes.size() == static_cast<std::size_t>(rls::RateLimitResponse::OVER_LIMIT) + 1);

/// Finds a member that occurs twice in one object, in either of its spellings (`hitsAddend`,
/// `hits_addend`): protobuf's JSON rejects such a text, and neither of two values is the right one.
class Twice {
 public:
  // The interface that boost::json::basic_parser requires; texts may come in parts.
  static constexpr auto kAny = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_object_size = kAny, max_array_size = kAny;
  static constexpr std::size_t max_key_size = kAny, max_string_size = kAny;
  using Error = boost::system::error_code;
  using Text = json::string_view;
  bool on_object_begin(Error&) { return objects_.emplace_back(), true; }
  bool on_object_end(std::size_t, Error&) { return objects_.pop_back(), true; }
  bool on_key_part(Text part, std::size_t, Error&) { return name_.append(part), true; }
  bool on_key(Text part, std::size_t, Error&) {
    name_.append(part);
    std::string plain;
    for (const char c : name_) {
      if (c != '_') plain += ascii::lower(c);
    }
    const bool is_new = objects_.back().insert(std::move(plain)).second;
    if (!is_new && name.empty()) name = name_;
    name_.clear();
    return true;
  }
  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_array_begin(Error&) { return true; }
  bool on_array_end(std::size_t, Error&) { return true; }
  bool on_string_part(Text, std::size_t, Error&) { return true; }
  bool on_string(Text, std::size_t, Error&) { return true; }
  bool on_number_part(Text, Error&) { return true; }
  bool on_int64(std::int64_t, Text, Error&) { return true; }
  bool on_uint64(std::uint64_t, Text, Error&) { return true; }
  bool on_double(double, Text, Error&) { return true; }
  bool on_bool(bool, Error&) { return true; }
  bool on_null(Error&) { return true; }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }

  std::string name;  ///< the member that is there twice; empty: none

 private:
  std::vector<std::set<std::string>> objects_;  // names in the open ones
  std::string name_;
};

/// A request as it is read; the first thing that is wrong stays.
class RequestReader {
 public:
  std::string wrong;

  void request(const json::value& value, rls::RateLimitRequest& out) {
    members(value, "the request", [&](std::string_view name, const json::value& of) {
      if (name == "domain") {
        text(of, name, *out.mutable_domain());
      } else if (name == "descriptors") {
        list(of, name, RateLimitCall::kDescriptorsMax,
             [&](const json::value& one) { descriptor(one, *out.add_descriptors()); });
      } else if (name == "hitsAddend" || name == "hits_addend") {
        if (const auto hits = number(of, name, kUint32)) {
          out.set_hits_addend(static_cast<std::uint32_t>(*hits));
        }
      } else {
        unknown(name, "a request");
      }
    });
  }

 private:
  static constexpr std::uint64_t kUint32 = std::numeric_limits<std::uint32_t>::max();

  /// The first thing that is wrong, in pieces: `what why`. Out of line: GCC 12 warns of the moves
  /// of strings that it inlines here.
  [[gnu::noinline]] void fail(std::string_view what, std::string_view why = {}) {
    if (wrong.empty()) wrong.append(what).append(why);
  }
  void fail_quoted(std::string_view what, std::string_view why) {
    fail("\"" + std::string(what) + '"', why);
  }
  void unknown(std::string_view name, std::string_view where) {
    fail_quoted(name, " is not a member of " + std::string(where));
  }

  template <class F>
  void members(const json::value& value, std::string_view what, F&& each) {
    if (!value.is_object()) return fail(what, " is not an object");
    for (const auto& [name, of] : value.get_object()) {
      if (!of.is_null()) each(std::string_view(name), of);
    }
  }
  template <class F>
  void list(const json::value& value, std::string_view what, std::size_t most, F&& each) {
    if (!value.is_array()) return fail_quoted(what, " is not a list");
    if (value.get_array().size() > most) return fail(RateLimitCall::kTooLarge);
    for (const json::value& one : value.get_array()) each(one);
  }
  void text(const json::value& value, std::string_view what, std::string& out) {
    if (!value.is_string()) return fail_quoted(what, " is not text");
    out.assign(value.get_string());
  }
  /// A number, or one as a text, as JSON of protobuf has those of 64 bits.
  std::optional<std::uint64_t> number(const json::value& value, std::string_view what,
                                      std::uint64_t most) {
    std::optional<std::uint64_t> out;
    if (value.is_int64() && value.get_int64() >= 0) {
      out = static_cast<std::uint64_t>(value.get_int64());
    } else if (value.is_uint64()) {
      out = value.get_uint64();
    } else if (value.is_double() && value.get_double() >= 0 && value.get_double() < 0x1p63 &&
               std::floor(value.get_double()) == value.get_double()) {
      out = static_cast<std::uint64_t>(value.get_double());
    } else if (value.is_string()) {
      const json::string& text = value.get_string();
      boost::system::error_code error;
      json::value inner;
      if (!text.empty() && ascii::is_digit(text.front()) && ascii::is_digit(text.back()))
        inner = json::parse(text, error);
      if (!error && inner.is_number()) return number(inner, what, most);
    }
    if (out && *out <= most) return out;
    fail_quoted(what, " is not a number from 0 to " + std::to_string(most));
    return std::nullopt;
  }

  void descriptor(const json::value& value, JsonDescriptor& out) {
    members(value, "a descriptor", [&](std::string_view name, const json::value& of) {
      if (name == "entries") {
        list(of, name, RateLimitCall::kEntriesMax,
             [&](const json::value& one) { entry(one, *out.add_entries()); });
      } else if (name == "limit") {
        limit(of, *out.mutable_limit());
      } else if (name == "hitsAddend" || name == "hits_addend") {
        if (const auto hits = number(of, name, std::numeric_limits<std::uint64_t>::max()))
          out.mutable_hits_addend()->set_value(*hits);
      } else if (name == "isNegativeHits" || name == "is_negative_hits") {
        if (!of.is_bool()) return fail("\"isNegativeHits\" is true or false");
        out.set_is_negative_hits(of.get_bool());
      } else {
        unknown(name, "a descriptor");
      }
    });
  }

  void entry(const json::value& value, JsonDescriptor::Entry& out) {
    members(value, "an entry", [&](std::string_view name, const json::value& of) {
      if (name == "key") {
        text(of, name, *out.mutable_key());
      } else if (name == "value") {
        text(of, name, *out.mutable_value());
      } else {
        unknown(name, "an entry");
      }
    });
  }

  void limit(const json::value& value, JsonDescriptor::RateLimitOverride& out) {
    members(value, "\"limit\"", [&](std::string_view name, const json::value& of) {
      if (name == "requestsPerUnit" || name == "requests_per_unit") {
        if (const auto most = number(of, name, kUint32))
          out.set_requests_per_unit(static_cast<std::uint32_t>(*most));
      } else if (name == "unit") {
        unit(of, out);
      } else {
        unknown(name, "a limit");
      }
    });
  }

  void unit(const json::value& value, JsonDescriptor::RateLimitOverride& out) {
    // The units that a call may bring along have no WEEK.
    const auto end = kUnits.end() - 1;
    if (value.is_string()) {
      const auto found = std::find(kUnits.begin(), end, std::string_view(value.get_string()));
      if (found == end) return fail("there is no such unit");
      return out.set_unit(static_cast<envoy::type::v3::RateLimitUnit>(found - kUnits.begin()));
    }
    const auto index = number(value, "unit", kUnits.size() - 2);
    if (index) out.set_unit(static_cast<envoy::type::v3::RateLimitUnit>(*index));
  }
};

json::value json_of(const google::protobuf::Value& value, int depth);

json::value json_of(const google::protobuf::Struct& of, int depth) {
  json::object out;
  for (const auto& [name, value] : of.fields()) out[name] = json_of(value, depth + 1);
  return out;
}

json::value json_of(const google::protobuf::Value& value, int depth) {
  using Kind = google::protobuf::Value::KindCase;
  if (depth > 32) return nullptr;
  switch (value.kind_case()) {
    case Kind::kNumberValue:
      return value.number_value();
    case Kind::kStringValue:
      return json::string(value.string_value());
    case Kind::kBoolValue:
      return value.bool_value();
    case Kind::kStructValue:
      return json_of(value.struct_value(), depth + 1);
    case Kind::kListValue: {
      json::array out;
      for (const auto& one : value.list_value().values()) out.push_back(json_of(one, depth + 1));
      return out;
    }
    case Kind::kNullValue:
    case Kind::KIND_NOT_SET:
      break;
  }
  return nullptr;
}

template <class Headers>
json::array headers_of(const Headers& headers) {
  json::array out;
  for (const auto& header : headers) {
    json::object one;
    one["key"] = header.key();
    if (!header.value().empty()) one["value"] = header.value();
    out.push_back(std::move(one));
  }
  return out;
}

json::object json_of(const rls::RateLimitResponse::DescriptorStatus& status) {
  json::object out;
  if (status.code() != 0) out["code"] = kCodes[static_cast<std::size_t>(status.code())];
  if (status.has_current_limit()) {
    const auto& limit = status.current_limit();
    json::object& one = out["currentLimit"].emplace_object();
    if (limit.requests_per_unit() != 0) one["requestsPerUnit"] = limit.requests_per_unit();
    if (limit.unit() != 0) one["unit"] = kUnits[static_cast<std::size_t>(limit.unit())];
    if (!limit.name().empty()) one["name"] = limit.name();
  }
  if (status.limit_remaining() != 0) out["limitRemaining"] = status.limit_remaining();
  if (status.has_duration_until_reset())
    out["durationUntilReset"] = std::to_string(status.duration_until_reset().seconds()) + "s";
  return out;
}

}  // namespace

std::string read_json(std::string_view text, rls::RateLimitRequest& out) {
  if (!is_utf8(text)) return "the body is not UTF-8";
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) return "the body is not JSON";
  json::basic_parser<Twice> twice(json::parse_options{});
  twice.write_some(false, text.data(), text.size(), error);
  if (const std::string& name = twice.handler().name; !name.empty())
    return "\"" + name + "\" is given twice in one object";
  RequestReader reader;
  reader.request(value, out);
  return reader.wrong;
}

std::string to_json(const rls::RateLimitResponse& response) {
  json::object out;
  if (response.overall_code() != 0)
    out["overallCode"] = kCodes[static_cast<std::size_t>(response.overall_code())];
  if (response.statuses_size() > 0) {
    json::array& statuses = out["statuses"].emplace_array();
    for (const auto& status : response.statuses()) statuses.push_back(json_of(status));
  }
  if (response.response_headers_to_add_size() > 0)
    out["responseHeadersToAdd"] = headers_of(response.response_headers_to_add());
  if (response.request_headers_to_add_size() > 0)
    out["requestHeadersToAdd"] = headers_of(response.request_headers_to_add());
  if (const std::string& body = response.raw_body(); !body.empty()) {
    constexpr int kPlain = sodium_base64_VARIANT_ORIGINAL;
    std::string coded(sodium_base64_encoded_len(body.size(), kPlain), '\0');
    sodium_bin2base64(coded.data(), coded.size(),
                      reinterpret_cast<const unsigned char*>(body.data()), body.size(), kPlain);
    coded.pop_back();  // the zero after it
    out["rawBody"] = coded;
  }
  if (response.has_dynamic_metadata())
    out["dynamicMetadata"] = json_of(response.dynamic_metadata(), 0);
  return plain_numbers(json::serialize(out));
}

}  // namespace weir::authz
