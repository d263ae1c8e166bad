#include <cstdint>

#include "tests/fuzz/import_check.h"

/// Any bytes as a file for `weir import haproxy`.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::config::check_imported(
      weir::config::import_haproxy({reinterpret_cast<const char*>(data), size}));
  return 0;
}
