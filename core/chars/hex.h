#pragma once

#include <cstdint>
#include <span>
#include <string>

/// Hexadecimal digits. Pure, thread-safe.
namespace weir {

/// The digit of the lowest four bits, in lower case.
constexpr char hex_digit(std::uint64_t value) noexcept { return "0123456789abcdef"[value & 15]; }
/// The same in upper case.
constexpr char upper_hex_digit(std::uint64_t value) noexcept {
  return "0123456789ABCDEF"[value & 15];
}

/// The value of a hex digit of either letter case, 0 to 15; -1: `c` is none.
constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Appends the last `digits` (1 to 16) lower-case digits of `value`, with leading zeros.
inline void append_hex(std::string& out, std::uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += hex_digit(value >> shift);
}
/// Appends two lower-case digits for each byte.
inline void append_hex(std::string& out, std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t byte : bytes) append_hex(out, byte, 2);
}

}  // namespace weir
