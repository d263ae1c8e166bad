#pragma once

#include <algorithm>

#include "core/clock.h"

namespace weir::authz {

/// How long a caller still waits for its answer; max(): without end. A `delay` that holds a request
/// for longer refuses it (gate::Waiter::set_longest_hold()).
inline milliseconds time_until(TimePoint deadline, TimePoint now) noexcept {
  if (deadline == TimePoint::max()) return milliseconds::max();
  return std::max(deadline - now, milliseconds{0});
}

}  // namespace weir::authz
