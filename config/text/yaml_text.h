#pragma once

#include <string>
#include <string_view>

#include "config/text/tree.h"

/// The text level of the YAML reader: encoding, tokens, and YAML's traps. For tree.cc, and
/// tell_syntax() for manifests.
namespace weir::config {

/// The hint for a file with too many nodes.
inline constexpr const char* kManyNodes =
    "share the file out with include; put many entries of a list into its file, one a line";

/// UTF-8, no control or invisible direction characters, within the bounds. False: a problem was
/// reported.
bool check_text(std::string_view text, std::uint32_t file, const TreeLimits& limits,
                Problems& problems);

/// The scalar token at an offset, in its raw form, after any anchor.
struct Token {
  std::size_t from = 0;    ///< the offset asked for
  std::size_t begin = 0;   ///< of the token itself
  std::size_t length = 0;  ///< bytes on its first line, with its quotes
  bool unterminated = false;
};
Token token_at(std::string_view text, std::size_t from);

/// Bare on/off/yes/no and numbers with leading zeros.
void check_plain(const Node& node, Problems& problems);

/// on, off, yes, no in any case: booleans of YAML 1.1, texts of YAML 1.2.
bool is_bare_boolean(std::string_view word);

/// Says a syntax error of yaml-cpp in words of ours, with a hint where the line shows the usual
/// cause.
void tell_syntax(std::string_view what, Where where, std::string_view text, Problems& problems);

/// Opening minus closing brackets outside of quotes.
int open_brackets(std::string_view text);
bool is_digits(std::string_view text);
/// `ip/24`
bool is_masked_name(std::string_view text);

/// Text for a message: in double quotes, controls escaped, cut when long.
std::string quoted(std::string_view text);

}  // namespace weir::config
