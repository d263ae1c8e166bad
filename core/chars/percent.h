#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/chars/hex.h"

/// Percent escapes (RFC 3986): `%`, and two hexadecimal digits. Pure, thread-safe.
namespace weir {

/// Appends the escape of one byte, in capitals.
inline void append_percent(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += upper_hex_digit(byte >> 4);
  out += upper_hex_digit(byte);
}

/// Appends `text`, and instead of bytes that are no letter, no digit and not in `bare` their
/// escapes.
void append_percent_encoded(std::string& out, std::string_view text,
                            std::string_view bare = "-._~");

/// Replaces escapes by their bytes. `plus`: `+` is a blank, as in queries. nullopt: an escape is
/// broken.
std::optional<std::string> percent_decode(std::string_view text, bool plus);

}  // namespace weir
