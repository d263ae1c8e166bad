#pragma once

#include <optional>
#include <string_view>

#include "core/geo.h"

namespace weir::policies {

/// A place as a part of a key: latitude and longitude in degrees, as maps have them, with a comma
/// between: `31.2304,121.4737`. None: it is not written so, or out of range.
std::optional<Place> parse_place(std::string_view text) noexcept;

}  // namespace weir::policies
