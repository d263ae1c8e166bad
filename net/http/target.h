#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/event.h"
#include "core/path_readings.h"
#include "net/http/refusal.h"

namespace weir::net {

/// A target, decided. Each reading begins with '/'.
struct NormalTarget : PathReadings {
  std::string_view target;  ///< `forward`, and the query if there is one: the app gets it
  std::string_view query;   ///< after the first '?', as received; empty if there is none

  /// Fills in the target's parts of a request: views into it, and into this object.
  void describe(Request& request) const noexcept {
    request.target = target;
    request.path = path;
    request.cased_path = cased_path;
    request.query = query;
    request.readings = is_plain() ? nullptr : this;
  }
};

/// Bytes that normalise_target may need for a target of that size (a bare `|` becomes `%7C`).
constexpr std::size_t normal_path_room(std::size_t target_size) noexcept {
  return 18 * target_size;
}

/// Brings an origin-form target into RFC 3986 normal form (6.2.2), which the app gets: escapes of
/// unreserved characters decoded once, hex digits of other escapes in upper case, dot segments
/// removed, characters that must not be bare in a path (`"`, `<`, `|`...) escaped. Policies match
/// a further folded form, without the parts that servers treat differently: `//`, `;params`,
/// trailing dots of a segment and the trailing slash, and escapes of characters that may be bare
/// in a segment. So no spelling of a path dodges a route. Nothing is copied when the path is normal
/// already; otherwise the views lie in `scratch`, which must have normal_path_room() bytes. Returns
/// HttpRefusal::none, or path_escape for a `%` without two hex digits (answer 400). Thread-safe, no
/// allocation.
HttpRefusal normalise_target(std::string_view target, const PathRules& rules,
                             std::span<char> scratch, NormalTarget& out) noexcept;

}  // namespace weir::net
