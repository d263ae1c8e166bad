#pragma once

#include <cstddef>
#include <string_view>

#include "core/chars/ascii.h"

/// Small words on ASCII text, as HTTP compares it.
namespace weir::policies {

/// U+FEFF in UTF-8, which some programs write before a text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

using ascii::equals_ignoring_case;

/// Cuts off and returns the part before the first `separator`, or everything.
constexpr std::string_view next_part(std::string_view& rest, char separator) noexcept {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return part;
}

}  // namespace weir::policies
