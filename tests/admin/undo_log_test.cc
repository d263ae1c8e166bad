#include "admin/operator/undo_log.h"

#include <gtest/gtest.h>

#include "admin/operator/undo_words.h"

namespace weir::admin::undo_log_test {
namespace {

class UndoLogTest : public ::testing::Test {
 protected:
  Hash128 key(std::uint64_t n) const { return {n, n}; }

  void add(std::uint64_t n, milliseconds time, std::string_view policy = {}) {
    const std::string_view part = "user";
    limiter::Listing listing;
    listing.key = key(n);
    listing.parts = {&part, 1};
    listing.until = now + time;
    listing.policy = policy;
    listing.by = policy.empty() ? "admin" : "policy";
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

TEST_F(UndoLogTest, AnotherReplicaTakesBackWhatItWasTold) {
  std::vector<std::string> told;
  constexpr milliseconds kAhead{7'000};  // of the clock that both share, to this one's
  log.tell_to([&](const UndoChange& change, bool undone) {
    if (undone)
      told.push_back(undone_words(change.token));
    else
      for (const std::string& piece : undo_words(change, kAhead)) told.push_back(piece);
  });
  add(1, milliseconds{60'000});
  const auto before = lists.get(list, key(1), now);
  now += milliseconds{5};
  UndoLog::Change change = remove(1);
  change.what = "removed a key";
  const std::string token = log.keep(std::move(change), now);
  ASSERT_EQ(told.size(), 1U);
  // There it is 3 s later by the clock, and the removal has come through Redis.
  UndoLog other;
  const milliseconds skew{3'000};
  auto news = read_undo_words(told[0], kAhead - skew);
  ASSERT_TRUE(news && news->change);
  EXPECT_EQ(news->change->steps.at(0).before->until, before->until + skew);
  EXPECT_EQ(news->change->what, "removed a key");
  EXPECT_EQ(news->change->at, log.changes(now).at(0)->at + skew)
      << "as it is shown where it was made";
  other.learn(std::move(*news->change), now + skew);
  EXPECT_EQ(other.list_of(token), "banned");
  ASSERT_EQ(other.changes(now + skew).size(), 1U);
  const auto undone = other.undo(token, lists, now + skew);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->restored, 1U);
  EXPECT_EQ(lists.get(list, key(1), now)->times, before->times);
  EXPECT_FALSE(other.undo(token, lists, now + skew)) << "works once";
  // The entry is also gone at its origin, once the undo arrives there.
  EXPECT_EQ(read_undo_words(undone_words(token), kAhead)->undone, token);
  log.drop(token);
  EXPECT_FALSE(log.undo(token, lists, now));
}

TEST_F(UndoLogTest, TheTimesOfTwoReplicasMayDifferALittle) {
  for (const bool by_policy : {false, true}) {
    UndoLog::Change change;
    change.list = "banned";
    change.steps.push_back({key(1), std::nullopt});
    const std::string token = log.keep(std::move(change), now);
    // The entry comes through Redis, with a time that is estimated.
    now += milliseconds{40};
    add(1, milliseconds{60'000}, by_policy ? "logins" : "");
    now += milliseconds{10};
    EXPECT_EQ(log.undo(token, lists, now)->removed, by_policy ? 0U : 1U);
    EXPECT_EQ(listed(1), by_policy) << "what a policy listed since stays";
  }
}

TEST_F(UndoLogTest, AChangeOfManyEntriesIsToldInPiecesOrNotAtAll) {
  UndoLog::Change change;
  change.token = "0123456789abcdef";
  change.list = "banned";
  for (std::uint64_t n = 0; n < 100; ++n) change.steps.push_back({key(n), std::nullopt});
  change.at = now;
  const std::vector<std::string> pieces = undo_words(change, milliseconds{0});
  EXPECT_GT(pieces.size(), 1U);
  UndoLog other;
  for (const std::string& piece : pieces) {
    EXPECT_LE(piece.size(), 4'000U);
    other.learn(std::move(*read_undo_words(piece, milliseconds{0})->change), now);
  }
  EXPECT_EQ(other.undo(change.token, lists, now)->left, 100U) << "none of them is listed";
  for (std::uint64_t n = 0; n < 10'000; ++n) change.steps.push_back({key(n), std::nullopt});
  EXPECT_TRUE(undo_words(change, milliseconds{0}).empty());
}

TEST_F(UndoLogTest, WhatIsNoChangeIsNone) {
  for (
      const char* wrong :
      {"", "7", "{}", R"({"undo":7})", R"({"undone":7})", R"({"undo":"t"})",
       R"({"undo":"","what":"w","list":"l","shown":"l","at":1,"steps":[]})",
       R"({"undo":"t","what":"w","list":"l","shown":"l","at":1,"steps":[{"key":"12","before":null}]})",
       R"({"undo":"t","what":"w","list":"l","shown":"l","at":1,"steps":[{"key":7,"before":null}]})"})
    EXPECT_FALSE(read_undo_words(wrong, milliseconds{0})) << wrong;
}

TEST_F(UndoLogTest, WhatHasEndedOrWasListedSinceStaysAsItIs) {
  add(1, milliseconds{60'000});
  add(2, milliseconds{10});
  UndoLog::Change change = remove(1);
  change.steps.push_back(remove(2).steps.front());
  const std::string token = log.keep(std::move(change), now);
  now += milliseconds{1'000};
  add(1, milliseconds{600'000}, "logins");
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
  for (std::size_t i = 0; i < 2 * UndoLog::kChangesMax; ++i) {
    UndoLog::Change change;
    change.list = "banned";
    change.steps.push_back({key(i), std::nullopt});
    log.keep(std::move(change), now);
  }
  EXPECT_EQ(log.changes(now).size(), UndoLog::kChangesMax);
  UndoLog::Change large;
  large.list = "banned";
  large.steps.resize(UndoLog::kEntriesMax);
  EXPECT_FALSE(log.keep(std::move(large), now).empty());
  EXPECT_EQ(log.changes(now).size(), 1U) << "makes room by forgetting the others";
  UndoLog::Change empty;
  EXPECT_EQ(log.keep(std::move(empty), now), "");
}

}  // namespace
}  // namespace weir::admin::undo_log_test
