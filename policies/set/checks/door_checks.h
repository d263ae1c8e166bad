#pragma once

#include "config/model.h"
#include "config/text/problem.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Warns of policies that cannot be served, or not without help, at doors of the same file that do
/// not see the fields that those policies read.
void warn_of_doors(const config::Server& server, const PolicySet& set, config::Problems& problems);

/// Warns of policies that refuse whole classes of requests because they ask every body for a field.
void warn_of_bodies(const PolicySet& set, config::Problems& problems);

}  // namespace weir::policies
