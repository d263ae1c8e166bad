#pragma once

#include <cstddef>

namespace weir::test {

/// Calls of operator new on this thread since the program began. Linking this replaces the
/// operators.
std::size_t allocations() noexcept;

}  // namespace weir::test
