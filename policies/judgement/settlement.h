#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "policies/judgement/asking.h"
#include "policies/judgement/loaded.h"
#include "policies/judgement/plan.h"
#include "policies/lang/frame.h"

namespace weir::policies {

/// What must be observed of a request after it was passed: reservations, places in flight, resets.
/// Owned by whoever carries the request; reused: keeps its memory.
struct Settlement {
  std::shared_ptr<const Loaded> loaded;
  Captured captured;
  Instant at{};  ///< of the request: the events' ts
  std::vector<EventIndex> events, open_events;
  std::vector<PlannedPolicy> policies;  ///< those that reserved
  std::vector<PlannedCounter> counters;
  std::vector<std::uint16_t> counter_refs;
  std::vector<std::optional<Number>> limits;
  std::vector<PlannedCounter> in_flight;
  Asking asked;    ///< what holds the shared reservations and places in flight
  Asking closing;  ///< ends those of them whose readings are judged; not empty: submit it, then
                   ///< Evaluator::closed()
  std::vector<std::uint16_t> views;      ///< that wait for the answer
  TimePoint time{};                      ///< the event's own
  bool judged = true;                    ///< false: an allow list ended judging, only views count
  std::vector<PlannedPattern> patterns;  ///< those for which the answer decides what happened
  std::uint64_t line = 0;
  bool reserved = false;  ///< still to be settled
  /// The answer's instant: its event is still the request's.
  Instant answered_at(Instant now) const noexcept { return {now.now, now.wall, at.event, at.told}; }
  void clear();
};

}  // namespace weir::policies
