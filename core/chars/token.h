#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

/// The characters of a field name, a method or a media type. Pure, thread-safe.
namespace weir {

namespace chars {
/// token characters of RFC 9110, 5.6.2.
inline constexpr auto kTokenCharacters = [] {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c :
       {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();
}  // namespace chars

constexpr bool is_token(char c) noexcept {
  return chars::kTokenCharacters[static_cast<unsigned char>(c)];
}

/// Whether `text` is a token: not empty, and of such characters only.
constexpr bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return is_token(c); });
}

}  // namespace weir
