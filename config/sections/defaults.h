#pragma once

#include "config/checks/policy_checks.h"

/// `defaults:`: the settings of policies that have none of their own.
namespace weir::config {

/// The keys that a policy has in the file; these keep their values.
struct SaidByPolicy {
  bool share = false, missing = false, mode = false, on_error = false;
};

/// Call it before the policy is checked. Omits a default that cannot hold for a policy (`share` of
/// a rule that counts nothing); the policy's own wrong setting is still an error.
void apply_defaults(const PolicyDefaults& defaults, const SaidByPolicy& said, PolicyDef& policy);

}  // namespace weir::config
