#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/clock.h"
#include "limiter/patterns/pattern.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// One match of a pattern policy, as it happens: views, alive for the call.
struct MatchedPattern {
  struct Event {
    std::string_view name;
    std::uint64_t line = 0;  ///< of its record; 0: none
    TimePoint ts;
  };
  const Policy* policy = nullptr;
  std::span<const std::string_view> key;  ///< printable parts
  limiter::MatchKind kind = limiter::MatchKind::matched;
  TimePoint fires;                ///< the last event's time, or the deadline that has passed
  std::span<const Event> events;  ///< in the order of the steps
};

/// Receives every match of a pattern (replay). Called on the driver's thread, within calls of the
/// Driver; the matches of one Driver::advance() come in the order of time.
class PatternSink {
 public:
  virtual ~PatternSink() = default;
  virtual void pattern(const MatchedPattern& match) = 0;
};

}  // namespace weir::policies
