#include "authz/answer.h"

#include <array>
#include <charconv>

#include "core/chars/ascii.h"
#include "core/http_status.h"
#include "net/http/fields.h"

namespace weir::authz {
namespace {

void append_number(std::string& out, std::uint64_t n) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), n).ptr;
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

void append_start(std::string& out, int status, std::string_view date) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::uint64_t>(status));
  out += ' ';
  out += reason_phrase(status);
  out += "\r\nDate: ";
  out += date;
  out += "\r\n";
}

void append_end(std::string& out, std::string_view content_type, std::string_view body,
                const AnswerFrame& frame) {
  if (!content_type.empty()) out.append("Content-Type: ").append(content_type).append("\r\n");
  out += "Content-Length: ";
  append_number(out, content_type.empty() ? 0 : body.size());
  out += "\r\n";
  if (!frame.keep_alive) {
    out += "Connection: close\r\n";
  } else if (frame.http_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  if (!content_type.empty() && !frame.head_only) out += body;
}

/// Headers of weir that an app may believe. A header that an answer lacks is removed from the
/// request, if the caller supports that; if the caller copies the answer's headers, it may need all
/// of them.
constexpr std::string_view kForApp[] = {"X-Weir-Verdict", "X-Weir-Policy", "X-Weir-Score",
                                        kRequestId};

/// How a client could spell them for an app that reads a dot as PHP does, like a hyphen. Envoy may
/// pass only some headers on to weir, so these are removed without a look. Spellings with an
/// underscore are dropped by `headers_with_underscores_action` (docs/integrations/envoy.md).
constexpr std::string_view kDotted =
    "x.weir.verdict, x.weir-verdict, x-weir.verdict, x.weir.policy, x.weir-policy, x-weir.policy, "
    "x.weir.score, x.weir-score, x-weir.score, x.weir.request.id, x.weir.request-id, "
    "x.weir-request.id, x.weir-request-id, x-weir.request.id, x-weir.request-id, "
    "x-weir-request.id";

bool has_line(std::string_view lines, std::string_view name) noexcept {
  while (!lines.empty()) {
    const std::size_t colon = lines.find(':');
    if (net::same_ignoring_case(lines.substr(0, colon), name)) return true;
    const std::size_t end = lines.find("\r\n");
    if (end == std::string_view::npos) return false;
    lines.remove_prefix(end + 2);
  }
  return false;
}

}  // namespace

void append_allowed(std::string& out, const CallerRow& caller, const Effect& effect,
                    const gate::Unsettled::Id* id, const AnswerFrame& frame) {
  append_start(out, 200, frame.date);
  out += effect.upstream_headers;
  if (id != nullptr) {
    out.append(kRequestId).append(": ").append(id->data(), id->size()).append("\r\n");
  }
  out += effect.response_headers;
  if (caller.envoy) out.append("x-envoy-auth-headers-to-remove: ").append(kDotted);
  for (const std::string_view name : kForApp) {
    const bool there = name == kRequestId ? id != nullptr : has_line(effect.upstream_headers, name);
    if (there) continue;
    if (caller.wants_all_fields) {
      out.append(name).append(":\r\n");
    } else if (caller.envoy) {
      out += ", ";
      for (const char c : name) out += ascii::lower(c);
    }
  }
  if (caller.envoy) out += "\r\n";
  append_end(out, {}, {}, frame);
}

int append_refused(std::string& out, const Door& door, const Effect& effect,
                   const AnswerFrame& frame) {
  const int status = door.refusal_status(effect.status);
  append_start(out, status, frame.date);
  if (status != effect.status) {
    out += "X-Weir-Status: ";
    append_number(out, effect.status);
    out += "\r\n";
  }
  out += effect.response_headers;
  append_end(out, effect.content_type, effect.body, frame);
  return status;
}

void append_problem(std::string& out, int status, std::string_view detail, std::string_view lines,
                    const AnswerFrame& frame) {
  append_start(out, status, frame.date);
  out += lines;
  std::string_view body = problem_body(status);
  const std::size_t end = body.rfind('}');
  if (detail.empty() || end == std::string_view::npos)
    return append_end(out, body.empty() ? "" : "application/problem+json", body, frame);
  std::string text(body.substr(0, end));
  text.append(",\"detail\":\"").append(detail).append("\"}\n");
  append_end(out, "application/problem+json", text, frame);
}

}  // namespace weir::authz
