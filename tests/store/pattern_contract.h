#pragma once

#include "tests/store/world.h"

namespace weir::store::test {

/// Patterns in every shared store: random schedules with given times, reply by reply as the
/// local bank says, and as the naive lists do.
void patterns_are_those_of_the_local_bank(World& world, SharedStore& store, int rounds);
/// An event that is sent twice has happened once.
void an_event_that_is_sent_again_counts_once(World& world, SharedStore& store);
/// A store with leases (PatternAsk): if a caller dies before it acts, the next caller acts.
void what_is_lent_comes_back_unless_it_is_seen_to(World& world, SharedStore& store);
/// A store with leases: two deadlines of one key have a lease each.
void two_leases_of_one_key_are_two(World& world, SharedStore& store);
void whole_pattern_contract(World& world, SharedStore& store, int rounds);

}  // namespace weir::store::test
