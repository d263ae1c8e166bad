#include "authz/answer.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/own_headers.h"
#include "core/http_status.h"
#include "net/http/answer_head.h"
#include "net/http/fields.h"

namespace weir::authz {
namespace {

void append_end(std::string& out, std::string_view content_type, std::string_view body,
                const AnswerFrame& frame) {
  net::append_content(out, content_type, body);
  net::append_head_end(out, frame.keep_alive, frame.http_1_0);
  if (!content_type.empty() && !frame.head_only) out += body;
}

/// How a client could spell the headers of weir for an app that reads a dot as PHP does, like a
/// hyphen. Envoy may pass only some headers on to weir, so these are removed without a look.
/// Spellings with an underscore are dropped by `headers_with_underscores_action`
/// (docs/integrations/envoy.md).
const std::string& dotted() {
  static const std::string names = [] {
    std::string out;
    for (const std::string_view header : kHeadersForApp) {
      const auto marks = std::count(header.begin(), header.end(), '-');
      for (unsigned dots = 1; dots >> marks == 0; ++dots) {
        if (!out.empty()) out += ", ";
        unsigned mark = 0;
        for (const char c : header) {
          const bool dot = c == '-' && (dots >> mark++ & 1) != 0;
          out += dot ? '.' : ascii::lower(c);
        }
      }
    }
    return out;
  }();
  return names;
}

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

void find_forged(const net::FieldList& fields, std::vector<std::string_view>& out) {
  fields.each_special([&](std::size_t i) {
    const std::string_view name = fields.fields[i].name;
    const bool known =
        std::any_of(kHeadersForApp.begin(), kHeadersForApp.end(),
                    [name](auto header) { return net::same_ignoring_case(header, name); });
    if (is_own_header(name) && !known) out.push_back(name);
  });
}

void append_allowed(std::string& out, const CallerRow& caller, const Effect& effect,
                    std::span<const std::string_view> forged, const gate::Unsettled::Id* id,
                    const AnswerFrame& frame) {
  net::append_status(out, 200, frame.date);
  out += effect.upstream_headers;
  if (id != nullptr) {
    out.append(kRequestIdHeader).append(": ").append(id->data(), id->size()).append("\r\n");
  }
  out += effect.response_headers;
  if (caller.envoy) out.append("x-envoy-auth-headers-to-remove: ").append(dotted());
  // If the answer lacks a header, the client's own is removed from the request; a caller that
  // copies the answer's headers may need all of them.
  for (const std::string_view name : kHeadersForApp) {
    const bool there =
        name == kRequestIdHeader ? id != nullptr : has_line(effect.upstream_headers, name);
    if (there) continue;
    if (caller.wants_all_fields) {
      out.append(name).append(":\r\n");
    } else if (caller.envoy) {
      out += ", ";
      for (const char c : name) out += ascii::lower(c);
    }
  }
  if (caller.envoy) {
    for (const std::string_view name : forged) out.append(", ").append(name);
    out += "\r\n";
  }
  append_end(out, {}, {}, frame);
}

int append_refused(std::string& out, const Door& door, const Effect& effect,
                   const AnswerFrame& frame) {
  const int status = door.refusal_status(effect.status);
  net::append_status(out, status, frame.date);
  if (status != effect.status) {
    out += "X-Weir-Status: ";
    net::append_number(out, effect.status);
    out += "\r\n";
  }
  out += effect.response_headers;
  append_end(out, effect.content_type, effect.body, frame);
  return status;
}

void append_problem(std::string& out, int status, std::string_view detail, std::string_view lines,
                    const AnswerFrame& frame) {
  net::append_status(out, status, frame.date);
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
