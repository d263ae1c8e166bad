#include "policies/lang/extractors/blank.h"

#include <algorithm>
#include <cstddef>

#include "core/utf8.h"

namespace weir::policies {
namespace {

/// Bytes of the character at the end of `text`, which is not empty, if trimming removes it; else 0.
std::size_t trimmed_at_end(std::string_view text) noexcept {
  constexpr std::size_t kLongest = 3;  // bytes of such a character
  for (std::size_t size = 1; size <= std::min(kLongest, text.size()); ++size) {
    const std::string_view last = text.substr(text.size() - size);
    if ((static_cast<unsigned char>(last.front()) & 0xc0) == 0x80) continue;
    const Utf8 got = decode_utf8(last);
    return got.length == size && is_trimmed(got.code) ? size : 0;
  }
  return 0;
}

}  // namespace

std::string_view trim_blanks(std::string_view text) noexcept {
  while (!text.empty()) {
    const Utf8 got = decode_utf8(text);
    if (got.length == 0 || !is_trimmed(got.code)) break;
    text.remove_prefix(got.length);
  }
  while (!text.empty()) {
    const std::size_t size = trimmed_at_end(text);
    if (size == 0) break;
    text.remove_suffix(size);
  }
  return text;
}

}  // namespace weir::policies
