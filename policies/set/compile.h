#pragma once

#include <memory>

#include "config/model.h"
#include "config/text/problem.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Compiles a configuration: checks everything that needs meaning (events, fields, types,
/// thresholds), reports every problem at its place, and gives up as a whole (null) if one of them
/// is an error. Passes by policies and views that are not sound: such a set is not to be run. Uses
/// no bank and no clock; the only files that it reads are those of time zones. Deterministic: equal
/// models give equal counter identities.
std::unique_ptr<PolicySet> compile(const config::Model& model, config::Problems& problems);

}  // namespace weir::policies
