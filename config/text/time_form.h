#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/time_pattern.h"

namespace weir::config {

/// `seconds`, `millis`, `micros`, `nanos` (kEpochUnits), or a pattern that TimePattern compiles.
/// Nothing: `problem` says why.
std::optional<TimeForm> parse_time_form(std::string_view text, TimePattern::Problem& problem);
/// `seconds, millis, micros, nanos or a pattern such as ...`
std::string known_time_forms();

}  // namespace weir::config
