#pragma once

#include <string>
#include <string_view>

/// Letters and digits of ASCII, in every locale. Other bytes are neither and stay as they are.
/// Pure, thread-safe.
namespace weir::ascii {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
constexpr bool is_letter(char c) noexcept { return is_lower(c) || is_upper(c); }
constexpr bool is_letter_or_digit(char c) noexcept { return is_letter(c) || is_digit(c); }

constexpr char lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c;
}
constexpr char upper(char c) noexcept {
  return is_lower(c) ? static_cast<char>(c - ('a' - 'A')) : c;
}

/// `text` with lower-case letters for capitals.
inline std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

/// `text` with capitals for lower-case letters.
inline std::string uppered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = upper(c);
  return out;
}

/// `text` without blanks and tabs at both ends.
constexpr std::string_view trimmed(std::string_view text) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace weir::ascii
