#pragma once

namespace weir::test {

/// A TCP port of 127.0.0.1 that nobody listens on now, and that was not given before. For one
/// thread.
int free_port();

}  // namespace weir::test
