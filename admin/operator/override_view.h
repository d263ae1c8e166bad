#pragma once

#include <boost/json/array.hpp>
#include <string_view>

#include "admin/call.h"

namespace weir::admin {

/// The overrides in force, or those of one policy, as docs/openapi.yaml has them.
boost::json::array overrides_view(const Call& call, std::string_view policy = {});

}  // namespace weir::admin
