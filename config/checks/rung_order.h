#pragma once

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::config {

/// Warns about a rung that another one always overrides: only the severest of the rungs that hold
/// acts; of equally severe ones the later. With `{over: 5, do: flag}, {over: 10, notify: ops}` no
/// notification is sent, because above 10 the flag is the severer one.
void check_rung_order(Problems& problems, const PolicyDef& policy);

}  // namespace weir::config
