#pragma once

#include <cstddef>

namespace weir::config {

/// Parts of the key of a policy, a metric, a view or a list.
inline constexpr std::size_t kKeyPartsMax = 8;

}  // namespace weir::config
