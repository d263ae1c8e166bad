#pragma once

#include <cstdint>
#include <string>

namespace weir::admin {

/// The kernel's numbers about this process, under the names that Prometheus clients use.
struct ProcessFacts {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_fds = 0;
  double start_seconds = 0;  ///< Unix time
};

/// From /proc/self and getrusage; unreadable numbers are 0.
ProcessFacts process_facts();

/// Prometheus text of the process metrics.
void write_process_metrics(std::string& out);

}  // namespace weir::admin
