#pragma once

#include <string_view>
#include <vector>

#include "policies/set/policy_set.h"
#include "tests/app/random_policies.h"

namespace weir::app {

/// Random traffic that a configuration has something to say about: its routes and records, with
/// random values for everything that it reads. `text`: of the configuration, whose quoted words are
/// among them.
std::vector<RandomEvent> traffic_for(const policies::PolicySet& set, std::string_view text,
                                     std::uint64_t seed, std::size_t count, std::int64_t start);

}  // namespace weir::app
