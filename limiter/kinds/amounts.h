#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "limiter/kinds/counter_spec.h"

namespace weir::limiter {

/// An amount as an integer. One that comes as a double counts as the next integer above.
inline std::int64_t integer_of(Number amount) noexcept {
  if (!amount.is_real()) return amount.integer();
  const double up = std::ceil(amount.as_real());
  constexpr double kEdge = 9'223'372'036'854'775'808.0;
  if (!(up > -kEdge)) return std::numeric_limits<std::int64_t>::min();
  return up >= kEdge ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(up);
}

/// A sum that saturates. A sum that has reached the top stays there, whatever is subtracted later:
/// the true sum is unknown, and a sum never undercounts.
inline std::int64_t saturating_sum(std::int64_t a, std::int64_t b) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (a == kMost || b == kMost) return kMost;
  std::int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min() : kMost;
}

/// How many events one event counts as: 0 .. 2^31-1.
inline std::uint32_t count_of(const Amount& event) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      integer_of(event.amount), 0, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace weir::limiter
