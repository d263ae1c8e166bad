#pragma once

/// WEIR_ASSERT(condition): a programmer error if false; on in release builds too. Never reachable
/// from input: bad data of a client, a file or a peer is refused by a Result or a Problem.

namespace weir {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;
}

#define WEIR_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::weir::assertion_failed(#condition, __FILE__, __LINE__))
