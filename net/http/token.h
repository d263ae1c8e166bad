#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Names of fields, compared fast.
namespace weir::net {

inline constexpr std::uint64_t kFoldEight = 0x2020202020202020;

inline std::uint64_t load_eight(const char* p) noexcept {
  std::uint64_t out;
  std::memcpy(&out, p, sizeof out);
  return out;
}

/// Both of them tokens of `size` characters, `lower` of lower-case letters, digits and '-': then
/// bit 5 is all that differs. Eight at a time; the last eight overlap.
inline bool same_token(const char* name, const char* lower, std::size_t size) noexcept {
  if (size >= 8) {
    for (std::size_t i = 0; i + 8 < size; i += 8) {
      if ((load_eight(name + i) | kFoldEight) != load_eight(lower + i)) return false;
    }
    return (load_eight(name + size - 8) | kFoldEight) == load_eight(lower + size - 8);
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (static_cast<char>(name[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

}  // namespace weir::net
