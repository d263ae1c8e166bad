#pragma once

#include <cstdint>
#include <string_view>

/// Which names real applications take for the name of a field. docs/security.md has the table.
namespace weir::policies {

enum class NameMatch : std::uint8_t {
  no,         ///< no application takes it for the field
  exact,      ///< byte for byte (after decoding)
  other,      ///< another spelling, which some application takes for the field
  container,  ///< an element of a list or map of the field's name: `user[]`, `user[id]`, `user.0`
};

/// A member's name in a JSON body. Letter case does not count (Go, ASP.NET), nor do `_` and `-`
/// between other characters (protobuf's JSON takes `userId` and `user_id`); a NUL ends a name
/// (fastjson2). Never `container`. Pure, no allocation.
NameMatch match_json_name(std::string_view name, std::string_view wanted) noexcept;

/// Compares the raw name of a parameter, cookie or form field, percent escapes and `+` included.
/// Parsers ignore letter case and separators (as above, and `.` and blanks). In addition, PHP, Ruby
/// and qs drop blanks and brackets at the beginning, PHP ends a name at a NUL, Spring reads `!user`
/// as a default of `user`, URLSearchParams drops a `?` at the beginning, and qs can take points for
/// brackets: `.user` is `user`, `user.0` its first element. Pure, no allocation. No parser takes
/// points for brackets in cookies: large sessions lie in `session.0`, `session.1`.
enum class NamesOf : std::uint8_t { parameters, cookies };
NameMatch match_form_name(std::string_view encoded, std::string_view wanted,
                          NamesOf of = NamesOf::parameters) noexcept;

/// Whether one of match_form_name()'s answers but `no` is possible, by the first characters alone:
/// most names of a form differ there. True may be wrong, false never is.
inline bool may_match(std::string_view encoded, std::string_view wanted) noexcept {
  if (encoded.empty() || wanted.empty()) return encoded.size() == wanted.size();
  const auto is_letter = [](unsigned char c) {
    return static_cast<unsigned char>((c | 0x20) - 'a') < 26;
  };
  const auto a = static_cast<unsigned char>(encoded.front());
  const auto b = static_cast<unsigned char>(wanted.front());
  return !is_letter(a) || !is_letter(b) || ((a ^ b) & 0xdf) == 0;
}

}  // namespace weir::policies
