#pragma once

#include <cstdint>
#include <string>

#include "bench/load/generator.h"
#include "bench/load/options.h"

namespace weir::load {

/// The measurements of one run. Requests and CPU time are those of the measured span, without
/// warm-up.
struct Run {
  double seconds = 0;
  std::int64_t proxy_nanos = -1;   ///< CPU of the proxy in the span; -1 = not asked or it died
  std::int64_t load_nanos = 0;     ///< our own
  std::uint64_t span_answers = 0;  ///< answers in the span, which the CPU time is divided by
  std::uint64_t backend_requests = 0, backend_malformed = 0, backend_connections = 0;
  Counts counts;      ///< with the answers that came in the grace time
  Histogram latency;  ///< ns
};

std::string to_text(const Run& run, const Options& options);
std::string to_json(const Run& run, const Options& options);

}  // namespace weir::load
