#include "core/visible.h"

#include <algorithm>
#include <array>

#include "core/chars/hex.h"
#include "core/utf8.h"

namespace weir {
namespace {

struct Range {
  char32_t first, last;
};

// By Unicode: Cc, Zl, Zp, Cf, and letters that are drawn as nothing (Hangul fillers and the like).
constexpr std::array<Range, 24> kHidden{
    {{0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
     {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
     {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
     {0x3164, 0x3164},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
     {0x110bd, 0x110cd}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}}};

void append_unit(std::string& out, unsigned unit) { append_hex(out += "\\u", unit, 4); }

}  // namespace

bool is_hidden(char32_t code) noexcept {
  if (code >= 0x20 && code < 0x7f) return false;
  const auto* const after = std::upper_bound(
      kHidden.begin(), kHidden.end(), code, [](char32_t c, const Range& r) { return c < r.first; });
  return after != kHidden.begin() && code <= (after - 1)->last;
}

void append_escape(std::string& out, char32_t code) {
  if (code < 0x10000) return append_unit(out, static_cast<unsigned>(code));
  const auto rest = static_cast<unsigned>(code) - 0x10000;
  append_unit(out, 0xd800 + (rest >> 10));
  append_unit(out, 0xdc00 + (rest & 0x3ff));
}

std::string escape_hidden(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, length] = decode_utf8(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (code != '\n' && is_hidden(code)) {
      append_escape(out, code);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace weir
