#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

/// A character of UTF-8 text. Length, in bytes, 0: malformed.
struct Utf8 {
  char32_t code = 0;
  std::size_t length = 0;
};

/// The character at the start of `text`, which is not empty, by RFC 3629: shortest form only, no
/// surrogates, nothing above U+10FFFF. Pure.
Utf8 decode_utf8(std::string_view text) noexcept;

}  // namespace weir
