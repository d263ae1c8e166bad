#pragma once

#include <array>
#include <cstddef>

#include "core/chars/ascii.h"

namespace weir {

/// What a character of a header's name is to servers that hand names on as variables. CGI and its
/// heirs (WSGI, Rack, PHP) know letters and digits alone: `-`, `_` and `.` are one to them, and
/// lighttpd makes the same of every other character that a name may have.
inline constexpr std::array<char, 256> kFoldedInHeaderName = [] {
  std::array<char, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char c = static_cast<char>(i);
    table[i] = ascii::is_letter_or_digit(c) ? ascii::lower(c) : '-';
  }
  return table;
}();
constexpr char folded_in_header_name(char c) noexcept {
  return kFoldedInHeaderName[static_cast<unsigned char>(c)];
}

}  // namespace weir
