#pragma once

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::app {

/// Routes are matched with paths in their normal form: one whose own path is written otherwise, or
/// that no path can have, would never be matched.
void check_routes(const config::Model& model, config::Problems& problems);

}  // namespace weir::app
