#pragma once

#include <span>
#include <string_view>

#include "core/event.h"
#include "policies/lang/extractors.h"

namespace weir::policies {

class Arena;

/// A parameter of the query, as find_parameter() finds it. Django and Tomcat read the query in the
/// charset that Content-Type names, also of a request without a body. So a value is unreadable if
/// that charset is neither UTF-8 nor one byte a character, and in one of one byte a character if
/// the value is not ASCII.
Extracted find_in_query(Arena& arena, const Request& request, std::string_view name) noexcept;
Extracted find_in_query(Arena& arena, const Request& request,
                        std::span<const PathStep> path) noexcept;

}  // namespace weir::policies
