#pragma once

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::config {

/// Of a policy's rungs that hold, only the severest acts; of equally severe ones the later. Warns
/// about a rung that another one always overrides: `{over: 5, do: flag}, {over: 10, notify: ops}`
/// notifies nobody, because above 10 the flag is the severer one.
void check_rung_order(Problems& problems, const PolicyDef& policy);

}  // namespace weir::config
