#pragma once

#include "policies/lang/expr/checker.h"

namespace weir::policies::expr {

/// Checks a call: its name, how many arguments, their types; reads patterns, networks, zones and
/// names of lists, which must be literals.
bool check_call(Checker& checker, AstPtr& node);

}  // namespace weir::policies::expr
