#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "core/chars/ascii.h"

namespace weir {

/// `proxy.path`: which spellings of a path are equal, and which are ambiguous.
struct PathRules {
  bool fold_case = false;  ///< policies match ASCII letters in lower case; the app gets its own
  /// Escapes that make no path ambiguous: weir matches them undecoded.
  bool keep_encoded_slash = false;  ///< `%2F`, `%5C` and `\`
  bool keep_other_escapes = false;  ///< of control characters, and of bytes that are not UTF-8
};

/// How servers may read one path. The views lie where its maker put them.
struct PathReadings {
  std::string_view path;     ///< normal form, without parts that servers fold: policies match it
  std::string_view forward;  ///< normal form (RFC 3986): the app gets it
  /// `path` with the letters as the app gets them, byte for byte beside it. Empty: `path` has them.
  std::string_view cased_path;
  /// The path as a lax server reads it: `%2F`, `%5C` and `\` are slashes, overlong forms are the
  /// characters that they encode, control characters and other bytes that are not UTF-8 are
  /// omitted. Empty: not ambiguous.
  std::string_view lax;
  /// `lax`, or `forward` if that is empty, as a server reads it to which segments are names that
  /// folding leaves nothing of: `...`, `;x`, `..;x`. Empty: there are none.
  std::string_view named;
  /// `lax`, as a server reads it that merges slashes before it resolves `..`. Empty: the same.
  std::string_view merged;
  /// A segment of `path` or `lax` is one that PHP may run, and further segments follow: servers run
  /// `/login.php/x` as `/login.php`, and `/index.php/login` as `/login`.
  bool has_script = false;

  /// The path has an escape that servers read in different ways, and that `proxy.path` does not
  /// keep.
  bool is_ambiguous() const noexcept { return !lax.empty(); }
  /// Each reading is the same text.
  bool is_plain() const noexcept { return path.data() == forward.data() && !has_script; }
};

/// Brings the letters of a path in normal form into lower case, in ASCII. The digits of an escape
/// stay in capitals. Pure.
constexpr void fold_letters(std::span<char> path) noexcept {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%') {
      i += 2;
    } else {
      path[i] = ascii::lower(path[i]);
    }
  }
}

/// Whether PHP may run a segment of a path as a script: `index.php`, `x.PHTML`. Pure.
constexpr bool is_php_script(std::string_view segment) noexcept {
  if (!segment.empty() && ascii::is_digit(segment.back())) segment.remove_suffix(1);  // `.php5`
  for (const std::string_view ending : {".php", ".phtml", ".phar"}) {
    if (segment.size() < ending.size()) continue;
    const std::string_view end = segment.substr(segment.size() - ending.size());
    const auto same = [](char a, char b) { return ascii::lower(a) == b; };
    if (std::equal(end.begin(), end.end(), ending.begin(), same)) return true;
  }
  return false;
}

/// Calls `use(end)` with the end of each script of a path that is followed by further segments,
/// until it returns true. Returns whether it did.
template <class F>
constexpr bool any_php_script(std::string_view path, F use) noexcept(noexcept(use(std::size_t{}))) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos;) {
    const std::size_t end = path.find('/', dot);
    if (end == std::string_view::npos) return false;
    const std::string_view before = path.substr(0, end);
    if (is_php_script(before.substr(before.rfind('/') + 1)) && use(end)) return true;
    dot = path.find('.', end);
  }
  return false;
}

}  // namespace weir
