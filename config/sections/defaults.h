#pragma once

#include "config/checks/policy_checks.h"

/// `defaults:`: what policies are taken to say where they do not say it themselves.
namespace weir::config {

/// Keys of a policy that stand in the file: these keep what they say.
struct SaidByPolicy {
  bool share = false, missing = false, mode = false, on_error = false;
};

/// Before the policy is checked. A default that cannot hold for a policy (`share` of a rule that
/// counts nothing) is left out; what the policy says itself is still an error where it is wrong.
void apply_defaults(const PolicyDefaults& defaults, const SaidByPolicy& said, PolicyDef& policy);

}  // namespace weir::config
