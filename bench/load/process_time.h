#pragma once

#include <sys/types.h>

#include <cstdint>

namespace weir::load {

/// CPU nanoseconds that all threads of a process have used: the first field of every
/// /proc/PID/task/*/schedstat, which has nanosecond resolution where /proc/PID/stat has 10 ms. The
/// kernel's loopback work in the sender's context is in it. Threads that ended are not. -1: no such
/// process.
std::int64_t process_nanos(pid_t pid) noexcept;

}  // namespace weir::load
