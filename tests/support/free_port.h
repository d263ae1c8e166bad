#pragma once

namespace weir::test {

/// A TCP port of 127.0.0.1 that nobody listens on now.
int free_port();

}  // namespace weir::test
