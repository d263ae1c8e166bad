#pragma once

#include <optional>

#include "config/checks/policy_checks.h"

/// `score_over`: rungs on the total score that the rungs of all policies give a request.
namespace weir::config {

/// Call it when the defaults are applied, before the policy is checked. A policy with only such
/// rungs becomes one of `metric: score`. Beside others, they become a policy of their own, which
/// watches and guards the same and is called `NAME-score`: it is the result.
std::optional<PolicyDraft> split_score_rungs(Reader& reader, PolicyDraft& draft);

}  // namespace weir::config
