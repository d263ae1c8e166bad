#pragma once

#include <string>
#include <string_view>

namespace weir::policies {

/// JSON that is right, but that the parser refuses whole for one value which it cannot hold: an
/// integer beyond 64 bits, a number beyond every double, half a surrogate pair. Applications read
/// such bodies, so a caller could hide all of one behind a member that nobody asks for. Each such
/// value becomes an integer beyond 2^63, which reads as unreadable (as a name it gets U+FFFD for
/// the half pair). Everything else is copied as it is, broken or not.
///
/// The mended text; empty: there is nothing of that. One pass; at most four times as long
/// (`9e308,` becomes 20 bytes).
std::string mended_json(std::string_view text);

}  // namespace weir::policies
