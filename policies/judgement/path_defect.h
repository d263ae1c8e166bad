#pragma once

#include <optional>
#include <vector>

#include "core/event.h"
#include "policies/judgement/plan.h"

namespace weir::policies {

/// The refusal of a request because the app may read its path as a route on which a policy or list
/// can refuse, and policies would not: in the name of the first of them. None: the path stops it
/// not.
std::optional<Defect> path_defect(const PolicySet& set, const Request& request);

/// The same of policies with rungs in shadow mode, each of them, added to `out`.
void add_path_defects_in_shadow(const PolicySet& set, const Request& request,
                                std::vector<Defect>& out);

}  // namespace weir::policies
