#pragma once

#include "config/model.h"
#include "config/text/problem.h"
#include "policies/set/policy_set.h"

/// Checks for things that the rate limit service cannot see or answer: it is asked once about a
/// descriptor, answers at once, and never learns the answer to the request.
namespace weir::policies {

/// An event of calls that only an answer decides would never happen.
void check_event_of_calls(const config::EventDef& def, const PolicySet& set, EventIndex index,
                          config::Problems& problems);

/// Checks the calls that a policy, or one of its `metrics`, counts. `def` is the policy's own
/// definition, and `owner` that of the policy with the rungs.
void check_counts_of_calls(const config::PolicyDef& def, const config::PolicyDef& owner,
                           const PolicySet& set, const Policy& policy, config::Problems& problems);

void check_view_of_calls(const config::ViewDef& def, const PolicySet& set,
                         const View::Binding& binding, config::Problems& problems);

/// Rungs of a policy over calls that mean something else there.
void warn_of_rungs_over_calls(const config::PolicyDef& def, const PolicySet& set,
                              const Policy& policy, config::Problems& problems);

}  // namespace weir::policies
