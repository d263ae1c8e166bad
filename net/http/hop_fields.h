#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/http/fields.h"

/// Fields in which a hop in front of the app describes a client: its address, certificate, user,
/// place and path. A text that an app can verify by itself (a signed token) is not here.
/// docs/security.md lists which hop sets which field.
namespace weir::net {

/// The kind of a name that begins with `x-` and that the table of fields.cc does not have: x_weir,
/// x_forwarded_other or plain. `size` > 2. Pure.
FieldKind kind_by_prefix(const char* name, std::size_t size) noexcept;

/// The same of a name that does not begin so. `size` > 1.
FieldKind kind_without_x(const char* name, std::size_t size) noexcept;

inline constexpr std::size_t kShortestOfHops = 7;  ///< `iv-user`, `sm-user`, `real-ip`

/// By first letter (its lower five bits), the second letters of such names without X-, one bit
/// each. Nearly all names that browsers and apps send differ there.
inline constexpr auto kSecondLetters = [] {
  std::array<std::uint32_t, 32> letters{};
  for (const std::string_view begin :
       {"ak", "al", "ar", "ca", "cd", "cf", "cl", "co", "da", "di", "eo",
        "fa", "fl", "fo", "fr", "ht", "in", "iv", "l5", "ms", "oa", "oi",
        "pr", "re", "sf", "sh", "sm", "ss", "ta", "wa", "wl", "z-"}) {
    letters[static_cast<unsigned char>(begin[0]) & 31u] |=
        std::uint32_t{1} << (static_cast<unsigned char>(begin[1]) & 31u);
  }
  return letters;
}();

/// The third letters of those that begin with `x-`.
inline constexpr std::uint32_t kThirdLetters = [] {
  std::uint32_t letters = 0;
  for (const char third : std::string_view("acefghimnopqrstuvw"))
    letters |= std::uint32_t{1} << (static_cast<unsigned char>(third) & 31u);
  return letters;
}();

constexpr bool may_be_of_a_hop(char third) noexcept {
  return (kThirdLetters >> (static_cast<unsigned char>(third) & 31u) & 1u) != 0;
}

constexpr bool may_be_of_a_hop(char first, char second) noexcept {
  return (kSecondLetters[static_cast<unsigned char>(first) & 31u] >>
              (static_cast<unsigned char>(second) & 31u) &
          1u) != 0;
}

}  // namespace weir::net
