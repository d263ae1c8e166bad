#pragma once

#include <string_view>

#include "config/cases.h"
#include "config/text/problem.h"
#include "policies/set/policy_set.h"

namespace weir::app {

/// Reports every name in a case file that `set` does not have: a misspelt policy, list, event, view
/// or notification. Told before a case runs, for one that fails earlier would hide it. The names of
/// policies with `mode: disabled` are known, though the set has nothing else of these policies.
void check_names(const config::CaseFile& file, const policies::PolicySet& set,
                 config::Problems& problems);

/// Whether it names a policy with `mode: disabled`, a metric of one (`p.orders`) or a list of its
/// own (`p:deny`).
bool names_disabled(const policies::PolicySet& set, std::string_view name) noexcept;

}  // namespace weir::app
