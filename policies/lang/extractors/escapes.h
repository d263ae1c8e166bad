#pragma once

#include <cstddef>
#include <string_view>

#include "core/chars/hex.h"

/// Percent escapes, one byte at a time.
namespace weir::policies {

/// The byte that the escape at `at` (which is at a `%`) encodes; -1 if it is broken.
constexpr int escaped_byte(std::string_view text, std::size_t at) noexcept {
  if (text.size() - at < 3) return -1;
  const int high = hex_value(text[at + 1]), low = hex_value(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace weir::policies
