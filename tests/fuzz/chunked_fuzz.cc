// Chunked bodies, with Boost.Beast's parser as the second opinion: tests/support/round_trip.h.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/round_trip.h"

/// The last byte chooses the cuts and the options, the others are the message.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size - 1};
  const std::string problem = weir::test::check_chunked(bytes, data[size - 1]);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::abort();
  }
  return 0;
}
