// A replica's messages to the fleet's board, and its use of the answers: time is an argument. And
// board.lua on a real server.
#include "store/board/board_sync.h"

#include <gtest/gtest.h>

#include "store/redis/slots.h"
#include "store/resp/resp_writer.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"

namespace weir::store::board_sync_test {
namespace {

using test::World;

constexpr TimePoint kNow{milliseconds{1'000'000}};

BoardItem item_of(const char* name, const char* value, milliseconds lasts = milliseconds{60'000}) {
  return {name, value, kNow + lasts, 0};
}

BoardAnswer answer_of(const char* epoch, std::int64_t sequence) {
  BoardAnswer out;
  out.now = to_ms(kNow) + 5'000;  // its clock is ahead
  out.epoch = epoch;
  out.sequence = sequence;
  out.news_sequence = sequence;
  return out;
}

TEST(BoardSync, TellsAnItemUntilItIsTold) {
  BoardSync sync("a/1", "fresh");
  ASSERT_TRUE(sync.put(item_of("override:p:mode", "shadow")));
  EXPECT_TRUE(sync.is_urgent());
  std::vector<std::string> words = sync.ask(kNow);
  ASSERT_EQ(words.size(), 15U);
  EXPECT_EQ(words[9], "1");
  EXPECT_EQ(words[10], "override:p:mode");
  EXPECT_EQ(words[12], "60000");
  sync.failed("it is away");
  EXPECT_EQ(sync.why(), "it is away");
  EXPECT_EQ(sync.unsent(), 1U);
  EXPECT_TRUE(sync.item("override:p:mode", kNow)) << "it holds here meanwhile";
  words = sync.ask(kNow + milliseconds{10'000});
  EXPECT_EQ(words[12], "50000") << "what is left of it";
  BoardAnswer answer = answer_of("e", 7);
  answer.told = {7};
  answer.items = {{"override:p:mode", "shadow", 7, answer.now + 50'000}};
  EXPECT_TRUE(sync.answered(answer, kNow + milliseconds{10'000}).items.empty()) << "it is ours";
  EXPECT_EQ(sync.unsent(), 0U);
  EXPECT_TRUE(sync.why().empty());
  EXPECT_EQ(sync.item("override:p:mode", kNow)->until, kNow + milliseconds{60'000});
  EXPECT_FALSE(sync.item("override:p:mode", kNow + milliseconds{60'000})) << "over";
}

TEST(BoardSync, TheNewerOfTwoPutsIsToldOnce) {
  BoardSync sync("a/1", "fresh");
  sync.put(item_of("x", "1"));
  sync.ask(kNow);
  sync.put(item_of("x", "2"));
  EXPECT_EQ(sync.item("x", kNow)->value, "2");
  sync.failed("lost");
  const std::vector<std::string> words = sync.ask(kNow);
  EXPECT_EQ(words[9], "1");
  EXPECT_EQ(words[11], "2");
}

TEST(BoardSync, HearsOfOthersInItsOwnTime) {
  BoardSync sync("a/1", "fresh");
  sync.ask(kNow);
  BoardAnswer answer = answer_of("e", 9);
  answer.items = {{"x", "theirs", 9, answer.now + 3'000}};
  answer.news = {"somebody did something"};
  answer.replicas = {{{"b/2", "{}", milliseconds{700}}, {"a/1", "{}", milliseconds{0}}}};
  const BoardSync::Heard heard = sync.answered(answer, kNow);
  ASSERT_EQ(heard.items.size(), 1U);
  EXPECT_EQ(heard.items[0].until, kNow + milliseconds{3'000});
  EXPECT_EQ(heard.news.size(), 1U);
  EXPECT_EQ(sync.ahead(), milliseconds{5'000});
  EXPECT_EQ(sync.replicas().front().name, "a/1");
  // The same once more is nothing new, and its end does not wander.
  sync.ask(kNow);
  answer.now += 1'200;
  EXPECT_TRUE(sync.answered(answer, kNow + milliseconds{1'000}).items.empty());
  EXPECT_EQ(sync.items("x", kNow)[0].until, kNow + milliseconds{3'000});
  EXPECT_TRUE(sync.items("x", kNow + milliseconds{3'000}).empty());
}

TEST(BoardSync, AStoreThatLostItsMemoryIsToldAgainWithTheOldStamps) {
  BoardSync sync("a/1", "fresh");
  sync.ask(kNow);
  BoardAnswer first = answer_of("e", 9);
  first.items = {{"x", "theirs", 9, 0}};
  sync.answered(first, kNow);
  sync.ask(kNow);
  sync.answered(answer_of("another", 20), kNow);
  ASSERT_TRUE(sync.is_urgent());
  const std::vector<std::string> words = sync.ask(kNow);
  ASSERT_EQ(words.size(), 15U);
  EXPECT_EQ(words[10], "x");
  EXPECT_EQ(words[12], "") << "it stays";
  EXPECT_EQ(words[13], "9");
  // It has a newer one: that holds.
  BoardAnswer newer = answer_of("another", 30);
  newer.told = {30};
  newer.items = {{"x", "newer", 30, 0}};
  EXPECT_EQ(sync.answered(newer, kNow).items.size(), 1U);
  EXPECT_EQ(sync.item("x", kNow)->value, "newer");
  EXPECT_FALSE(sync.is_urgent());
}

TEST(BoardSync, AGuardedItemGivesWayToAFasterOne) {
  BoardSync sync("a/1", "fresh");
  sync.ask(kNow);
  BoardAnswer first = answer_of("e", 9);
  first.items = {{"table:t", "one", 9, 0}};
  sync.answered(first, kNow);
  ASSERT_TRUE(sync.put({"table:t", "mine", {}, 0}, true));
  EXPECT_EQ(sync.ask(kNow)[14], "9") << "what it takes the place of";
  ASSERT_TRUE(sync.put({"table:t", "mine too", {}, 0}, true)) << "while the first is on its way";
  BoardAnswer refused = answer_of("e", 12);
  refused.told = {0};
  refused.items = {{"table:t", "theirs", 12, 0}};
  const BoardSync::Heard heard = sync.answered(refused, kNow);
  ASSERT_EQ(heard.items.size(), 1U);
  EXPECT_EQ(sync.item("table:t", kNow)->value, "theirs");
  EXPECT_EQ(sync.unsent(), 0U);
  // An accepted value is the base of the value after it.
  sync.put({"table:t", "merged", {}, 0}, true);
  EXPECT_EQ(sync.ask(kNow)[14], "12");
  sync.put({"table:t", "and more", {}, 0}, true);
  BoardAnswer taken = answer_of("e", 15);
  taken.told = {15};
  sync.answered(taken, kNow);
  EXPECT_EQ(sync.ask(kNow)[14], "15");
}

TEST(BoardSync, IsBounded) {
  BoardSync sync("a/1", "fresh");
  EXPECT_FALSE(sync.put({"x", std::string(BoardSync::kValueMax + 1, 'x'), {}, 0}));
  EXPECT_FALSE(sync.tell(std::string(BoardSync::kNewsBytesMax + 1, 'x')));
  for (std::size_t i = 0; i < BoardSync::kUnsentMax; ++i)
    EXPECT_TRUE(sync.put({std::to_string(i), "v", {}, 0}));
  EXPECT_FALSE(sync.put({"one more", "v", {}, 0}));
  for (std::size_t i = 0; i < BoardSync::kNewsMax + 5; ++i) sync.tell(std::to_string(i));
  const std::vector<std::string> words = sync.ask(kNow);
  EXPECT_EQ(words[9], "32");
  EXPECT_EQ(words[10 + 5 * 32], "5") << "the oldest news went";
  EXPECT_TRUE(sync.is_urgent());
}

TEST(BoardSync, TakesNoMoreOfOthersThanItHasRoomFor) {
  BoardSync sync("a/1", "fresh");
  sync.ask(kNow);
  BoardAnswer answer = answer_of("e", 1);
  for (std::size_t i = 0; i < BoardSync::kKnownMax + 1; ++i)
    answer.items.push_back({"x" + std::to_string(i), "v", 5, 0});
  BoardSync::Heard heard = sync.answered(answer, kNow);
  EXPECT_TRUE(heard.left_out);
  EXPECT_EQ(heard.items.size(), BoardSync::kKnownMax);
  EXPECT_EQ(sync.items("x", kNow).size(), BoardSync::kKnownMax);
  sync.ask(kNow);
  answer.items = {{"x0", "another", 6, 0}};
  heard = sync.answered(answer, kNow);
  EXPECT_FALSE(heard.left_out) << "it is known: a new value has the room of the old one";
  EXPECT_EQ(sync.item("x0", kNow)->value, "another");
  sync.ask(kNow);
  answer.items = {{"x0", std::string(BoardSync::kKnownBytesMax, 'v'), 7, 0}};
  EXPECT_TRUE(sync.answered(answer, kNow).left_out);
  EXPECT_EQ(sync.item("x0", kNow)->value, "another");
}

TEST(BoardSync, ANumberBeyondAllTimesIsNoAnswer) {
  const auto answer_at = [](const char* now) {
    Reply reply;
    reply.add(Reply::Type::array);
    for (const char* word : {now, "e", "1", "1", "0", "-1", "0", "0"})
      reply.add_text(Reply::Type::string, word);
    return BoardAnswer::read(reply, 0);
  };
  EXPECT_TRUE(answer_at("1700000000000"));
  EXPECT_TRUE(answer_at("9007199254740992"));
  for (const char* wrong :
       {"9007199254740993", "-9223372036854775808", "1e3", "", "99999999999999999999"})
    EXPECT_FALSE(answer_at(wrong)) << wrong;
}

// ---------------------------------------------------------------- with a server

/// A replica whose calls the test makes.
struct Peer final : ScriptCall {
  Peer(World& w, const Settings& settings, const char* name)
      : world(w), sync(name, std::string("epoch of ") + name), store(w.worker, settings, 1) {
    script = &board_script();
    slot = slot_of("weir:fleet:{t}");
    keys = 4;
    world.turn([&] { store.start(); });
    EXPECT_TRUE(world.until([&] { return store.stats().up; }));
    sync.say("{}", "hash", false);
  }
  ~Peer() {
    world.turn([&] { store.stop(); });
  }
  /// Empty: the call failed.
  std::optional<BoardSync::Heard> turn(bool leaves = false) {
    words.clear();
    for (const char* part : {":replicas", ":items", ":versions", ":news"})
      append_bulk(words, std::string("weir:fleet:{t}") + part);
    const std::vector<std::string> arguments = sync.ask(clock.now(), leaves);
    for (const std::string& word : arguments) append_bulk(words, word);
    count = 4 + static_cast<unsigned>(arguments.size());
    done = false;
    heard.reset();
    bool sent = false;
    world.turn([&] { sent = store.call(*this); });
    if (!sent) on_failure(limiter::SharedError::unavailable, "away");
    EXPECT_TRUE(world.until([&] { return done; }));
    return heard;
  }
  /// Until it has heard everything.
  std::vector<BoardItem> hear_all() {
    std::vector<BoardItem> out;
    do {
      auto one = turn();
      EXPECT_TRUE(one) << sync.why();
      if (!one) return out;
      out.insert(out.end(), one->items.begin(), one->items.end());
    } while (sync.is_urgent());
    return out;
  }
  void on_answer(const Reply& reply) override {
    done = true;
    auto answer = BoardAnswer::read(reply, sync.flying());
    ASSERT_TRUE(answer) << reply.text();
    heard = sync.answered(std::move(*answer), clock.now());
  }
  void on_failure(limiter::SharedError, std::string_view text) override {
    done = true;
    sync.failed(std::string(text));
  }

  World& world;
  Clock clock;
  BoardSync sync;
  RedisStore store;
  bool done = false;
  std::optional<BoardSync::Heard> heard;
};

class Board : public ::testing::Test {
 protected:
  Settings settings() { return test::unix_settings(redis.path()); }
  weir::test::RedisServer redis;
  World world;
};

TEST_F(Board, ReplicasKnowEachOtherAndWhatEachHasSet) {
  Peer a(world, settings(), "a"), b(world, settings(), "b");
  a.turn();
  b.turn();
  a.turn();
  EXPECT_EQ(a.sync.replicas().size(), 2U);
  ASSERT_EQ(a.sync.versions().size(), 1U);
  a.sync.put({"x", "one", a.clock.now() + milliseconds{60'000}, 0});
  a.sync.tell("a has set x");
  a.turn();
  auto heard = b.turn();
  ASSERT_EQ(heard->items.size(), 1U);
  EXPECT_EQ(heard->items[0].value, "one");
  ASSERT_EQ(heard->news.size(), 1U);
  EXPECT_TRUE(b.turn()->news.empty());
  const auto left = b.sync.item("x", b.clock.now())->until - b.clock.now();
  EXPECT_NEAR(static_cast<double>(left.count()), 60'000, 5'000);
  for (const std::string& name : redis.words({"KEYS", "*"}))
    EXPECT_GT(redis.integer({"PTTL", name}), 0) << name;
  b.turn(true);
  a.turn();
  EXPECT_EQ(a.sync.replicas().size(), 1U) << "b has said farewell";
}

TEST_F(Board, TheLastToldWinsAndAGuardedOneDoesNot) {
  Peer a(world, settings(), "a"), b(world, settings(), "b");
  a.turn();
  b.turn();
  a.sync.put({"x", "of a", {}, 0});
  b.sync.put({"x", "of b", {}, 0});
  a.turn();
  b.turn();
  a.hear_all();
  EXPECT_EQ(a.sync.item("x", a.clock.now())->value, "of b");
  EXPECT_EQ(b.sync.item("x", b.clock.now())->value, "of b");
  a.sync.put({"x", "guarded a", {}, 0}, true);
  b.sync.put({"x", "guarded b", {}, 0}, true);
  a.turn();
  const auto heard = b.turn();
  ASSERT_EQ(heard->items.size(), 1U);
  EXPECT_EQ(heard->items[0].value, "guarded a");
  EXPECT_EQ(b.sync.item("x", b.clock.now())->value, "guarded a");
}

TEST_F(Board, AGuardedItemThatRedisHasLostIsNoReasonToRefuse) {
  Peer a(world, settings(), "a"), b(world, settings(), "b");
  a.sync.put({"x", "first", {}, 0}, true);
  a.turn();
  b.turn();
  redis.text({"FLUSHALL"});
  a.sync.put({"x", "of a", {}, 0}, true);
  b.sync.put({"x", "of b", {}, 0}, true);
  a.turn();
  const auto heard = b.turn();
  ASSERT_EQ(heard->items.size(), 1U) << "a was faster";
  EXPECT_EQ(heard->items[0].value, "of a");
  a.hear_all();
  EXPECT_EQ(a.sync.item("x", a.clock.now())->value, "of a");
}

TEST_F(Board, AFlushedServerIsFilledAgainAndTheNewerStays) {
  Peer a(world, settings(), "a"), b(world, settings(), "b");
  for (int i = 0; i < 150; ++i) a.sync.put({"x" + std::to_string(i), "old", {}, 0});
  a.hear_all();
  EXPECT_EQ(b.hear_all().size(), 150U) << "by pages";
  b.sync.put({"x7", "new", {}, 0});
  b.turn();  // of which a has not heard
  redis.text({"FLUSHALL"});
  a.hear_all();
  b.hear_all();
  a.hear_all();
  EXPECT_EQ(a.sync.item("x7", a.clock.now())->value, "new");
  Peer late(world, settings(), "late");
  EXPECT_EQ(late.hear_all().size(), 150U);
  EXPECT_EQ(late.sync.item("x7", late.clock.now())->value, "new");
}

TEST_F(Board, WhatIsOverGoesAndTheBoardIsBounded) {
  Peer a(world, settings(), "a"), b(world, settings(), "b");
  a.sync.put({"short", "v", a.clock.now() + milliseconds{30}, 0});
  a.turn();
  b.turn();
  ASSERT_TRUE(world.until([&] { return !b.sync.item("short", b.clock.now()); }));
  a.sync.put({"next", "v", {}, 0});
  a.turn();
  EXPECT_EQ(redis.integer({"HEXISTS", "weir:fleet:{t}:items", "short"}), 0);
  for (int i = 0; i < 999; ++i) a.sync.put({"y" + std::to_string(i), "v", {}, 0});
  a.hear_all();
  a.sync.put({"no room", "v", {}, 0});
  EXPECT_TRUE(a.turn()->full);
  EXPECT_EQ(redis.integer({"HLEN", "weir:fleet:{t}:items"}), 1'002);
}

TEST_F(Board, AServerThatForgetsItsScriptsIsToldThem) {
  Peer a(world, settings(), "a");
  ASSERT_TRUE(a.turn());
  redis.text({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(a.turn());
}

}  // namespace
}  // namespace weir::store::board_sync_test
