#pragma once

#include "config/cases.h"
#include "config/text/problem.h"
#include "policies/set/policy_set.h"

namespace weir::app {

/// Reports every name in a case file that `set` does not have: a misspelt policy, list, event, view
/// or notification. Told before a case runs, for one that fails earlier would hide it.
void check_names(const config::CaseFile& file, const policies::PolicySet& set,
                 config::Problems& problems);

}  // namespace weir::app
