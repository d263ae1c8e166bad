#pragma once

#include <cstdint>
#include <optional>

#include "policies/explain/rate_headers.h"
#include "policies/judgement/plan.h"

/// The rest of a policy's quota, for header lines and for answers of the rate limit service.
namespace weir::policies {

/// How many a threshold admits: `over: 5` admits 5, `at: 5` admits 4.
std::int64_t admitted(Number limit, Compare compare);

/// The quota that people care about: of the rung that refuses; of a policy without one, of its last
/// threshold. None: the policy has no threshold that a number is over. `in_shadow`: of rungs in
/// shadow mode, too.
std::optional<Quota> quota_of(const PolicySet& set, const Plan& plan, const PlannedPolicy& planned,
                              Instant at, bool in_shadow = false);

}  // namespace weir::policies
