#pragma once

#include <span>
#include <string_view>

#include "core/event.h"
#include "policies/lang/extractors.h"

namespace weir::policies {

class Arena;

/// A parameter of the query, as find_parameter() finds it. Django and Tomcat read the query in the
/// charset that Content-Type names, also of a request without a body. So a value that is not ASCII
/// is readable in UTF-8 alone, and no value is in a charset that does not begin with US-ASCII
/// (UTF-7, UTF-16, ISO-2022-JP).
Extracted find_in_query(Arena& arena, const Request& request, std::string_view name) noexcept;
Extracted find_in_query(Arena& arena, const Request& request,
                        std::span<const PathStep> path) noexcept;

}  // namespace weir::policies
