#pragma once

#include <string_view>

#include "config/text/units.h"
#include "core/clock.h"

namespace weir::app {

/// A time in the past in people's notation: `14:00` or `14:00:30` in the machine's time zone (of
/// yesterday, if that is still to come today), `2h` ago, or a date of RFC 3339.
config::Parsed<TimePoint> parse_past(std::string_view text, TimePoint now);

}  // namespace weir::app
