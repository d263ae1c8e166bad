#pragma once

#include <cstddef>
#include <cstdint>

#include "app/support/log.h"
#include "app/support/machine.h"
#include "config/model.h"

namespace weir::app {

/// Warns where the open files of the process are fewer than its doors may need. `open_files`: how
/// many the process may have; 0: unknown. Control thread.
void warn_of_few_files(Log& log, const config::Server& settings, const ConnectionShares& shares,
                       std::uint64_t open_files, std::size_t workers);

}  // namespace weir::app
