#pragma once

#include <string>

#include "admin/operations.h"

namespace weir::admin {

/// Everything on /metrics, Prometheus text format 0.0.4. Sets the gauges of the counter tables in
/// the control thread's cells on the way. On the control thread.
std::string metrics_page(const Operations& operations, const Stores& stores);

}  // namespace weir::admin
