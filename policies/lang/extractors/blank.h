#pragma once

#include <string_view>

namespace weir::policies {

/// Whether trimming removes this character in some common language: the union of JavaScript's
/// trim(), Go's TrimSpace, Python's strip(), Java's trim() and strip(), PHP's trim(), Ruby's strip
/// and .NET's Trim() (today's and that of .NET Framework). These are U+0000 to U+0020, U+0085,
/// U+00A0, U+1680, U+180E, U+2000 to U+200B, U+2028, U+2029, U+202F, U+205F, U+3000 and U+FEFF.
constexpr bool is_trimmed(char32_t c) noexcept {
  if (c <= 0x20) return true;
  if (c < 0x85) return false;
  switch (c) {
    case 0x85:
    case 0xa0:
    case 0x1680:
    case 0x180e:
    case 0x2028:
    case 0x2029:
    case 0x202f:
    case 0x205f:
    case 0x3000:
    case 0xfeff:
      return true;
    default:
      return c >= 0x2000 && c <= 0x200b;
  }
}

/// UTF-8 text without such characters at both ends. Bytes that are not UTF-8 stay. Pure, no
/// allocation.
std::string_view trim_blanks(std::string_view text) noexcept;

}  // namespace weir::policies
