#pragma once

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::config {

/// Of a policy's rungs that hold the severest acts, alone; of equally severe ones the later. Warns
/// of a rung that another one always outdoes: `{over: 5, do: flag}, {over: 10, notify: ops}` tells
/// nobody, for above 10 the flag is the severer.
void check_rung_order(Problems& problems, const PolicyDef& policy);

}  // namespace weir::config
