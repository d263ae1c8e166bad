// Logs that do not remember their events (scripts/times.lua and log_plain.lua) against the list of
// their events: the plain way and the general way must read, cut off and keep the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "tests/store/world.h"
#include "tests/support/redis_server.h"
#include "tests/support/seed.h"

namespace weir::store::times_test {
namespace {

using limiter::Ceiling;
using limiter::CounterSpec;
using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::SharedVerb;
using limiter::Window;
using test::Ask;
using test::World;
using weir::test::RedisServer;

constexpr std::int64_t kWindow = 10'000;
constexpr std::int64_t kBegin = 1'700'000'000'000;

CounterSpec exact(std::size_t keep) {
  CounterSpec spec;
  spec.metric = Metric::count;
  spec.window = Window::log;
  spec.length = milliseconds(kWindow);
  spec.keep = keep;
  return spec;
}

/// One key of a counter, asked through a real Redis at times that the test gives.
class Key {
 public:
  Key(World& world, RedisStore& store, std::uint64_t id, std::size_t keep, std::string key)
      : world_(world), store_(store), counter_({id, 0x71E5}, exact(keep)), key_(std::move(key)) {}

  const SharedCounter& counter() const { return counter_; }
  std::string name() const { return "weir:" + counter_.name + ":{" + key_ + "}"; }

  SharedReply ask(SharedVerb verb, std::int64_t now, std::optional<std::int64_t> limit = {},
                  std::int64_t amount = 1, TimePoint at = {}) {
    SharedPart part;
    part.counter = &counter_;
    if (limit) part.ceiling = Ceiling{Number(*limit), false};
    Ask one;
    limiter::SharedOp& op = one.add(verb, {part}, key_);
    op.now = from_ms(now);
    op.at = at;
    op.event.amount = amount;
    op.id = {84, ++sequence_};
    one.run(world_, store_);
    EXPECT_EQ(one.answers[0].error, SharedError::none) << row_of(one.answers[0].error).name;
    return one.answers[0];
  }
  std::int64_t read(std::int64_t now) { return value(ask(SharedVerb::read, now)); }

  static std::int64_t value(const SharedReply& reply) {
    return reply.parts[0].reading.value.integer();
  }

 private:
  World& world_;
  RedisStore& store_;
  SharedCounter counter_;
  std::string key_;
  std::uint64_t sequence_ = 0;
};

/// Crowds, trickles, edges of the window, and pauses longer than any time to live.
std::int64_t gap(std::mt19937& random) {
  switch (random() % 12) {
    case 0:
      return kWindow - 1 + static_cast<std::int64_t>(random() % 3);
    case 1:
      return kWindow / 3 + static_cast<std::int64_t>(random() % kWindow);
    case 2:
      return random() % 8 == 0 ? 3 * kWindow : 0;
    case 3:
    case 4:
      return static_cast<std::int64_t>(random() % 2'000);
    default:
      return static_cast<std::int64_t>(random() % 60);
  }
}

void counts_as_a_list(unsigned seed, std::size_t keep, std::optional<std::int64_t> limit) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", keep " + std::to_string(keep) + ", limit " +
               std::to_string(limit.value_or(-1)));
  std::mt19937 random(seed);
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  Key key(world, *store, seed, keep, "k");
  ASSERT_FALSE(key.counter().remembers);
  std::deque<std::int64_t> list;
  std::int64_t now = kBegin, ends = 0;
  constexpr std::int64_t kAsItWas = 1'000'000'000;
  for (int step = 0; step < 1'500; ++step) {
    SCOPED_TRACE(step);
    now += gap(random);
    const auto left = [&](std::int64_t t) { return t <= now - kWindow; };
    const auto live = [&] { return std::ranges::count_if(list, std::not_fn(left)); };
    const auto reading = [&](std::int64_t more) {
      return std::min<std::int64_t>(live() + more, static_cast<std::int64_t>(keep));
    };
    const bool there = redis.integer({"PEXPIRE", key.name(), std::to_string(kAsItWas)}) == 1;
    // Its time to live ends by the test's clock, which is not the server's.
    if (there && now >= ends) redis.integer({"DEL", key.name()});
    bool wrote = false;
    switch (random() % 16) {
      case 0:
        ASSERT_EQ(key.read(now), reading(0));
        break;
      case 1:
        ASSERT_EQ(Key::value(key.ask(SharedVerb::look, now)), reading(1));
        break;
      case 2: {  // the newest, or one that is not there
        const std::int64_t at = list.empty() || random() % 4 == 0 ? now - 17 : list.back();
        key.ask(SharedVerb::take_back, now, {}, 1, from_ms(at));
        const auto found = std::ranges::find(list, at);
        if (found != list.end() && !left(at)) list.erase(found), wrote = true;
        break;
      }
      case 3: {  // not plain
        const SharedReply reply = key.ask(SharedVerb::add, now, limit, 3);
        ASSERT_EQ(Key::value(reply), reading(3));
        ASSERT_EQ(reply.admitted, !limit || reading(3) <= *limit);
        if (reply.admitted) list.insert(list.end(), 3, now), wrote = true;
        break;
      }
      default: {
        const SharedReply reply = key.ask(SharedVerb::add, now, limit);
        ASSERT_EQ(Key::value(reply), reading(1));
        ASSERT_EQ(reply.admitted, !limit || reading(1) <= *limit);
        if (reply.admitted) list.push_back(now), wrote = true;
      }
    }
    const std::int64_t lasts = redis.integer({"PTTL", key.name()});
    ASSERT_NE(lasts, -1) << "forever";
    if (lasts > 0 && lasts < kAsItWas / 2) ends = now + 2 * kWindow;
    if (wrote && live() != 0) {
      ASSERT_GE(ends, list.back() + kWindow) << "it would be gone too early";
    }
    const std::int64_t bytes = redis.integer({"STRLEN", key.name()});
    ASSERT_LE(bytes, 6 * static_cast<std::int64_t>(keep + 49));
  }
}

TEST(Times, CountAsAListOfEvents) {
  const unsigned seed = ::weir::test::new_seed();
  for (unsigned i = 0; i < 3; ++i) {
    counts_as_a_list(seed + 10 * i, 1'000, std::nullopt);
    counts_as_a_list(seed + 10 * i + 1, 1'000, 3);
    counts_as_a_list(seed + 10 * i + 2, 1'000, 30);
    counts_as_a_list(seed + 10 * i + 3, 1'000, 260);  // asked for its length first
    counts_as_a_list(seed + 10 * i + 4, 20, std::nullopt);
  }
}

TEST(Times, ManyAreRememberedAsTheyWere) {
  CounterSpec spec = exact(4'096);
  EXPECT_FALSE(SharedCounter({1, 1}, spec).remembers);
  spec.keep = 4'097;
  EXPECT_TRUE(SharedCounter({1, 1}, spec).remembers);
}

/// Nine events, the last refused: six bytes each, and none of that one.
TEST(Times, TakeSixBytesAnEvent) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  Key key(world, *store, 7, 1'000, "k");
  for (int i = 0; i < 9; ++i) key.ask(SharedVerb::add, kBegin + i, 8);
  EXPECT_EQ(redis.integer({"STRLEN", key.name()}), 48);
  Key none(world, *store, 7, 1'000, "none");
  EXPECT_FALSE(none.ask(SharedVerb::add, kBegin, 0).admitted);
  EXPECT_EQ(redis.integer({"EXISTS", none.name()}), 0);
}

TEST(Times, AClockThatWasAheadIsForgiven) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  for (const int events : {1, 5, 30}) {
    Key key(world, *store, 8, 1'000, std::to_string(events));
    for (int i = 0; i < events; ++i) key.ask(SharedVerb::add, kBegin + 30'000);
    // Half a minute: they count as they say, and never less than all.
    EXPECT_EQ(Key::value(key.ask(SharedVerb::add, kBegin)), events + 1);
    EXPECT_EQ(key.read(kBegin + 30'000 + kWindow - 1), events + 1);
    EXPECT_EQ(key.read(kBegin + 30'000 + kWindow), 0);
    // A day: no longer than there is something older.
    Key far(world, *store, 9, 1'000, std::to_string(events));
    for (int i = 0; i < events; ++i) far.ask(SharedVerb::add, kBegin + 86'400'000);
    EXPECT_EQ(Key::value(far.ask(SharedVerb::add, kBegin)), 1);
    EXPECT_EQ(far.read(kBegin), 1);
  }
}

TEST(Times, WhatElseTheKeyHoldsIsLeftAlone) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  Key key(world, *store, 10, 1'000, "k");
  redis.integer({"LPUSH", key.name(), "something"});
  for (const std::int64_t limit : {5, 500}) {
    SharedPart part;
    part.counter = &key.counter();
    part.ceiling = Ceiling{Number(limit), false};
    Ask one;
    one.add(SharedVerb::add, {part}, "k").id = {85, static_cast<std::uint64_t>(limit)};
    one.run(world, *store);
    EXPECT_EQ(one.answers[0].error, SharedError::wrong_type);
  }
  EXPECT_EQ(redis.integer({"LLEN", key.name()}), 1);
}

}  // namespace
}  // namespace weir::store::times_test
