#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/chars/ascii.h"

/// Scans a line of YAML for the masking of secrets, without a parser: files with mistakes are
/// masked as well. Pure.
namespace weir::config::secret_scan {

inline constexpr auto npos = std::string_view::npos;

inline bool is_word(char c) noexcept {
  return ascii::is_letter_or_digit(c) || c == '_' || c == '-';
}
inline bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_quote(char c) noexcept { return c == '"' || c == '\''; }
inline bool opens(char c) noexcept { return c == '[' || c == '{'; }
inline bool closes(char c) noexcept { return c == ']' || c == '}'; }

inline void cover(std::string& line, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to && i < line.size(); ++i) line[i] = '*';
}

/// Covers double-quoted texts with escapes that can hide the name of a key, or the `://` or `@` of
/// a URL: `"pass\x77ord"`, `"redis:\/\/..."`. Behind such a key all is covered.
void cover_escaped(std::string& out, std::string_view line);

/// Whether the value of this key, in small letters, is a secret. Also of a mistyped key: the
/// message about it shows its line.
bool is_secret_key(std::string key);

std::size_t skip_blanks(std::string_view line, std::size_t at) noexcept;
bool is_comment(std::string_view line, std::size_t at) noexcept;

/// The quote that closes a YAML text, from `at` on; npos: the text continues in the next line.
std::size_t close_of(std::string_view line, std::size_t at, char quote) noexcept;

/// The position after the blanks, tags and anchors that precede a value.
std::size_t skip_properties(std::string_view line, std::size_t at) noexcept;

/// The end of the anchor or tag that begins at `at`.
std::size_t end_of_property(std::string_view line, std::size_t at) noexcept;

/// The end of the list or map in which `depth` brackets are open at `at`: after the last of them,
/// or npos. The text after a quote that is not closed is not searched.
std::size_t end_of_brackets(std::string_view line, std::size_t at, std::size_t& depth) noexcept;

/// Whether the value that begins at `at` is not in brackets, as far as this line alone shows.
bool is_block(std::string_view line, std::size_t at) noexcept;

/// The end of the value that begins at `from`. `block`: it is in no brackets, and a plain text then
/// continues after commas and brackets.
std::size_t end_of_value(std::string_view line, std::size_t from, bool block = false);

/// Calls use(from, to) for each name that follows `mark`, which is `&` or `*`.
template <class F>
void each_name(std::string_view line, char mark, F use) {
  for (std::size_t at = 0; (at = line.find(mark, at)) != npos;) {
    const std::size_t from = ++at;
    while (at < line.size() && !is_blank(line[at]) && line[at] != '\n' && line[at] != ',' &&
           !opens(line[at]) && !closes(line[at]))
      ++at;
    if (at > from) use(from, at);
  }
}

}  // namespace weir::config::secret_scan
