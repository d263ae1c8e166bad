#pragma once

#include <cstdint>

#include "core/key.h"
#include "limiter/kinds/counter.h"

namespace weir::limiter {

/// The facts about a counter that another counter of the same `what` needs to start with its
/// events.
struct Heritage {
  Hash128 what;
  Metric metric = Metric::count;
  Window window = Window::ring;
  bool real = false;
  std::int64_t quantum = 1;
  std::int64_t kept = 0;  ///< ms: how far back it has every event

  static Heritage of(const Counter& counter) noexcept;
  /// Whether everything that `heir` reads is kept, and can be computed. A log is enough for any
  /// window. A ring is enough only if its buckets add up to the heir's, because its events have no
  /// times of their own.
  bool fits(const Counter& heir) const noexcept;
};

}  // namespace weir::limiter
