#pragma once

#include <cstddef>
#include <string_view>

#include "core/chars/ascii.h"

/// Small words on ASCII text, as HTTP compares it.
namespace weir::policies {

/// U+FEFF in UTF-8, which some programs write before a text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Whether `text`, in any letter case, is `lower` (which is in lower case).
constexpr bool equals_ignoring_case(std::string_view text, std::string_view lower) noexcept {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (ascii::lower(text[i]) != lower[i]) return false;
  }
  return true;
}

/// Cuts off and returns what stands before the first `separator`, or everything.
constexpr std::string_view next_part(std::string_view& rest, char separator) noexcept {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

}  // namespace weir::policies
