#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace weir {

/// Ends the fuzzer with the place of the promise that does not hold.
inline void require(bool condition, std::source_location where = std::source_location::current()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%u: does not hold\n", where.file_name(), unsigned(where.line()));
  std::abort();
}

}  // namespace weir
