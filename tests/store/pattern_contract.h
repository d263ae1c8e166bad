#pragma once

#include "tests/store/world.h"

namespace weir::store::test {

/// Patterns in every shared store: random schedules with given times, reply by reply as the
/// local bank says, and as the naive lists do.
void patterns_are_those_of_the_local_bank(World& world, SharedStore& store, int rounds);
/// An event that is sent twice has happened once.
void an_event_that_is_sent_again_counts_once(World& world, SharedStore& store);
/// For a store that lends (PatternAsk): a caller that dies before acting leaves it to the next.
void what_is_lent_comes_back_unless_it_is_seen_to(World& world, SharedStore& store);
/// For a store that lends: acting on one deadline of a key says nothing about another.
void two_leases_of_one_key_are_two(World& world, SharedStore& store);
void whole_pattern_contract(World& world, SharedStore& store, int rounds);

}  // namespace weir::store::test
