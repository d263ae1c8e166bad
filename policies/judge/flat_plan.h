#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "limiter/counters/charging.h"
#include "policies/judge/judging.h"

namespace weir::policies {

/// A policy that needs nothing of an event but its key, and what no event changes about it.
struct FlatPolicy {
  FlatPolicy(const Judging& work, const Policy& of, std::uint16_t binding_index);

  const Policy* policy;
  const Binding* binding;
  const Counter* counter;
  StatsCells* cells;
  limiter::Charging charging;
  bool wall_clock, capped = false;
  std::int64_t calm;  ///< no rung holds while the reading is no higher

  // Of one event. Beside the key, only the reading and its undo change.
  PlannedCounter planned;
  limiter::Table::Place place{};

  /// As is_calm() of the ladder.
  bool is_calm() const noexcept {
    const limiter::Reading& reading = planned.reading;
    return !reading.value.is_real() && reading.value.integer() <= calm &&
           reading.settled.integer() <= calm;
  }
  /// Nothing but a missing field keeps it from charging the counter.
  void charge(Instant at) noexcept {
    charging.move_to(wall_clock ? at.wall : at.now);
    planned.undo = {};
    planned.reading = {};
    charging.charge(place, planned.amount, capped ? &planned.ceiling : nullptr, &planned.undo,
                    planned.reading);
  }
};

/// The plan of all events of one route, where every policy that watches them is a FlatPolicy: a
/// list to be walked through.
struct FlatPlan {
  std::vector<FlatPolicy> policies;  ///< that count every one of the events
  std::vector<FlatPolicy> outcomes;  ///< that count those whose answer says so

  /// What an answer makes of the outcomes, by its status: found when the first such answer comes.
  enum class Comes : std::uint8_t { unknown, nothing, something };
  bool is_by_status = false;  ///< the answer's status alone decides the open events
  std::array<Comes, 1000> comes{};

  // The same as a Plan has it, for the few events that come under a rung.
  std::vector<PlannedPolicy> planned;
  std::vector<std::optional<Number>> limits;
};

/// Null: some policy needs more than its key.
std::unique_ptr<FlatPlan> make_flat_plan(const Judging& work,
                                         const std::vector<EventIndex>& open_events,
                                         const std::vector<PolicySet::Watcher>& watchers);

}  // namespace weir::policies
