// The entries that a shared list keeps for other replicas, and those it takes from them.
#include <gtest/gtest.h>

#include "limiter/lists/lists.h"

namespace weir::limiter::lists_shared_test {
namespace {

constexpr TimePoint kNow = from_ms(1'000'000);
constexpr milliseconds kHour{3'600'000};

Hash128 key(std::uint64_t n) { return {n, n * 7 + 1}; }

Listing listing(std::uint64_t n, const milliseconds& term) {
  Listing out;
  out.key = key(n);
  out.durations = {&term, 1};
  out.policy = "p";
  return out;
}

ListEntry entry(std::uint64_t n, TimePoint until) {
  ListEntry out;
  out.key = key(n);
  out.since = out.listed = kNow;
  out.until = until;
  out.policy = "elsewhere";
  out.times = 3;
  return out;
}

class SharedLists : public testing::Test {
 protected:
  SharedLists() {
    bank.on_shared_change([this] { ++rings; });
    bank.share(list, true);
  }
  std::vector<LocalListChange> take() {
    bool lost = false;
    auto out = bank.take_shared_changes(list, &lost);
    EXPECT_FALSE(lost);
    return out;
  }
  ListBank bank;
  ListId list = bank.open("gray", 3).value();
  int rings = 0;
};

TEST_F(SharedLists, ChangesAreKeptOncePerKeyAndRungForOnce) {
  bank.add(list, listing(1, kHour), kNow);
  bank.add(list, listing(2, kHour), kNow);
  bank.add(list, listing(1, kHour), kNow + milliseconds{5});
  EXPECT_EQ(rings, 1);
  const auto changes = take();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].key, key(1));
  EXPECT_EQ(changes[0].listed, kNow + milliseconds{5});
  EXPECT_FALSE(changes[0].removed);
  bank.add(list, listing(1, kHour), kNow);  // shorter than what holds: nothing to tell
  EXPECT_EQ(rings, 1);
  EXPECT_TRUE(take().empty());
  bank.remove(list, key(1), kNow);
  EXPECT_EQ(rings, 2);
  bank.share(list, false);
  bank.remove(list, key(2), kNow);
  EXPECT_TRUE(take().empty());
}

TEST_F(SharedLists, ARemovalAndANewListingAreToldInTheirOrder) {
  bank.add(list, listing(1, kHour), kNow);
  bank.remove(list, key(1), kNow);
  auto changes = take();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].removed, kNow);
  EXPECT_FALSE(changes[0].listed);
  bank.add(list, listing(1, kHour), kNow);
  bank.remove(list, key(1), kNow);
  bank.add(list, listing(1, kHour), kNow);  // all within a millisecond
  changes = take();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].removed, kNow);
  EXPECT_EQ(changes[0].listed, kNow + milliseconds{1});
}

TEST_F(SharedLists, WhatAnotherReplicaSaysHoldsAndIsNotToldBack) {
  bank.merge(list, entry(1, kNow + kHour), kNow);
  EXPECT_TRUE(bank.find(list, key(1), kNow).listed);
  EXPECT_EQ(bank.get(list, key(1), kNow)->policy, "elsewhere");
  bank.merge(list, entry(1, kNow + kHour / 2), kNow);
  EXPECT_EQ(bank.find(list, key(1), kNow).until, kNow + kHour) << "the later end wins";
  bank.merge(list, entry(1, kNow + kHour * 2), kNow);
  EXPECT_EQ(bank.find(list, key(1), kNow).until, kNow + kHour * 2);
  ListEntry again = entry(1, kNow + kHour);
  again.listed = kNow + milliseconds{9};
  bank.merge(list, again, kNow, kNow - milliseconds{1});
  EXPECT_EQ(bank.find(list, key(1), kNow).until, kNow + kHour * 2);
  bank.merge(list, again, kNow, kNow + milliseconds{5});
  EXPECT_EQ(bank.find(list, key(1), kNow).until, kNow + kHour * 2) << "it was listed later";
  bank.merge(list, again, kNow, kNow + milliseconds{9});
  EXPECT_EQ(bank.find(list, key(1), kNow).until, kNow + kHour);
  bank.merge_removal(list, key(1));
  EXPECT_FALSE(bank.find(list, key(1), kNow).listed);
  bank.merge(list, entry(2, kNow), kNow);  // over
  EXPECT_EQ(bank.size(list), 0U);
  EXPECT_TRUE(take().empty());
  EXPECT_EQ(rings, 0);
}

TEST_F(SharedLists, ALongerTermHereKeepsItsReasonButCountsAlong) {
  bank.add(list, listing(1, kHour), kNow);
  ListEntry other = entry(1, kNow + kHour / 2);
  other.forget_until = kNow + kHour * 9;
  bank.merge(list, other, kNow);
  const auto held = bank.held(list, key(1), kNow);
  EXPECT_EQ(held->policy, "p");
  EXPECT_EQ(held->times, 3U);
  EXPECT_EQ(held->until, kNow + kHour);
  EXPECT_EQ(held->forget_until, kNow + kHour * 9);
}

TEST_F(SharedLists, AnEscalationGoesOnWhereAnotherReplicaLeftIt) {
  ListEntry other = entry(1, kNow + kHour);
  other.forget_until = kNow + kHour * 9;
  other.level = 1;
  bank.merge(list, other, kNow);
  const TimePoint after = kNow + kHour * 2;
  EXPECT_FALSE(bank.get(list, key(1), after));
  EXPECT_TRUE(bank.held(list, key(1), after));
  EXPECT_EQ(bank.page_held(list, after, {}, 9).size(), 1U);
  EXPECT_TRUE(bank.page(list, after, {}, 9).empty());
  const milliseconds terms[] = {kHour, kHour * 2, kHour * 3};
  Listing again = listing(1, kHour);
  again.durations = terms;
  EXPECT_EQ(bank.add(list, again, after).until, after + kHour * 3);
}

TEST_F(SharedLists, AFullListRefusesOthersEntriesToo) {
  for (std::uint64_t n = 1; n <= 4; ++n) bank.merge(list, entry(n, kNow + kHour), kNow);
  EXPECT_EQ(bank.size(list), 3U);
  EXPECT_EQ(bank.refused(list), 1U);
}

TEST_F(SharedLists, TheStateWriterHearsOfThemToo) {
  bank.enable_journal();
  bank.merge(list, entry(1, kNow + kHour), kNow);
  bool lost = false;
  EXPECT_EQ(bank.take_changes(&lost).size(), 1U);
  bank.merge_removal(list, key(1));
  const auto changes = bank.take_changes(&lost);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_TRUE(changes[0].removed);
}

}  // namespace
}  // namespace weir::limiter::lists_shared_test
