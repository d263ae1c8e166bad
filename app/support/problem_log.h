#pragma once

#include "app/support/configuration.h"
#include "app/support/log.h"

namespace weir::app {

/// A line for each problem of a configuration, errors first, kProblemLines at most; then one that
/// says how many more there are. A generated file with one mistake in each of ten thousand policies
/// must not drown the log: `weir check` lists them all.
void log_problems(Log& log, const Configuration& configuration);

inline constexpr std::size_t kProblemLines = 20;

}  // namespace weir::app
