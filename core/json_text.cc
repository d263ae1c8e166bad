#include "core/json_text.h"

#include <cstdint>

namespace weir {
namespace {

/// The length of the valid UTF-8 sequence at the start of `text`, 0 if there is none.
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

void append_escaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(c);
  out += "\\u00";
  out += kHex[code >> 4];
  out += kHex[code & 15];
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // up to here nothing needs a change
  const auto flush = [&](std::size_t end) { out.append(text.substr(plain, end - plain)); };
  for (std::size_t i = 0; i < text.size();) {
    const auto code = static_cast<unsigned char>(text[i]);
    if (code >= 0x20 && code < 0x7f && code != '"' && code != '\\') {
      ++i;
      continue;
    }
    const std::size_t length = code < 0x80 ? 0 : sequence_length(text.substr(i));
    const bool control =
        length == 2 && code == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (length > 0 && !control) {
      i += length;
      continue;
    }
    flush(i);
    if (control) {
      append_escaped(out, text[i + 1]);
      plain = i += length;
      continue;
    }
    if (code < 0x80) {
      append_escaped(out, text[i]);
    } else {
      out += "\xef\xbf\xbd";
    }
    plain = ++i;
  }
  flush(text.size());
  out += '"';
}

}  // namespace weir
