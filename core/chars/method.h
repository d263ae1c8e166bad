#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/chars/ascii.h"

/// The methods that weir takes from clients, apps, logs and configurations. Pure, thread-safe.
namespace weir {

inline constexpr std::size_t kMethodMax = 32;  ///< characters

/// Methods are case-sensitive (RFC 9110, 9.1), but some servers fold them: `post` must not get past
/// a policy for POST, so lower-case letters are refused.
constexpr bool is_method_character(char c) noexcept {
  return ascii::is_upper(c) || ascii::is_digit(c) || c == '-' || c == '_';
}

constexpr bool is_method(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMethodMax &&
         std::all_of(text.begin(), text.end(), is_method_character);
}

}  // namespace weir
