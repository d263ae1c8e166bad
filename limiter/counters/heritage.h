#pragma once

#include <cstdint>

#include "core/key.h"
#include "limiter/kinds/counter.h"

namespace weir::limiter {

/// What a counter of the same `what` must know of another to begin with its events.
struct Heritage {
  Hash128 what;
  Metric metric = Metric::count;
  Window window = Window::ring;
  bool real = false;
  std::int64_t quantum = 1;
  std::int64_t kept = 0;  ///< ms: how far back it has every event

  static Heritage of(const Counter& counter) noexcept;
  /// Whether all that `heir` reads is kept, and can be told from it. A log tells everything; of a
  /// ring only when its buckets add up to the heir's, as its events have no times of their own.
  bool fits(const Counter& heir) const noexcept;
};

}  // namespace weir::limiter
