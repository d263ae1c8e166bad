#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "policies/judgement/stats.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// A policy set in use on one worker: the set, and where its statistics go.
struct Loaded {
  std::shared_ptr<const PolicySet> set;
  std::vector<StatsCells*> policy_cells;
  std::vector<StatsCells*> list_cells;
};

std::shared_ptr<const Loaded> load_on_worker(std::shared_ptr<const PolicySet> set, StatsBank& stats,
                                             std::size_t worker);

}  // namespace weir::policies
