#pragma once

#include <array>
#include <cstddef>

#include "core/chars/ascii.h"

namespace weir {

/// How servers that hand header names on as variables read each character. CGI and the interfaces
/// that follow it (WSGI, Rack, PHP) know letters and digits alone: `-`, `_` and `.` are the same to
/// them, and lighttpd reads every other character that a name may have in the same way.
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
