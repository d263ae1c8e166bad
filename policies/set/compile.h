#pragma once

#include <memory>

#include "config/model.h"
#include "config/text/problem.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Compiles a configuration: checks everything that needs meaning (events, fields, types,
/// thresholds), reports every problem at its place, and fails as a whole (null) if one of them
/// is an error. Of a draft it reports the same, and returns no set: unreadable parts are assumed
/// to fit their use, and of policies that are not sound only the expressions are checked. Uses
/// no bank and no clock; the only files that it reads are those of time zones. Deterministic: equal
/// models give equal counter identities.
std::unique_ptr<PolicySet> compile(const config::Model& model, config::Problems& problems);

}  // namespace weir::policies
