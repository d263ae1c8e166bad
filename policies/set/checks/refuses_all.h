#pragma once

#include "config/text/problem.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Warns of policies that refuse every request, the first one included: a condition that always
/// holds, or a threshold that one event passes, on all requests; or such a threshold on an event
/// that only the answer decides. If callers are on an allow list, a condition that always holds may
/// be meant, so it gets no warning.
void warn_of_refusing_all(const PolicySet& set, config::Problems& problems);

}  // namespace weir::policies
