#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "net/http/refusal.h"

namespace weir::net {

struct PathRules {
  /// Also folds what servers fold each in their own way: `//`, `;params`, trailing dots of a
  /// segment and the trailing slash, and decodes every character that may stand bare in a segment;
  /// refuses `%2f`, `%5c`, `%00`, bare `\` and escapes that are not UTF-8 (overlong forms,
  /// surrogates). Broken escapes are refused always.
  bool strict = true;
  bool fold_case = false;  ///< ASCII letters become lower case
};

/// A target's two halves. `path` always begins with '/'.
struct NormalTarget {
  std::string_view path;   ///< normal form: what policies match. Never what is forwarded
  std::string_view query;  ///< after the first '?', as received; empty if there is none
};

/// Bytes that normalise_target may need for a target of that size (a bare `|` becomes `%7C`).
constexpr std::size_t normal_path_room(std::size_t target_size) noexcept { return 3 * target_size; }

/// Brings an origin-form target into RFC 3986 normal form (6.2.2): escapes of unreserved characters
/// decoded once, hex digits of the others upper case, dot segments removed, so that no spelling of
/// a path dodges a route. What may not stand bare in a path (`"`, `<`, `|`...) is escaped. Nothing
/// is copied when the path is normal already; else `out.path` lies in `scratch`, which must have
/// normal_path_room() bytes. Returns HttpRefusal::none, or path_escape (answer 400). Thread-safe,
/// no allocation.
HttpRefusal normalise_target(std::string_view target, const PathRules& rules,
                             std::span<char> scratch, NormalTarget& out) noexcept;

}  // namespace weir::net
