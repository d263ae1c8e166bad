#pragma once

#include <string_view>

#include "policies/extractors.h"

namespace weir::policies {

class Arena;

/// The value of parameter `name` of a query or an application/x-www-form-urlencoded body, decoded
/// once
/// ('+' is a blank). Names are compared decoded, so `us%65r` is a second `user`. A value that needs
/// no decoding is a view into `encoded`. Misses: absent; ambiguous (named twice); unreadable
/// (broken escape in the value, or the arena is full). A parameter without '=' has the value "".
Extracted find_parameter(Arena& arena, std::string_view encoded, std::string_view name) noexcept;

}  // namespace weir::policies
