#pragma once

namespace weir::test {

/// A free TCP port of 127.0.0.1. The function returns each port once per process. Not thread-safe.
int free_port();

}  // namespace weir::test
