#pragma once

#include <string>
#include <string_view>

namespace weir::policies {

/// Mends correct JSON that the parser refuses as a whole because of one value: an integer beyond 64
/// bits, a number beyond every double, half a surrogate pair. Applications read such bodies, so a
/// caller could hide a whole body behind a member that no policy reads. Each such value becomes an
/// integer beyond 2^63, which reads as unreadable (as a name it gets U+FFFD for the half pair).
/// Everything else is copied unchanged, broken or not.
///
/// Returns the mended text; empty: there is no such value. One pass; at most four times as long
/// (`9e308,` becomes 20 bytes).
std::string mended_json(std::string_view text);

}  // namespace weir::policies
