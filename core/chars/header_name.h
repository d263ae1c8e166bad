#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

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

/// Whether some app takes both names for one: CGI and its successors make one variable of them.
constexpr bool same_cgi_name(std::string_view a, std::string_view b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return folded_in_header_name(x) == folded_in_header_name(y);
         });
}

}  // namespace weir
