// Plain operations share their terms and one pass of the script: their results must be those of the
// same operations one by one, whatever else is in their call.
#include "store/redis/plain_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "tests/store/world.h"
#include "tests/support/redis_server.h"
#include "tests/support/seed.h"

namespace weir::store::plain_calls_test {
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

std::uint64_t next_sequence() {
  static std::uint64_t sequence = 0;
  return ++sequence;
}

/// One of each form that takes them, over an hour; the ring also in sums. Those that replicas
/// exchange remember events, and share the calls of the others.
const std::array<SharedCounter, 9>& counters() {
  const auto make = [](std::uint64_t id, Window window, Metric metric, bool exchanged = false) {
    CounterSpec spec;
    spec.window = window;
    spec.metric = metric;
    spec.length = milliseconds(3'600'000);
    spec.unit = CalendarUnit::month;
    spec.zone = TimeZone::find("UTC");
    return SharedCounter({id, 0xABBA}, spec, exchanged);
  };
  static const std::array<SharedCounter, 9> all = {
      make(1, Window::every, Metric::count),      make(2, Window::calendar, Metric::sum),
      make(3, Window::ring, Metric::count),       make(4, Window::ring, Metric::sum),
      make(5, Window::log, Metric::count),        make(6, Window::every, Metric::sum, true),
      make(7, Window::ring, Metric::count, true), make(8, Window::ring, Metric::sum, true),
      make(9, Window::log, Metric::count, true)};
  return all;
}

SharedPart part_of(const SharedCounter& counter, std::optional<Ceiling> ceiling = {}) {
  SharedPart part;
  part.counter = &counter;
  part.ceiling = ceiling;
  return part;
}

std::int64_t value(const SharedReply& reply) {
  return reply.error == SharedError::none ? reply.parts[0].reading.value.integer() : -1'000'000;
}

TEST(PlainCalls, NeedAnEventAddedToOneWindowForTheFirstTime) {
  Ask ask;
  const SharedCounter& fixed = counters()[0];
  const auto is_plain = [&](SharedVerb verb, std::vector<SharedPart> parts, bool again) {
    const limiter::SharedOp& op = ask.add(verb, std::move(parts), "k");
    return PlainCalls::is_plain(script_of(op), op, again);
  };
  EXPECT_TRUE(is_plain(SharedVerb::add, {part_of(fixed)}, false));
  EXPECT_FALSE(is_plain(SharedVerb::add, {part_of(fixed)}, true));
  EXPECT_FALSE(is_plain(SharedVerb::read, {part_of(fixed)}, false));
  EXPECT_FALSE(is_plain(SharedVerb::settle, {part_of(fixed)}, false));
  EXPECT_FALSE(is_plain(SharedVerb::add, {part_of(fixed), part_of(fixed)}, false));
  EXPECT_FALSE(is_plain(SharedVerb::add, {part_of(fixed), part_of(counters()[2])}, false));
  CounterSpec spec = fixed.spec;
  spec.outcome = true;
  const SharedCounter outcomes({9, 9}, spec);
  EXPECT_FALSE(is_plain(SharedVerb::add, {part_of(outcomes)}, false));
  spec.outcome = false;
  spec.metric = Metric::sum;
  spec.real = true;
  const SharedCounter reals({10, 9}, spec);
  EXPECT_FALSE(is_plain(SharedVerb::add, {part_of(reals)}, false));
}

TEST(PlainCalls, OperationsOnOneKeyKeepTheirOrderWithinACall) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  for (const SharedCounter& counter : counters()) {
    Ask ask;
    const auto add = [&](SharedVerb verb, const char* key) {
      ask.add(verb, {part_of(counter, Ceiling{Number(4), true})}, key).id = {80, next_sequence()};
    };
    for (int i = 0; i < 3; ++i) add(SharedVerb::add, "k");  // 1, 2, 3
    add(SharedVerb::read, "k");                             // 3
    add(SharedVerb::add, "other");                          // 1
    add(SharedVerb::add, "k");                              // refused: 4 reaches the limit
    add(SharedVerb::reset, "k");
    add(SharedVerb::add, "k");  // 1
    const std::uint64_t before = store->stats().calls;
    ask.run(world, *store);
    EXPECT_EQ(store->stats().calls, before + 1) << counter.kind->name;
    const std::array<std::int64_t, 8> expected = {1, 2, 3, 3, 1, 4, 0, 1};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(value(ask.answers[i]), expected[i]) << counter.kind->name << ' ' << i;
      if (ask.all[i].verb == SharedVerb::add) {
        EXPECT_EQ(ask.answers[i].admitted, i != 5) << counter.kind->name << ' ' << i;
      }
    }
  }
}

TEST(PlainCalls, EveryKeyEnds) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  for (const SharedCounter& counter : counters()) {
    for (int i = 0; i < 2; ++i) {
      Ask ask;
      ask.add(SharedVerb::add, {part_of(counter)}, "k").id = {81, next_sequence()};
      ask.run(world, *store);
      EXPECT_EQ(value(ask.answers[0]), i + 1);
      EXPECT_GT(redis.integer({"PTTL", "weir:" + counter.name + ":{k}"}), 0) << counter.kind->name;
    }
  }
}

/// Turns of many operations on few keys, with more different limits than a call has room for.
TEST(PlainCalls, RandomTurnsCountAsOneByOne) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  std::map<std::pair<const SharedCounter*, std::string>, std::int64_t> counted;
  for (int turn = 0; turn < 40; ++turn) {
    Ask ask;
    std::vector<std::pair<std::int64_t, bool>> expected;
    for (auto i = random() % 300; i > 0; --i) {
      const SharedCounter& counter = counters()[random() % counters().size()];
      const std::string key = "key " + std::to_string(random() % 20);
      const auto limit = static_cast<std::int64_t>(random() % 400);
      const bool inclusive = random() % 2 == 0, has_limit = random() % 8 != 0;
      std::optional<Ceiling> ceiling;
      if (has_limit) ceiling = Ceiling{Number(limit), inclusive};
      const bool adds = random() % 16 != 0;
      limiter::SharedOp& op =
          ask.add(adds ? SharedVerb::add : SharedVerb::read, {part_of(counter, ceiling)}, key);
      op.id = {82, next_sequence()};
      std::int64_t amount = 1;
      if (counter.spec.metric == Metric::sum) amount = static_cast<std::int64_t>(random() % 9) - 2;
      if (counter.spec.metric == Metric::count && random() % 8 == 0) amount = 3;
      op.event.amount = amount;
      std::int64_t& total = counted[{&counter, key}];
      const std::int64_t with = adds ? total + amount : total;
      const bool over = has_limit && (with > limit || (inclusive && with >= limit));
      if (adds && !over) total = with;
      expected.emplace_back(with, !over || !adds);
    }
    ask.run(world, *store);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(value(ask.answers[i]), expected[i].first) << "turn " << turn << ", " << i;
      ASSERT_EQ(ask.answers[i].admitted, expected[i].second) << "turn " << turn << ", " << i;
    }
  }
}

}  // namespace
}  // namespace weir::store::plain_calls_test
