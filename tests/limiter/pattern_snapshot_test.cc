#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/limiter/pattern_feeding.h"

namespace weir::limiter::pattern_snapshot_test {
namespace {

using namespace pattern_feeding;

std::string snapshot_of(PatternBank& bank) {
  std::string out;
  bank.export_all(from_ms(1'000), out);
  return out;
}

TEST(PatternSnapshot, timers_survive_and_overdue_ones_fire_stamped_with_their_time) {
  Feeding before(absence(500));
  before.feed({from_ms(100), 0, kA, false, "who"});
  Feeding after(absence(500));
  ASSERT_EQ(*after.bank_.import(snapshot_of(before.bank_), from_ms(90'000)), 1U);
  EXPECT_EQ(after.bank_.due(), from_ms(600));
  after.advance(90'000);
  ASSERT_EQ(after.matches_.size(), 1U);
  EXPECT_EQ(after.matches_[0].fires, from_ms(600));
  EXPECT_EQ(after.matches_[0].payload, "who");
  EXPECT_EQ(after.matches_[0].pattern, after.id_);
}

TEST(PatternSnapshot, times_move_back_with_a_clock_that_does) {
  Feeding before(absence(500));
  before.feed({from_ms(900), 0, kA, false, {}});
  Feeding after(absence(500));
  ASSERT_TRUE(after.bank_.import(snapshot_of(before.bank_), from_ms(600)));
  EXPECT_EQ(after.bank_.due(), from_ms(1'000));
}

TEST(PatternSnapshot, what_is_not_open_or_has_another_shape_stays_behind) {
  Feeding before(absence(500));
  before.feed({0, kA});
  Feeding other(absence(600));
  EXPECT_EQ(*other.bank_.import(snapshot_of(before.bank_), from_ms(0)), 0U);
  PatternBank empty{PatternLimits{}};
  EXPECT_EQ(*empty.import(snapshot_of(before.bank_), from_ms(0)), 0U);
}

TEST(PatternSnapshot, taken_while_patterns_come_and_go_it_can_be_read) {
  Feeding before(absence(500));
  PatternBank& bank = before.bank_;
  for (std::uint64_t i = 0; i < 200; ++i) before.feed({from_ms(0), i, kA, false, {}}, {i, i});
  std::atomic<bool> done{false};
  std::thread reloads([&] {
    PatternMatches matches;
    for (std::uint64_t n = 1; !done; ++n) {
      // Of the other kind, so that its states are no absences.
      PatternSpec pair;
      pair.kind = PatternSpec::Kind::pair;
      pair.before = pair.after = milliseconds{500};
      const PatternId id = bank.open({n, n}, pair).value();
      for (std::uint64_t i = 0; i < 20; ++i)
        bank.feed(id, {n * 1000 + i, ~i}, {from_ms(0), i, kA, false, {}}, matches);
      const PatternId used[] = {before.id_};
      bank.close_unused(used);
    }
  });
  for (int round = 0; round < 300; ++round) {
    Feeding after(absence(500));
    const auto taken = after.bank_.import(snapshot_of(bank), from_ms(0));
    EXPECT_TRUE(taken) << round;
    if (!taken) break;
    EXPECT_EQ(*taken, 200u);
  }
  done = true;
  reloads.join();
}

TEST(PatternSnapshot, torn_or_spoilt_it_is_refused_and_changes_nothing) {
  PatternSpec spec = sequence(5'000);
  spec.steps = 4;
  Feeding before(spec);
  for (std::uint64_t i = 0; i < 50; ++i) before.feed({from_ms(0), i, kA | kB, false, {}}, {i, i});
  const std::string good = snapshot_of(before.bank_);
  const auto refused = [&](const std::string& text) {
    Feeding after(spec);
    const auto taken = after.bank_.import(text, from_ms(0));
    return !taken && after.bank_.stats().keys == 0;
  };
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_TRUE(refused(good.substr(0, size))) << size;
  Chance chance(99);
  for (int i = 0; i < 500; ++i) {
    std::string bad = good;
    const auto at =
        static_cast<std::size_t>(chance.upto(static_cast<std::int64_t>(good.size()) - 1));
    bad[at] = static_cast<char>(bad[at] ^ (1 + chance.upto(254)));
    ASSERT_TRUE(refused(bad)) << at;
  }
  ASSERT_TRUE(refused(good + "x"));
}

}  // namespace
}  // namespace weir::limiter::pattern_snapshot_test
