#pragma once

#include <string>

#include "limiter/patterns/pattern_bank.h"
#include "policies/judgement/plan.h"

namespace weir::policies {

/// The role of an event in a pattern: `step 2 of 2; its key has 1 open match; it completes one`.
std::string pattern_part_text(const Pattern& pattern, const PlannedPattern& planned,
                              const limiter::PatternView& view);

}  // namespace weir::policies
