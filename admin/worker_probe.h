#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <vector>

#include "admin/operations.h"

namespace weir::admin {

/// Asks every worker for a sign of life and waits for all, at most `limit`. Returns the workers
/// that gave none (empty: all loops turn). On the control thread; a late answer is harmless.
boost::asio::awaitable<std::vector<std::size_t>> silent_workers(WorkerProbe& worker_probe,
                                                                milliseconds limit);

}  // namespace weir::admin
