#include "admin/operator/undo_log.h"

#include <gtest/gtest.h>

namespace weir::admin::undo_log_test {
namespace {

class UndoLogTest : public ::testing::Test {
 protected:
  Hash128 key(std::uint64_t n) const { return {n, n}; }

  void add(std::uint64_t n, milliseconds time) {
    const std::string_view part = "user";
    limiter::Listing listing;
    listing.key = key(n);
    listing.parts = {&part, 1};
    listing.until = now + time;
    listing.by = "admin";
    lists.add(list, listing, now);
  }

  UndoLog::Change remove(std::uint64_t n) {
    UndoLog::Change change;
    change.list = "banned";
    change.steps.push_back({key(n), lists.get(list, key(n), now)});
    lists.remove(list, key(n), now);
    return change;
  }

  bool listed(std::uint64_t n) const { return lists.find(list, key(n), now).listed; }

  TimePoint now = from_ms(1'795'219'200'000);
  limiter::ListBank lists;
  limiter::ListId list = *lists.open("banned", 10);
  UndoLog log;
};

TEST_F(UndoLogTest, ARemovedEntryComesBackAsItWas) {
  add(1, milliseconds{60'000});
  const auto before = lists.get(list, key(1), now);
  now += milliseconds{5};
  const std::string token = log.keep(remove(1), now);
  EXPECT_FALSE(listed(1));
  EXPECT_EQ(token.size(), 16U);
  const auto undone = log.undo(token, lists, now);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->restored, 1U);
  const auto after = lists.get(list, key(1), now);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->since, before->since);
  EXPECT_EQ(after->until, before->until);
  EXPECT_EQ(after->times, before->times);
  EXPECT_FALSE(log.undo(token, lists, now)) << "works once";
}

TEST_F(UndoLogTest, WhatHasEndedOrWasListedSinceStaysAsItIs) {
  add(1, milliseconds{60'000});
  add(2, milliseconds{10});
  UndoLog::Change change = remove(1);
  change.steps.push_back(remove(2).steps.front());
  const std::string token = log.keep(std::move(change), now);
  now += milliseconds{1'000};
  add(1, milliseconds{600'000});  // a policy has listed it anew
  const auto undone = log.undo(token, lists, now);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->left, 2U);
  EXPECT_EQ(lists.get(list, key(1), now)->until, now + milliseconds{600'000});
  EXPECT_FALSE(listed(2));
}

TEST_F(UndoLogTest, WhatTheChangeHadListedIsTakenOffAgain) {
  add(1, milliseconds{60'000});
  UndoLog::Change change;
  change.list = "banned";
  change.steps.push_back({key(1), std::nullopt});
  const std::string token = log.keep(std::move(change), now);
  EXPECT_EQ(log.undo(token, lists, now)->removed, 1U);
  EXPECT_FALSE(listed(1));
}

TEST_F(UndoLogTest, AnExtendedEntryEndsWhenItDidBefore) {
  add(1, milliseconds{60'000});
  const auto before = lists.get(list, key(1), now);
  add(1, milliseconds{600'000});
  UndoLog::Change change;
  change.list = "banned";
  change.steps.push_back({key(1), before});
  const std::string token = log.keep(std::move(change), now);
  EXPECT_EQ(log.undo(token, lists, now)->restored, 1U);
  EXPECT_EQ(lists.get(list, key(1), now)->until, before->until);
}

TEST_F(UndoLogTest, PiecesOfOneTokenAreUndoneTogether) {
  add(1, milliseconds{60'000});
  add(2, milliseconds{60'000});
  const std::string token = log.keep(remove(1), now);
  UndoLog::Change second = remove(2);
  second.token = token;
  EXPECT_EQ(log.keep(std::move(second), now), token);
  EXPECT_EQ(log.undo(token, lists, now)->restored, 2U);
  EXPECT_TRUE(listed(1) && listed(2));
}

TEST_F(UndoLogTest, IsForgottenAfterAnHourAndBounded) {
  add(1, milliseconds{7'200'000});
  const std::string token = log.keep(remove(1), now);
  EXPECT_EQ(log.changes(now).size(), 1U);
  EXPECT_FALSE(log.undo(token, lists, now + UndoLog::kKept));
  for (std::size_t i = 0; i < 2 * UndoLog::kChangesMost; ++i) {
    UndoLog::Change change;
    change.list = "banned";
    change.steps.push_back({key(i), std::nullopt});
    log.keep(std::move(change), now);
  }
  EXPECT_EQ(log.changes(now).size(), UndoLog::kChangesMost);
  UndoLog::Change large;
  large.list = "banned";
  large.steps.resize(UndoLog::kEntriesMost);
  EXPECT_FALSE(log.keep(std::move(large), now).empty());
  EXPECT_EQ(log.changes(now).size(), 1U) << "makes room by forgetting the others";
  UndoLog::Change empty;
  EXPECT_EQ(log.keep(std::move(empty), now), "");
}

}  // namespace
}  // namespace weir::admin::undo_log_test
