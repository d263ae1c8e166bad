#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/limiter/pattern_feeding.h"
#include "tests/support/seed.h"

namespace weir::limiter::patterns_test {
namespace {

using namespace pattern_feeding;
using ::testing::ElementsAre;

TEST(Sequence, within_includes_its_end) {
  EXPECT_THAT(Feeding::of(sequence(2'000), {{0, kA}, {2'000, kB}}),
              ElementsAre(Row{2'000, kMatched, {1, 2}}));
  EXPECT_THAT(Feeding::of(sequence(2'000), {{0, kA}, {2'001, kB}}), ElementsAre());
}

TEST(Sequence, an_a_matches_the_next_b_only) {
  EXPECT_THAT(Feeding::of(sequence(100), {{0, kA}, {1, kB}, {2, kB}}),
              ElementsAre(Row{1, kMatched, {1, 2}}));
}

TEST(Sequence, every_a_before_it_matches_a_b) {
  EXPECT_THAT(Feeding::of(sequence(100), {{0, kA}, {1, kA}, {2, kB}}),
              ElementsAre(Row{2, kMatched, {1, 3}}, Row{2, kMatched, {2, 3}}));
}

TEST(Sequence, the_same_event_twice_overlaps_unless_told_otherwise) {
  const std::vector<Told> three{{0, kA | kB}, {1, kA | kB}, {2, kA | kB}};
  PatternSpec spec = sequence(10);
  EXPECT_THAT(Feeding::of(spec, three),
              ElementsAre(Row{1, kMatched, {1, 2}}, Row{2, kMatched, {2, 3}}));
  spec.overlap = false;
  EXPECT_THAT(Feeding::of(spec, three), ElementsAre(Row{1, kMatched, {1, 2}}));
}

TEST(Sequence, without_overlap_a_match_uses_up_all_that_was_open) {
  PatternSpec spec = sequence(10);
  spec.overlap = false;
  EXPECT_THAT(Feeding::of(spec, {{0, kA}, {1, kA}, {2, kB}, {3, kB}}),
              ElementsAre(Row{2, kMatched, {1, 3}}));
}

TEST(Sequence, strict_ends_at_another_event_of_among_and_at_no_other) {
  PatternSpec spec = sequence(10);
  EXPECT_THAT(Feeding::of(spec, {{0, kA, true}, {1, 0, true}, {2, kB, true}}),
              ElementsAre(Row{2, kMatched, {1, 3}}));
  spec.strict = true;
  EXPECT_THAT(Feeding::of(spec, {{0, kA, true}, {1, 0, true}, {2, kB, true}}), ElementsAre());
  EXPECT_THAT(Feeding::of(spec, {{0, kA, true}, {1, 0, false}, {2, kB, true}}),
              ElementsAre(Row{2, kMatched, {1, 3}}));
  EXPECT_THAT(Feeding::of(spec, {{0, kA, true}, {1, kA, true}, {2, kB, true}}),
              ElementsAre(Row{2, kMatched, {2, 3}}));
}

TEST(Sequence, in_order_of_arrival_the_own_times_are_compared) {
  // Long behind the watermark, and yet a pair; the reverse is none.
  EXPECT_THAT(Feeding::of(sequence(2'000), {{90'000, 0, true}, {42'000, kA}, {43'000, kB}}),
              ElementsAre());  // the default forgets what no event in time can complete
  PatternLimits limits;
  limits.forgets = false;
  Feeding run(sequence(2'000), limits);
  for (const Told told :
       {Told{90'000, 0, true}, Told{42'000, kA}, Told{41'000, kB}, Told{43'000, kB}}) {
    run.feed(told);
    run.advance();
  }
  EXPECT_THAT(run.rows(), ElementsAre(Row{43'000, kMatched, {2, 4}}));
}

TEST(Absence, fires_when_the_watermark_passes_its_time_and_is_stamped_with_it) {
  Feeding run(absence(900));
  run.feed({100, kA});
  run.advance(999);
  EXPECT_THAT(run.rows(), ElementsAre());
  run.advance(5'000);
  EXPECT_THAT(run.rows(), ElementsAre(Row{1'000, kTimeout, {1}}));
  run.advance(9'000);
  EXPECT_EQ(run.matches_.size(), 1U);
}

TEST(Absence, a_b_at_the_end_of_the_time_counts_and_one_later_does_not) {
  EXPECT_THAT(Feeding::of(absence(900), {{0, kA}, {900, kB}, {5'000, 0, true}}), ElementsAre());
  EXPECT_THAT(Feeding::of(absence(900), {{0, kA}, {901, kB}}),
              ElementsAre(Row{900, kTimeout, {1}}));
}

TEST(Absence, events_of_one_millisecond_keep_their_order_of_arrival) {
  EXPECT_THAT(Feeding::of(absence(10), {{4, kB}, {5, kA}, {99, 0, true}}),
              ElementsAre(Row{15, kTimeout, {2}}));
  EXPECT_THAT(Feeding::of(absence(10), {{5, kB}, {5, kA}, {99, 0, true}}),
              ElementsAre(Row{15, kTimeout, {2}}));
  EXPECT_THAT(Feeding::of(absence(10), {{5, kA}, {5, kB}, {99, 0, true}}), ElementsAre());
}

TEST(Absence, tied_events_of_one_time_have_no_order) {
  PatternSpec spec = absence(10);
  spec.tied = true;
  EXPECT_THAT(Feeding::of(spec, {{5, kB}, {5, kA}, {99, 0, true}}), ElementsAre());
  EXPECT_THAT(Feeding::of(spec, {{5, kA}, {5, kB}, {99, 0, true}}), ElementsAre());
  EXPECT_THAT(Feeding::of(spec, {{4, kB}, {5, kA}, {99, 0, true}}),
              ElementsAre(Row{15, kTimeout, {2}}));
}

TEST(Absence, one_b_answers_every_a_that_it_can) {
  EXPECT_THAT(Feeding::of(absence(10), {{0, kA}, {5, kA}, {6, kB}, {99, 0, true}}), ElementsAre());
}

TEST(Absence, what_is_pending_at_the_end_of_input_needs_a_flush) {
  EXPECT_THAT(Feeding::of(absence(10), {{5, kA}}), ElementsAre());
  EXPECT_THAT(Feeding::of(absence(10), {{5, kA}}, true), ElementsAre(Row{15, kTimeout, {1}}));
}

TEST(Absence, an_event_may_wait_for_the_next_of_its_kind) {
  constexpr std::uint8_t kBeat = kA | kB;
  EXPECT_THAT(Feeding::of(absence(10), {{0, kBeat}, {8, kBeat}, {8, kBeat}, {99, kBeat}}),
              ElementsAre(Row{18, kTimeout, {3}}));
}

TEST(Pair, bounds_are_inclusive_on_both_sides) {
  const PatternSpec spec = pair(3, 5);
  EXPECT_THAT(Feeding::of(spec, {{0, kA}, {5, kB}, {50, 0, true}}),
              ElementsAre(Row{5, kMatched, {1, 2}}));
  EXPECT_THAT(Feeding::of(spec, {{0, kB}, {3, kA}, {50, 0, true}}),
              ElementsAre(Row{3, kMatched, {2, 1}}));
  EXPECT_THAT(Feeding::of(spec, {{0, kA}, {6, kB}, {50, kA}}),
              ElementsAre(Row{5, kUnmatched, {1}}, Row{9, kUnmatched, {2}}));
  EXPECT_THAT(Feeding::of(spec, {{0, kB}, {4, kA}, {50, kA}}),
              ElementsAre(Row{3, kUnmatched, {1}}, Row{9, kUnmatched, {2}}));
}

TEST(Pair, is_one_to_one_and_takes_the_oldest) {
  EXPECT_THAT(
      Feeding::of(pair(5, 5), {{0, kA}, {1, kA}, {2, kB}, {3, kB}, {4, kB}}, true),
      ElementsAre(Row{2, kMatched, {1, 3}}, Row{3, kMatched, {2, 4}}, Row{9, kUnmatched, {5}}));
}

TEST(Pair, without_within_waits_for_the_end_of_input) {
  PatternSpec spec = pair(0, 0);
  spec.endless = true;
  EXPECT_THAT(Feeding::of(spec, {{0, kA}, {90'000, kB}, {100'000, kB}}),
              ElementsAre(Row{90'000, kMatched, {1, 2}}, Row{100'000, kUnmatched, {3}}));
}

TEST(PatternBank, timers_fire_in_the_order_of_their_time_then_of_arrival) {
  Feeding run(absence(10));
  for (std::uint64_t i = 0; i < 60; ++i) {
    run.feed({from_ms(static_cast<std::int64_t>(20 - i / 3)), i + 1, kA, false, {}}, {i * 77, i});
  }
  run.advance(1'000);
  ASSERT_EQ(run.matches_.size(), 60U);
  for (std::size_t i = 1; i < 60; ++i) {
    const PatternMatch& a = run.matches_[i - 1];
    const PatternMatch& b = run.matches_[i];
    EXPECT_TRUE(a.fires < b.fires || (a.fires == b.fires && a.events[0].line < b.events[0].line));
  }
  EXPECT_EQ(run.bank_.stats().open, 0U);
  EXPECT_EQ(run.bank_.stats().keys, 0U);
  EXPECT_EQ(run.bank_.stats().memory_used, 0U);
}

TEST(PatternBank, what_waits_gives_its_payload_back) {
  Feeding run(absence(10));
  run.feed({from_ms(0), 7, kA, false, "user 17"});
  run.advance(10);
  ASSERT_EQ(run.matches_.size(), 1U);
  EXPECT_EQ(run.matches_[0].payload, "user 17");
}

TEST(PatternBank, keep_bounds_a_key_and_counts_what_it_drops) {
  for (PatternSpec spec : {sequence(1'000'000), absence(1'000'000), pair(1'000'000, 1'000'000)}) {
    spec.keep = 5;
    Feeding run(spec);
    for (int i = 0; i < 12; ++i) run.feed({i, kA});
    EXPECT_EQ(run.bank_.stats().open, 5U);
    EXPECT_EQ(run.bank_.stats().dropped, 7U);
  }
}

TEST(PatternBank, memory_is_bounded_and_those_without_an_open_match_go_first) {
  PatternLimits limits;
  limits.memory = 64 << 10;
  limits.shards = 1;
  Feeding run(absence(1'000'000), limits);
  for (std::uint64_t i = 1; i <= 40; ++i) run.feed({from_ms(0), i, kA, false, {}}, {i, i});
  for (std::uint64_t i = 100; i < 5'000; ++i) run.feed({from_ms(1), i, kB, false, {}}, {i, i});
  EXPECT_LE(run.bank_.stats().memory_used, limits.memory);
  EXPECT_EQ(run.bank_.stats().open, 40U);
  EXPECT_EQ(run.bank_.stats().dropped, 0U);
  for (std::uint64_t i = 10'000; i < 15'000; ++i) run.feed({from_ms(2), i, kA, false, {}}, {i, i});
  const PatternStats stats = run.bank_.stats();
  EXPECT_LE(stats.memory_used, limits.memory);
  EXPECT_EQ(stats.open + stats.dropped, 5'040U);
}

TEST(PatternBank, what_can_no_longer_complete_is_let_go) {
  Feeding run(sequence(100));
  run.feed({0, kA});
  run.advance(1'100);
  EXPECT_EQ(run.bank_.stats().keys, 1U);
  run.advance(1'101);
  EXPECT_EQ(run.bank_.stats().keys, 0U);
  EXPECT_EQ(run.bank_.stats().dropped, 0U);
}

TEST(PatternBank, a_peek_changes_nothing) {
  Feeding run(sequence(100));
  run.feed({0, kA});
  const PatternEvent b{from_ms(5), 2, kB, false, {}};
  for (int i = 0; i < 2; ++i) {
    const PatternView view = run.bank_.peek(run.id_, {3, 4}, b);
    EXPECT_TRUE(view.completes);
    EXPECT_EQ(view.open, 1U);
    EXPECT_EQ(view.furthest, 1U);
  }
  EXPECT_FALSE(run.bank_.peek(run.id_, {3, 5}, b).completes);
}

TEST(PatternBank, a_closed_pattern_forgets_and_its_id_does_nothing) {
  Feeding run(absence(10));
  run.feed({0, kA});
  run.bank_.close_unused({});
  run.feed({1, kA});
  run.advance(1'000);
  EXPECT_THAT(run.rows(), ElementsAre());
  const PatternId again = *run.bank_.open({1, 2}, absence(10));
  EXPECT_NE(again, run.id_);
  EXPECT_EQ(run.bank_.stats().keys, 0U);
}

TEST(PatternBank, equal_identities_are_one_pattern) {
  Feeding run(absence(10));
  EXPECT_EQ(*run.bank_.open({1, 2}, absence(10)), run.id_);
  const PatternId used[] = {run.id_};
  run.feed({0, kA});
  run.bank_.close_unused(used);
  run.advance(10);
  EXPECT_THAT(run.rows(), ElementsAre(Row{10, kTimeout, {1}}));
}

TEST(PatternBank, keep_and_late_change_under_open_matches) {
  PatternSpec narrow = absence(10);
  narrow.keep = 1;
  Feeding run(narrow);
  run.feed({0, kA});
  PatternSpec wide = narrow;
  wide.keep = 2;
  wide.late = milliseconds{5'000};
  EXPECT_EQ(*run.bank_.open({1, 2}, wide), run.id_) << "of the same shape";
  run.feed({1, kA});
  EXPECT_EQ(run.bank_.stats().open, 1U) << "not yet: a reload may still be refused";
  EXPECT_EQ(run.bank_.stats().dropped, 1U);
  run.bank_.tune(run.id_, wide);
  run.feed({2, kA});
  EXPECT_EQ(run.bank_.stats().open, 2U);
  EXPECT_EQ(run.bank_.stats().dropped, 1U);
  const PatternId used[] = {run.id_};
  run.bank_.close_unused(used);
  EXPECT_EQ(run.bank_.stats().open, 2U);
  EXPECT_NE(*run.bank_.open({1, 2}, absence(11)), run.id_) << "another time is another pattern";
}

TEST(PatternBank, times_beyond_reason_are_nobodys) {
  Feeding run(absence(10));
  run.feed({INT64_MAX, kA});
  run.feed({INT64_MIN, kA});
  EXPECT_EQ(run.bank_.stats().keys, 0U);
}

// --- Against the naive models
// -------------------------------------------------------------------------

std::vector<PatternEvent> random_events(Chance& chance, std::size_t steps, bool ordered) {
  std::vector<PatternEvent> out;
  std::int64_t ts = 1'000;
  const auto n = static_cast<std::size_t>(chance.upto(30));
  for (std::size_t i = 0; i < n; ++i) {
    ts += chance.upto(4);
    const std::int64_t shown = ordered ? ts : std::max<std::int64_t>(1'000, ts - chance.upto(6));
    const auto roles = static_cast<std::uint8_t>(chance.upto((1 << steps) - 1) & chance.upto(255));
    out.push_back({from_ms(shown), i + 1, roles, chance.once_in(3), {}});
  }
  return out;
}

class Random : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Random, sequences_are_those_of_the_naive_list) {
  Chance chance(GetParam());
  for (int round = 0; round < 300; ++round) {
    PatternSpec spec = sequence(chance.upto(12));
    spec.steps = static_cast<std::uint8_t>(2 + chance.upto(2));
    spec.strict = chance.once_in(2);
    spec.overlap = chance.once_in(2);
    const bool ordered = chance.once_in(2);
    const auto events = random_events(chance, spec.steps, ordered);
    PatternLimits limits;
    limits.forgets = ordered;
    spec.late = milliseconds{0};
    Feeding run(spec, limits);
    std::size_t told = 0;
    for (const PatternEvent& event : events) {
      // In order nothing comes at or before the watermark: the dropped entries are of no use.
      if (ordered) run.advance(to_ms(event.ts) - 1);
      const bool completes = run.bank_.peek(run.id_, {3, 4}, event).completes;
      run.feed(event);
      EXPECT_EQ(completes, run.matches_.size() != told);
      told = run.matches_.size();
    }
    ASSERT_EQ(run.rows(), naive::sequence(spec, events))
        << "seed " << GetParam() << " round " << round;
  }
}

TEST_P(Random, absences_are_those_of_the_naive_list) {
  Chance chance(GetParam());
  for (int round = 0; round < 300; ++round) {
    PatternSpec spec = absence(chance.upto(12));
    spec.tied = chance.once_in(2);
    const bool ordered = chance.once_in(2);
    const auto events = random_events(chance, 2, ordered);
    PatternLimits limits;
    limits.forgets = ordered;
    spec.late = milliseconds{0};
    Feeding run(spec, limits);
    for (const PatternEvent& event : events) {
      if (ordered) run.advance(to_ms(event.ts) - 1);
      run.feed(event);
    }
    run.end(true);
    auto expected = naive::absence(spec, events);
    auto rows = run.rows();
    ASSERT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return std::get<0>(a) < std::get<0>(b);
    }));
    std::sort(rows.begin(), rows.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(rows, expected) << "seed " << GetParam() << " round " << round;
  }
}

TEST_P(Random, pairs_are_as_many_as_can_be_and_nothing_is_lost) {
  Chance chance(GetParam());
  for (int round = 0; round < 300; ++round) {
    PatternSpec spec = pair(chance.upto(6), chance.upto(6));
    spec.endless = chance.once_in(8);
    auto events = random_events(chance, 2, true);
    for (PatternEvent& event : events) {
      if (event.steps == 3) event.steps = chance.once_in(2) ? kA : kB;
    }
    Feeding run(spec);
    for (const PatternEvent& event : events) {
      run.advance(to_ms(event.ts) - 1);
      run.feed(event);
    }
    run.end(true);
    std::size_t matched = 0;
    std::vector<std::uint64_t> seen;
    for (const PatternMatch& match : run.matches_) {
      if (match.kind == MatchKind::matched) {
        ++matched;
        ASSERT_EQ(match.count, 2);
        const milliseconds apart = match.events[1].ts - match.events[0].ts;
        EXPECT_TRUE(spec.endless || (apart >= -spec.before && apart <= spec.after));
        EXPECT_EQ(match.fires, std::max(match.events[0].ts, match.events[1].ts));
      } else {
        ASSERT_EQ(match.kind, MatchKind::unmatched);
        ASSERT_EQ(match.count, 1);
        if (!spec.endless) {
          EXPECT_EQ(match.fires,
                    match.events[0].ts + (match.events[0].step == 0 ? spec.after : spec.before));
        }
      }
      for (std::size_t i = 0; i < match.count; ++i) seen.push_back(match.events[i].line);
    }
    EXPECT_EQ(matched, naive::most_pairs(spec, events))
        << "seed " << GetParam() << " round " << round;
    std::vector<std::uint64_t> given;
    for (const PatternEvent& event : events) {
      if (event.steps != 0) given.push_back(event.line);
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, given) << "seed " << GetParam() << " round " << round;
  }
}

TEST_P(Random, a_restart_in_between_changes_nothing) {
  Chance chance(GetParam());
  for (int round = 0; round < 60; ++round) {
    PatternSpec spec = chance.once_in(3)   ? sequence(9)
                       : chance.once_in(2) ? absence(9)
                                           : pair(4, 7);
    const auto events = random_events(chance, 2, true);
    const auto cut = static_cast<std::size_t>(chance.upto(30));
    std::vector<Row> rows[2];
    for (const bool restarts : {false, true}) {
      auto run = std::make_unique<Feeding>(spec);
      for (std::size_t i = 0; i < events.size(); ++i) {
        run->advance(to_ms(events[i].ts) - 1);
        if (restarts && i == cut) {
          std::string snapshot;
          run->bank_.export_all(events[i].ts, snapshot);
          auto next = std::make_unique<Feeding>(spec);
          ASSERT_EQ(*next->bank_.import(snapshot, events[i].ts), run->bank_.stats().keys);
          EXPECT_EQ(next->bank_.stats().open, run->bank_.stats().open);
          next->matches_ = std::move(run->matches_);
          run = std::move(next);
        }
        run->feed(events[i], {static_cast<std::uint64_t>(i % 3), 9});
      }
      run->end(true);
      rows[restarts ? 1 : 0] = run->rows();
      // Matches that fire at one time keep no order across a restart.
      std::sort(rows[restarts ? 1 : 0].begin(), rows[restarts ? 1 : 0].end());
    }
    ASSERT_EQ(rows[0], rows[1]) << "seed " << GetParam() << " round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, Random,
                         ::testing::Values(1U, 20260U, 777U, ::weir::test::new_seed()));

}  // namespace
}  // namespace weir::limiter::patterns_test
