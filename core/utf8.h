#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

/// A character of UTF-8 text. Length, in bytes, 0: malformed.
struct Utf8 {
  char32_t code = 0;
  std::size_t length = 0;
};

/// The character at the start of `text`, which is not empty, by RFC 3629: shortest form only, no
/// surrogates, nothing above U+10FFFF. Pure.
Utf8 decode_utf8(std::string_view text) noexcept;

/// Appends the one to four bytes of a character. `code`: at most U+10FFFF, not a surrogate.
void append_utf8(std::string& out, char32_t code);

/// Whether no byte is above 0x7F. Most texts here are short: words that may overlap. Pure.
inline bool is_ascii(std::string_view text) noexcept {
  constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
  const auto word_at = [](const char* at, auto word) -> std::uint64_t {
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  const char* const end = text.data() + text.size();
  std::uint64_t all = 0;
  if (text.size() >= 8) {
    for (const char* at = text.data(); end - at > 8; at += 8) all |= word_at(at, std::uint64_t{});
    all |= word_at(end - 8, std::uint64_t{});
  } else if (text.size() >= 4) {
    all = word_at(text.data(), std::uint32_t{}) | word_at(end - 4, std::uint32_t{});
  } else {
    for (const char c : text) all |= static_cast<unsigned char>(c);
  }
  return (all & kHighBits) == 0;
}

/// Whether each byte belongs to a character as decode_utf8() reads it. Pure.
bool is_utf8(std::string_view text) noexcept;

}  // namespace weir
