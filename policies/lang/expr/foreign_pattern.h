#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Texts that are patterns in other languages (shells, routers, regular expressions), at places
/// where weir compares letter by letter.
namespace weir::policies::expr {

/// The part of a value that a text is compared with.
enum class Compared : std::uint8_t { whole, begin, end, part };

/// `path`, or `path.lowerAscii()`: the compared expression, as a text and by its attribute.
struct Subject {
  std::string shown;           ///< as in the file, for hints
  std::string_view attribute;  ///< `path`, `host`, `header`; empty: something else
  std::string_view argument;   ///< of a header: `user-agent`
  bool lowered = false;        ///< by lowerAscii(): the escapes of a path, too
  bool folded = false;         ///< a path in lower case, by proxy.path: {case: fold}
};

struct ForeignPattern {
  std::string why;        ///< empty: the text is no pattern
  std::string condition;  ///< the condition to write instead
  bool several = false;   ///< the condition joins several tests by `or`
};

/// `/api/*`, `*.php`, `a|b`, `/users/{id}`, `^/api/.*`. Says nothing of values in which such
/// letters are common, as scopes (`read:*`) and media types are.
ForeignPattern foreign_pattern(const Subject& subject, std::string_view text, Compared how);

/// A regular expression with a `*` that repeats a slash, as in `/api/*`: it should surely match
/// any text. Empty: there is none; else what to write instead.
std::string slash_star_hint(const Subject& subject, std::string_view pattern);
/// For a regular expression that RE2 refuses since it is a glob: `*.php`, `/api/**`. Empty: else.
std::string glob_hint(const Subject& subject, std::string_view pattern);

}  // namespace weir::policies::expr
