#pragma once

#include <sys/un.h>

#include <cstddef>

namespace weir {

/// The longest path of a Unix socket, in bytes; a NUL follows it.
inline constexpr std::size_t kUnixPathMax = sizeof(sockaddr_un::sun_path) - 1;
static_assert(kUnixPathMax == 107, "messages and pages say so");

}  // namespace weir
