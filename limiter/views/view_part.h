#pragma once

#include <cstdint>

#include "core/number.h"
#include "limiter/views/sums.h"

namespace weir::limiter {

/// The counts of one key, or of all keys together, in one pane: the fields that the view's metric
/// needs.
struct ViewPart {
  /// The most events of a part that replicas exchange: sums of such parts fit into 64 bits.
  static constexpr std::int64_t kEventsMax = std::int64_t{1} << 48;

  std::int64_t events = 0;  ///< count, sum, average
  Sum sum;                  ///< sum, average
  Number best;              ///< minimum, maximum, if `any`
  bool any = false;
};

/// A pane as a whole, whatever keys it has.
struct ViewPane {
  std::int64_t start = 0;  ///< Unix ms; of a view without an end its only pane's
  std::int64_t first = 0;  ///< the earliest and the latest event
  std::int64_t last = 0;
  std::int64_t events = 0;
  ViewPart whole;  ///< of distinct: nothing
};

}  // namespace weir::limiter
