#pragma once

#include <vector>

#include "admin/operations.h"
#include "config/load.h"

namespace weir::app {

/// The texts of a configuration in a form that is safe to show: secrets masked, together at most 1
/// MiB (the rest is omitted, and the last text says so).
std::vector<admin::ConfigText> masked_texts(const std::vector<config::SourceFile>& files);

/// In which lines the files differ, for each file that does; at most LoadRecord::kDiffBytes.
std::vector<admin::ConfigText> differences(const std::vector<admin::ConfigText>& before,
                                           const std::vector<admin::ConfigText>& after);

}  // namespace weir::app
