#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "limiter/counters/charging.h"
#include "policies/judge/judging.h"

namespace weir::policies {

/// A policy that needs only the key of an event, with its data that no event changes.
struct FlatPolicy {
  FlatPolicy(const Judging& work, const Policy& of, std::uint16_t index);

  const Policy* policy;
  const Binding* binding;
  std::uint16_t binding_index;
  const Event* event;
  const Counter* counter;
  StatsCells* cells;
  limiter::Charging charging;
  bool wall_clock, capped = false;
  std::int64_t calm;        ///< no rung holds while the reading is no higher
  std::uint64_t flags = 0;  ///< by bit: rungs that flag the event, and do nothing else

  // The state for one event. Beside the key, only the reading and its undo change.
  PlannedCounter planned;
  int held = -1;        ///< the rung that wins, if it is one of `flags`
  bool as_made = true;  ///< whether a charge in place leaves the reading and its undo as made
  limiter::Table::Place place{};
  bool is_placed = false;  ///< its key has no parts: it is at one place for all events

  /// As is_calm() of the ladder.
  bool is_calm() const noexcept {
    const limiter::Reading& reading = planned.reading;
    return !reading.value.is_real() && reading.value.integer() <= calm &&
           reading.settled.integer() <= calm;
  }
  /// It charges the counter unless a field is missing.
  void charge(Instant at) noexcept {
    held = -1;
    charging.move_to(wall_clock ? at.wall : at.now);
    if (!as_made) {  // most charges leave nearly all of both as it was, and it is much
      planned.undo = {};
      planned.reading = {};
    }
    planned.undo.what = limiter::Undo::What::nothing;
    planned.reading.stored = false;
    as_made = charging.charge(place, planned.amount, capped ? &planned.ceiling : nullptr,
                              &planned.undo, planned.reading);
  }
  /// Where its key is from now on.
  void put(const limiter::Table::Place& at) noexcept {
    place = at;
    is_placed = binding->key.empty() && binding->member_id == kNoKey && policy->own_lists.empty();
  }
  /// Finds the winning rung of a reading that is not calm. False: more than flags may hold, or the
  /// reservations of others count.
  bool find_flag() noexcept;
};

/// The plan of all events of one route, where every policy that watches them is a FlatPolicy: a
/// list to be walked through.
struct FlatPlan {
  std::vector<FlatPolicy> policies;  ///< that count every one of the events
  std::vector<FlatPolicy> outcomes;  ///< that count those whose answer matches

  /// Which outcomes come true, by the status of the answer: computed when the first answer with
  /// that status comes.
  bool is_by_status = false;  ///< the answer's status alone decides the open events
  static constexpr std::uint8_t kUnknown = 0, kUnclear = 1, kFirst = 2;
  std::array<std::uint8_t, 1000> by_status{};  ///< kUnclear: the general path; else into `came`
  std::vector<std::uint64_t> came;             ///< kFirst + i: by bit, outcomes that come true

  // The same as a Plan has it, for the few events that come under a rung.
  std::vector<PlannedPolicy> planned;
  std::vector<std::optional<Number>> limits;
};

/// The policy in a plan, where its reference to its counter and its limits come next.
PlannedPolicy planned_of(const FlatPolicy& policy, std::size_t first_counter,
                         std::size_t first_limit);

/// Null: some policy needs more than its key.
std::unique_ptr<FlatPlan> make_flat_plan(const Judging& work,
                                         const std::vector<EventIndex>& open_events,
                                         const std::vector<PolicySet::Watcher>& watchers);

}  // namespace weir::policies
