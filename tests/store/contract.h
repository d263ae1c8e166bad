#pragma once

#include "tests/store/world.h"

namespace weir::store::test {

/// The contract of every shared store: each kind over random schedules with given times,
/// against a naive list of events. All kinds at once, so that calls are shared as in a busy turn.
/// `own`, if given: a store for each stream, for one that wants the times of all its keys to run
/// together.
void every_kind_counts_as_a_naive_list(World& world, SharedStore& store, int steps,
                                       const std::function<SharedStore&()>& own = {});

/// No trailing window ever admits more than the limit, and reads as promised; burst and sustained.
void no_trailing_window_admits_more(World& world, SharedStore& store);
void keeps_what_keep_says(World& world, SharedStore& store);
void parts_are_all_or_nothing(World& world, SharedStore& store);
void reservations_of_the_dead_end(World& world, SharedStore& store);
void events_in_flight_are_counted(World& world, SharedStore& store);
/// Within a radius (near_contract.cc).
void what_is_near_counts_as_a_naive_list(World& world, SharedStore& store, int steps);
/// Amounts within a radius, in a cell with more events than it keeps.
void a_full_cell_reads_all_that_it_keeps(World& world, SharedStore& store);
/// Of replicas that exchange their counts (exchange_contract.cc).
void what_exchanges_rest_on(World& world, SharedStore& store);
void whole_contract(World& world, SharedStore& store, int steps,
                    const std::function<SharedStore&()>& own = {});

}  // namespace weir::store::test
