#pragma once

#include <string>
#include <string_view>

/// Which characters of foreign text may go to a terminal as they are. Pure.
namespace weir {

/// Whether a character is not to be shown as it is: controls (C1 and DEL too), line and paragraph
/// separators, what turns the direction of text, what has no width or no look of its own.
bool is_hidden(char32_t code) noexcept;

/// Appends \u00XX of a character, as JSON escapes it: two of them above U+FFFF.
void append_escape(std::string& out, char32_t code);

/// Text of several lines, or JSON that has been written already, with all hidden characters but
/// line feeds escaped. Invalid UTF-8 becomes U+FFFD.
std::string escape_hidden(std::string_view text);

}  // namespace weir
