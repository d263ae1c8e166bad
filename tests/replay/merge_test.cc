#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "replay/event_verdicts.h"
#include "replay/key_maxima.h"
#include "replay/row_pieces.h"
#include "replay/timeline.h"
#include "tests/replay/world.h"
#include "tests/support/seed.h"

namespace weir::replay::merge_test {
namespace {

struct MergeTest : testing::Test {
  MergeTest() { RecordProperty("seed", std::to_string(seed)); }
  const std::uint32_t seed = ::weir::test::new_seed();
  std::mt19937_64 random{seed};
};

std::vector<double> values_of(const KeyMaxima& maxima) {
  std::vector<double> out;
  maxima.each([&](double value) { out.push_back(value); });
  std::sort(out.begin(), out.end());
  return out;
}

TEST_F(MergeTest, maxima_of_parts_are_those_of_all) {
  SCOPED_TRACE(seed);
  // Some keys are of both parts, and in the last round all together are more than are kept.
  for (const std::size_t keys : {std::size_t{0}, std::size_t{10}, std::size_t{5'000},
                                 KeyMaxima::kKeys + KeyMaxima::kKeys / 4}) {
    KeyMaxima all, left, right;
    for (std::size_t i = 0; i < keys; ++i) {
      const Hash128 key{random(), 0};
      const double value = static_cast<double>(random() % 100);
      all.add(key, value);
      (i % 3 == 0 ? left : right).add(key, value);
      if (i % 5 != 0) continue;
      all.add(key, value + 1);
      (i % 2 == 0 ? left : right).add(key, value + 1);
    }
    left.merge(right);
    EXPECT_EQ(left.keys(), all.keys());
    EXPECT_EQ(left.sampled(), all.sampled());
    EXPECT_EQ(left.sampled(), keys > KeyMaxima::kKeys);
    EXPECT_EQ(values_of(left), values_of(all));
  }
}

TEST_F(MergeTest, a_sample_takes_in_what_is_complete_and_the_other_way_round) {
  SCOPED_TRACE(seed);
  KeyMaxima all, few, many;
  for (std::size_t i = 0; i < KeyMaxima::kKeys * 5 / 4; ++i) {
    const Hash128 key{random(), 0};
    all.add(key, static_cast<double>(i));
    (i % 8 == 0 ? few : many).add(key, static_cast<double>(i));
  }
  ASSERT_TRUE(many.sampled());
  ASSERT_FALSE(few.sampled());
  KeyMaxima into_few = few, into_many = many;
  into_few.merge(many);
  into_many.merge(few);
  EXPECT_EQ(values_of(into_few), values_of(all));
  EXPECT_EQ(values_of(into_many), values_of(all));
}

TEST_F(MergeTest, time_lines_of_parts_are_those_of_all) {
  SCOPED_TRACE(seed);
  for (const std::int64_t span : {1LL, 59'000LL, 3'600'000LL, 90'000'000LL, 40'000'000'000LL}) {
    Timeline all, left, right;
    for (int i = 0; i < 200; ++i) {
      const TimePoint time = from_ms(
          1'700'000'000'000 + static_cast<std::int64_t>(random() % 1'000'000) * span / 1'000'000);
      const auto effect = static_cast<Action>(random() % 6);
      all.add(time, effect);
      (time < from_ms(1'700'000'000'000 + span / 2) ? left : right).add(time, effect);
    }
    Timeline backwards = right;
    backwards.merge(left);
    left.merge(right);
    for (const Timeline* merged : {&left, &backwards}) {
      EXPECT_EQ(merged->width(), all.width());
      EXPECT_EQ(merged->start(), all.start());
      EXPECT_EQ(merged->columns(), all.columns());
    }
  }
}

TEST_F(MergeTest, a_time_line_of_nothing_changes_nothing) {
  Timeline some, nothing;
  some.add(from_ms(5'000'000), Action::flag);
  Timeline merged = some;
  merged.merge(nothing);
  EXPECT_EQ(merged.columns(), some.columns());
  nothing.merge(some);
  EXPECT_EQ(nothing.columns(), some.columns());
  EXPECT_EQ(nothing.start(), some.start());
}

constexpr const char* kFlags =
    "policies:\n  - {name: p, watch: request, key: ip, window: 1m, then: [{over: 1, do: flag}]}\n";

TEST_F(MergeTest, the_severest_verdict_counts_once) {
  const TestEngine engine(kFlags);
  Tally tally(engine->set());
  EventVerdicts first(EventVerdicts::Keep::all), second(EventVerdicts::Keep::severe),
      third(EventVerdicts::Keep::severe);
  const std::vector<std::array<Action, 3>> events{{Action::none, Action::none, Action::none},
                                                  {Action::none, Action::flag, Action::flag},
                                                  {Action::deny, Action::flag, Action::none},
                                                  {Action::flag, Action::flag, Action::none},
                                                  {Action::none, Action::none, Action::flag}};
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TimePoint time = from_ms(static_cast<std::int64_t>(i) * 1000);
    policies::Verdict verdict;
    verdict.effect = events[i][0];
    tally.set_time(time);
    tally.judged(verdict);
    first.add(time, events[i][0]);
    second.add(time, events[i][1]);
    third.add(time, events[i][2]);
  }
  first.apply(second, tally);
  first.apply(third, tally);
  EXPECT_EQ(tally.events(), 5u);
  EXPECT_EQ(tally.effect(Action::none), 1u);
  EXPECT_EQ(tally.effect(Action::flag), 3u);
  EXPECT_EQ(tally.effect(Action::deny), 1u);
  std::array<std::uint64_t, 6> sums{};
  for (const auto& column : tally.timeline().columns()) {
    for (std::size_t e = 0; e < sums.size(); ++e) sums[e] += column[e];
  }
  EXPECT_EQ(sums[static_cast<std::size_t>(Action::flag)], 3u);
  EXPECT_EQ(sums[static_cast<std::size_t>(Action::none)], 1u);
}

TEST_F(MergeTest, tallies_of_policies_add_up) {
  PolicyTally left, right;
  left.rungs = {1, 2};
  right.rungs = {10, 20};
  left.events = 5;
  right.events = 7;
  left.matches = {1, 0, 2};
  right.matches = {3, 4, 0};
  left.listed = 1;
  right.listed = 2;
  right.has_values = true;
  left.maxima.add({1, 1}, 3);
  right.maxima.add({2, 2}, 4);
  left.hits[1] = {"a", from_ms(1), Number{3}, 0, 2};
  right.hits[2] = {"b", from_ms(2), Number{4}, 1, 3};
  left.cells[{0, 5.0}] = 1;
  right.cells[{0, 5.0}] = 2;
  right.cells[{1, 6.0}] = 3;
  left.confirmed = {"a"};
  right.confirmed = {"b"};
  left.merge(std::move(right));
  EXPECT_EQ(left.events, 12u);
  EXPECT_EQ(left.rungs, (std::vector<std::uint64_t>{11, 22}));
  EXPECT_EQ(left.verdicts(), 33u);
  EXPECT_EQ(left.matches, (std::array<std::uint64_t, 3>{4, 4, 2}));
  EXPECT_EQ(left.listed, 3u);
  EXPECT_TRUE(left.has_values);
  EXPECT_EQ(left.maxima.keys(), 2u);
  ASSERT_EQ(left.hits.size(), 2u);
  EXPECT_EQ(left.hits.at(2).text, "b");
  EXPECT_EQ((left.cells[{0, 5.0}]), 3u);
  EXPECT_EQ((left.cells[{1, 6.0}]), 3u);
  EXPECT_EQ(left.confirmed.size(), 2u);
  PolicyTally nothing;
  nothing.rungs = {0, 0};
  nothing.merge(std::move(left));
  EXPECT_EQ(nothing.maxima.keys(), 2u);
  EXPECT_EQ(nothing.events, 12u);
}

TEST_F(MergeTest, pieces_stand_in_the_order_of_step_time_and_rank) {
  RowPieces left, right;
  const auto add = [](RowPieces& to, std::string text, std::uint64_t step, std::int64_t time,
                      std::uint32_t rank) {
    const std::size_t begin = to.text.size();
    to.text += text;
    to.add(step, time, rank, begin);
  };
  add(left, "b", 1, 0, 5);
  add(left, "a", 1, 0, 2);  // reported late, sorted early
  add(left, "f", 3, 10, 1);
  add(left, "g", 3, 10, 1);  // equal: as it came
  add(right, "c", 1, 0, 7);
  add(right, "d", 2, 0, 0);
  add(right, "e", 3, 5, 9);
  std::string out;
  std::array<RowPieces*, 2> parts{&left, &right};
  merge_pieces(parts, [&](std::string_view text) { out += text; });
  EXPECT_EQ(out, "abcdefg");
  EXPECT_TRUE(left.pieces.empty());
  EXPECT_TRUE(right.text.empty());
}

}  // namespace
}  // namespace weir::replay::merge_test
