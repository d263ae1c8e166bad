#pragma once

namespace weir {

/// Starts loading the cache line of `address`, which will be written.
///
/// g++ 12 takes a function that does nothing but prefetch for one without any effect, and drops the
/// calls of it (seen in release builds: a prefetch(Place) in a header was never called). The empty
/// statement is an effect, and no instruction.
[[gnu::always_inline]] inline void prefetch_line(const void* address) noexcept {
  __builtin_prefetch(address, 1);
  __asm__ volatile("");
}

}  // namespace weir
