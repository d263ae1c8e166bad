#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/clock.h"
#include "limiter/counters/bank.h"
#include "limiter/counters/open_times.h"
#include "limiter/kinds/counter.h"
#include "limiter/kinds/table.h"

namespace weir::limiter {

/// A counter, and its data that only the control thread uses.
struct Bank::Held : OpenTimes {
  Counter counter;
  std::unique_ptr<Table> own;
  std::size_t own_keys = 0, own_bytes = 0;
  std::uint64_t closing = 0;       ///< a running number: which was closed first
  bool waits_for_history = false;  ///< it waits for its initial events (HistoryCopier)
  bool gone = false;               ///< dropped, and its keys are removed
  TimePoint gone_at{};
};

}  // namespace weir::limiter
