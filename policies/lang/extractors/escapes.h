#pragma once

#include <cstddef>
#include <string_view>

/// Percent escapes, one byte at a time.
namespace weir::policies {

constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The byte that the escape at `at` (which is at a `%`) stands for; -1 if it is broken.
constexpr int escaped_byte(std::string_view text, std::size_t at) noexcept {
  if (text.size() - at < 3) return -1;
  const int high = hex_digit(text[at + 1]), low = hex_digit(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace weir::policies
