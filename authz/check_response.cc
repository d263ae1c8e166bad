#include "authz/check_response.h"

#include <algorithm>
#include <string>

#include "authz/answer.h"
#include "authz/header_lines.h"
#include "core/chars/ascii.h"
#include "core/chars/own_headers.h"
#include "core/http_status.h"
#include "core/number.h"
#include "core/utf8.h"
#include "net/http/fields.h"

namespace weir::authz {
namespace {

using envoy::config::core::v3::HeaderValueOption;

/// Codes of google.rpc.Code; Envoy looks at 0 or not, logs and people at the rest.
constexpr int kPermissionDenied = 7, kResourceExhausted = 8, kUnauthenticated = 16;

bool is_sound(std::string_view text, bool lines) noexcept {
  while (!text.empty()) {
    const Utf8 character = decode_utf8(text);
    if (character.length == 0) return false;
    const char c = text.front();
    if (ascii::is_control_but_tab(c) && !(lines && (c == '\n' || c == '\r'))) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

/// `text` as Envoy takes it. `lines`: a body, which may have several.
void put_text(std::string& out, std::string_view text, bool lines) {
  if (is_sound(text, lines)) [[likely]] {
    out.assign(text);
    return;
  }
  out.clear();
  while (!text.empty()) {
    const std::size_t length = decode_utf8(text).length;
    const std::string_view one = text.substr(0, std::max<std::size_t>(length, 1));
    if (is_sound(one, lines)) {
      out.append(one);
    } else {
      out.push_back('?');
    }
    text.remove_prefix(one.size());
  }
}

/// Older Envoys read `append` only, newer ones read `append_action` if it is present: both mean the
/// same here.
void overwrite(HeaderValueOption& option) {
  option.mutable_append()->set_value(false);
  option.set_append_action(HeaderValueOption::OVERWRITE_IF_EXISTS_OR_ADD);
}

/// Envoy's names of headers are in lower case.
void put_name(std::string& out, std::string_view name) {
  out.resize(name.size());
  std::transform(name.begin(), name.end(), out.begin(), ascii::lower);
}

void put_header(HeaderValueOption& option, std::string_view name, std::string_view value) {
  auto& header = *option.mutable_header();
  put_name(*header.mutable_key(), name);
  put_text(*header.mutable_value(), value, false);
}

void put_metadata(CheckResponse& out, std::string_view key, std::string_view text) {
  put_text(
      *(*out.mutable_dynamic_metadata()->mutable_fields())[std::string(key)].mutable_string_value(),
      text, false);
}

/// Numbers beyond 2^53 lose digits as doubles, so they are sent as texts.
void put_metadata(CheckResponse& out, std::string_view key, Number number) {
  constexpr double kMost = kExactInteger;
  const double real = number.as_real();
  if (number.is_finite() && real > -kMost && real < kMost) {
    (*out.mutable_dynamic_metadata()->mutable_fields())[std::string(key)].set_number_value(real);
    return;
  }
  char text[32];
  put_metadata(out, key, std::string_view(text, number.to_chars(text)));
}

void put_cause(CheckResponse& out, const Effect::Cause& cause) {
  if (cause.name.empty()) return;
  put_metadata(out, cause.is_list ? "list" : "policy", cause.name);
  if (!cause.verdict.empty()) put_metadata(out, "verdict", cause.verdict);
  if (cause.rung >= 0) put_metadata(out, "rung", Number{cause.rung});
  if (cause.value) put_metadata(out, "value", *cause.value);
  if (cause.limit) put_metadata(out, "limit", *cause.limit);
  if (cause.in_flight != 0) put_metadata(out, "in_flight", Number{cause.in_flight});
  if (cause.possible)
    (*out.mutable_dynamic_metadata()->mutable_fields())["possible"].set_bool_value(true);
}

}  // namespace

bool says_nothing(const Effect& effect, const std::vector<std::string_view>& forged) noexcept {
  return effect.upstream_headers.empty() && effect.response_headers.empty() &&
         effect.cause.name.empty() && forged.empty();
}

void fill_allowed(CheckResponse& out, const Effect& effect,
                  const std::vector<std::string_view>& forged, const gate::Unsettled::Id* id) {
  out.mutable_status()->set_code(0);
  auto& ok = *out.mutable_ok_response();
  const auto set = [&](std::string_view name, std::string_view value) {
    HeaderValueOption& option = *ok.add_headers();
    put_header(option, name, value);
    overwrite(option);
  };
  for_each_line(effect.upstream_headers, set);
  // After the headers are set, Envoy takes these away: so none that was set.
  const auto is_set = [&](std::string_view name) {
    return std::any_of(ok.headers().begin(), ok.headers().end(), [&](const auto& h) {
      return net::same_ignoring_case(h.header().key(), name);
    });
  };
  for (const std::string_view name : kHeadersForApp) {
    if (!is_set(name)) put_name(*ok.add_headers_to_remove(), name);
  }
  for (const std::string_view name : forged) {
    const bool ours =
        std::any_of(kHeadersForApp.begin(), kHeadersForApp.end(),
                    [name](auto header) { return net::same_ignoring_case(header, name); });
    if (!ours && is_sound(name, false)) ok.add_headers_to_remove()->assign(name);
  }
  for_each_line(effect.response_headers, [&](std::string_view name, std::string_view value) {
    put_header(*ok.add_response_headers_to_add(), name, value);
  });
  put_cause(out, effect.cause);
  if (id != nullptr) add_request_id(out, *id);
}

void fill_refused(CheckResponse& out, const Effect& effect) {
  out.mutable_status()->set_code(effect.status == 401   ? kUnauthenticated
                                 : effect.status == 429 ? kResourceExhausted
                                                        : kPermissionDenied);
  auto& denied = *out.mutable_denied_response();
  denied.mutable_status()->set_code(effect.status);
  const auto set = [&](std::string_view name, std::string_view value) {
    HeaderValueOption& option = *denied.add_headers();
    put_header(option, name, value);
    overwrite(option);
  };
  if (!effect.content_type.empty()) {
    set("content-type", effect.content_type);
    put_text(*denied.mutable_body(), effect.body, true);
  }
  for_each_line(effect.response_headers, set);
  put_cause(out, effect.cause);
}

void fill_problem(CheckResponse& out, int status, std::string_view detail) {
  std::string body(problem_body(status));
  if (const std::size_t end = body.rfind('}'); !detail.empty() && end != std::string::npos)
    body.insert(end, ",\"detail\":\"" + std::string(detail) + "\"");
  Effect effect;
  effect.status = static_cast<std::uint16_t>(status);
  effect.content_type = body.empty() ? "" : "application/problem+json";
  effect.body = body;
  fill_refused(out, effect);
}

void fill_error(CheckResponse& out, int code) {
  fill_problem(out, 503, {});
  out.mutable_status()->set_code(code);
  auto& error = *out.mutable_error_response();  // of one oneof with denied_response
  error.mutable_status()->set_code(503);
  HeaderValueOption& retry = *error.add_headers();
  put_header(retry, "retry-after", "1");
  overwrite(retry);
}

void add_request_id(CheckResponse& out, const gate::Unsettled::Id& id) {
  const std::string_view text(id.data(), id.size());
  auto& ok = *out.mutable_ok_response();
  HeaderValueOption& option = *ok.add_headers();
  put_header(option, kRequestIdHeader, text);
  overwrite(option);
  auto& gone = *ok.mutable_headers_to_remove();
  const auto at = std::find(gone.begin(), gone.end(), option.header().key());
  if (at != gone.end()) gone.DeleteSubrange(static_cast<int>(at - gone.begin()), 1);
  put_metadata(out, "request_id", text);
}

}  // namespace weir::authz
