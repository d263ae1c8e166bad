#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/parse.h"

/// Characters that look like one of YAML's or of an expression's and are another one: no-break
/// spaces, full-width punctuation of Chinese and Japanese keyboards, curly quotes.
namespace weir::config {

struct LookAlike {
  std::string_view name;   ///< "a full-width colon"; empty: the character is none
  std::string_view plain;  ///< the ASCII text that it looks like: ":"
};
LookAlike look_alike(char32_t c);

/// `a full-width colon (U+FF1A)`
std::string look_alike_text(char32_t c);
/// Suggests a replacement: `write ":"`
std::string look_alike_hint(char32_t c);

/// The text with such characters replaced by those they resemble, here and on the line before.
std::string without_look_alikes(std::string_view text, std::uint32_t line);

/// Where the text is no YAML at this line: reports such a character there, or in the line before.
/// Whether there is one.
bool tell_look_alike(std::string_view text, std::uint32_t file, std::uint32_t line,
                     Problems& problems);

/// Warns of such characters outside of quotes and comments. For texts that have
/// errors: there they are the likely cause, and on a line with an error such a character is an
/// error too. Prose is left alone: beside a letter of Chinese or Japanese text such a character is
/// correct.
void warn_of_look_alikes(const std::vector<SourceText>& texts, Problems& problems);

}  // namespace weir::config
