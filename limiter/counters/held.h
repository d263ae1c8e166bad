#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/clock.h"
#include "limiter/counters/bank.h"
#include "limiter/counters/course.h"
#include "limiter/kinds/counter.h"
#include "limiter/kinds/table.h"

namespace weir::limiter {

/// A counter, and what only the control thread knows of it.
struct Bank::Held : Course {
  Counter counter;
  std::unique_ptr<Table> own;
  std::size_t own_keys = 0, own_bytes = 0;
  std::uint64_t closing = 0;  ///< a running number: which was closed first
  bool is_heir = false;       ///< it waits for what it begins with (Inheritance)
  bool gone = false;          ///< given up, and its keys are
  TimePoint gone_at{};
};

}  // namespace weir::limiter
