#pragma once

#include <algorithm>
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

/// NUL to US, and DEL. The control characters U+0080 to U+009F are not ASCII: see core/visible.h.
constexpr bool is_control(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return u < 0x20 || u == 0x7f;
}
/// The same without the tab, which values of header fields may contain, like a blank.
constexpr bool is_control_but_tab(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return (u < 0x20 && u != '\t') || u == 0x7f;
}
/// A blank to `~`.
constexpr bool is_printable(char c) noexcept {
  const auto u = static_cast<unsigned char>(c);
  return u >= 0x20 && u < 0x7f;
}

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

/// Whether `text`, in any letter case, is `lower_text` (which is in lower case).
constexpr bool equals_ignoring_case(std::string_view text, std::string_view lower_text) noexcept {
  if (text.size() != lower_text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lower(text[i]) != lower_text[i]) return false;
  }
  return true;
}

constexpr bool has_control(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(), [](char c) { return is_control(c); });
}
constexpr bool has_control_but_tab(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(), [](char c) { return is_control_but_tab(c); });
}

/// `text` without the characters at both ends that `is_blank(char)` takes.
template <class IsBlank>
constexpr std::string_view trimmed_if(std::string_view text, IsBlank is_blank) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}
/// `text` without blanks and tabs at both ends.
constexpr std::string_view trimmed(std::string_view text) noexcept {
  return trimmed_if(text, [](char c) { return c == ' ' || c == '\t'; });
}
/// `text` without the characters of `blanks` at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks) noexcept {
  return trimmed_if(text, [blanks](char c) { return blanks.find(c) != std::string_view::npos; });
}

}  // namespace weir::ascii
