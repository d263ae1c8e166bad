#pragma once

#include <string_view>

namespace weir {

/// `proxy.path`: what of a path means the same, and what has no one meaning.
struct PathRules {
  bool fold_case = false;  ///< policies match ASCII letters in lower case; the app gets its own
  /// These escapes make no path ambiguous: weir matches them as they stand.
  bool keep_encoded_slash = false;  ///< `%2F`, `%5C` and `\`
  bool keep_other_escapes = false;  ///< of control characters, and of bytes that are not UTF-8
};

/// How servers may read one path. The views lie where its maker put them.
struct PathReadings {
  std::string_view path;     ///< normal form, without what servers fold: what policies match
  std::string_view forward;  ///< normal form (RFC 3986): what the app gets
  /// The path as a lax server reads it: `%2F`, `%5C` and `\` are slashes, overlong forms are the
  /// characters that they encode, control characters and other bytes that are not UTF-8 are
  /// omitted. Empty: not ambiguous.
  std::string_view lax;
  /// `lax`, or `forward` if that is empty, as a server reads it to which segments are names that
  /// folding leaves nothing of: `...`, `;x`, `..;x`. Empty: there are none.
  std::string_view named;
  /// `lax`, as a server reads it that merges slashes before it resolves `..`. Empty: the same.
  std::string_view merged;

  /// The path has an escape that servers read in different ways, and that `proxy.path` does not
  /// keep.
  bool is_ambiguous() const noexcept { return !lax.empty(); }
  /// Each reading is the same text.
  bool is_plain() const noexcept { return path.data() == forward.data(); }
};

}  // namespace weir
