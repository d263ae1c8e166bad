#include "core/utf8.h"

#include <algorithm>
#include <array>

#include "core/assert.h"

namespace weir {

Utf8 decode_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead < 0xC2   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || length > text.size()) return {};
  char32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3Fu);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

void append_utf8(std::string& out, char32_t code) {
  WEIR_ASSERT(code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF));
  const auto add = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

bool is_utf8(std::string_view text) noexcept {
  constexpr std::size_t kStep = 64;  // bytes that are looked at together while they are ASCII
  while (!text.empty()) {
    const std::size_t ahead = std::min(text.size(), kStep);
    if (is_ascii(text.substr(0, ahead))) {
      text.remove_prefix(ahead);
      continue;
    }
    for (std::size_t read = 0; read < ahead;) {
      const std::size_t length = decode_utf8(text).length;
      if (length == 0) return false;
      text.remove_prefix(length);
      read += length;
    }
  }
  return true;
}

}  // namespace weir
