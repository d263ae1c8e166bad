#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "core/http_status.h"

/// Parts of the head of an answer that weir writes itself, for any `out` with append(string_view).
namespace weir::net {

template <class Out>
void append_number(Out& out, std::uint64_t n) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), n).ptr;
  out.append(std::string_view(text.data(), static_cast<std::size_t>(end - text.data())));
}

/// The status line, and Date.
template <class Out>
void append_status(Out& out, int status, std::string_view date) {
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(status));
  out.append(" ");
  out.append(reason_phrase(status));
  out.append("\r\nDate: ");
  out.append(date);
  out.append("\r\n");
}

/// Appends Content-Type and Content-Length. An empty type is left out.
template <class Out>
void append_content(Out& out, std::string_view content_type, std::string_view body) {
  if (!content_type.empty()) {
    out.append("Content-Type: ");
    out.append(content_type);
    out.append("\r\n");
  }
  out.append("Content-Length: ");
  append_number(out, content_type.empty() ? 0 : body.size());
  out.append("\r\n");
}

/// Connection where the peer would think otherwise, and the empty line that ends the head.
template <class Out>
void append_head_end(Out& out, bool keep_alive, bool http_1_0) {
  if (!keep_alive) {
    out.append("Connection: close\r\n");
  } else if (http_1_0) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

}  // namespace weir::net
