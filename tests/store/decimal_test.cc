// Keys that envoyproxy/ratelimit writes too (scripts/decimal.lua): the counts of weir are stored as
// it would have written them, and its counts are read here.
#include <gtest/gtest.h>

#include "store/redis/codec.h"
#include "store/redis/plain_calls.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"

namespace weir::store::decimal_test {
namespace {

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

CounterSpec hits_per_minute() {
  CounterSpec spec;
  spec.metric = Metric::sum;
  spec.window = Window::every;
  spec.length = milliseconds(60'000);
  return spec;
}

class Decimal : public ::testing::Test {
 protected:
  SharedReply ask(SharedVerb verb, std::int64_t hits, const std::string& key = kKey,
                  bool again = false) {
    SharedPart part;
    part.counter = &counter_;
    Ask one;
    limiter::SharedOp& op = one.add(verb, {part}, key);
    op.event.amount = hits;
    op.id = {7, ++sequence_};
    op.again = again;
    one.run(world_, *store_);
    return one.answers.empty() ? SharedReply{} : one.answers.front();
  }
  std::int64_t value(SharedVerb verb, std::int64_t hits) {
    const SharedReply reply = ask(verb, hits);
    EXPECT_EQ(reply.error, SharedError::none);
    return reply.parts[0].reading.value.integer();
  }

  static inline const std::string kKey = "shop_user_ann_1700000040";
  RedisServer redis_;
  World world_;
  SharedCounter counter_ = SharedCounter::decimal({1, 0xDEC}, hits_per_minute());
  std::unique_ptr<RedisStore> store_ = connected(world_, test::unix_settings(redis_.path()));
  std::uint64_t sequence_ = 0;
};

TEST_F(Decimal, StandsThereAsTheOtherServiceWritesIt) {
  EXPECT_EQ(value(SharedVerb::add, 1), 1);
  EXPECT_EQ(value(SharedVerb::add, 3), 4);
  EXPECT_EQ(redis_.text({"GET", kKey}), "4");
  const std::int64_t lasts = redis_.integer({"TTL", kKey});
  EXPECT_TRUE(lasts >= 55 && lasts <= 60) << lasts;
  EXPECT_EQ(redis_.integer({"DBSIZE"}), 1);
}

TEST_F(Decimal, CountsOnFromWhatTheOtherServiceHasCounted) {
  EXPECT_EQ(redis_.integer({"INCRBY", kKey, "40"}), 40);
  EXPECT_EQ(value(SharedVerb::read, 1), 40);
  EXPECT_EQ(redis_.integer({"TTL", kKey}), -1) << "who reads changes nothing";
  EXPECT_EQ(value(SharedVerb::look, 2), 42);
  EXPECT_EQ(value(SharedVerb::add, 2), 42);
  EXPECT_EQ(redis_.integer({"INCRBY", kKey, "1"}), 43);
}

TEST_F(Decimal, AnUndoIsOfTheWindowAlone) {
  EXPECT_EQ(value(SharedVerb::add, 5), 5);
  EXPECT_EQ(ask(SharedVerb::take_back, 2).error, SharedError::none);
  EXPECT_EQ(redis_.text({"GET", kKey}), "3");
  EXPECT_EQ(redis_.integer({"DEL", kKey}), 1);
  EXPECT_EQ(ask(SharedVerb::take_back, 3).error, SharedError::none);
  EXPECT_EQ(redis_.integer({"EXISTS", kKey}), 0) << "a window that is over stays so";
  EXPECT_EQ(value(SharedVerb::add, 5), 5);
  EXPECT_EQ(ask(SharedVerb::reset, 0).error, SharedError::none);
  EXPECT_EQ(redis_.integer({"EXISTS", kKey}), 0);
}

TEST_F(Decimal, AnUndoThatMayHaveBeenDoneIsNotDone) {
  EXPECT_EQ(value(SharedVerb::add, 15), 15);
  EXPECT_EQ(ask(SharedVerb::take_back, 5).error, SharedError::none);
  EXPECT_EQ(ask(SharedVerb::take_back, 5, kKey, true).error, SharedError::none);
  EXPECT_EQ(redis_.text({"GET", kKey}), "10");
}

TEST_F(Decimal, WhatElseTheKeyHoldsIsLeftAlone) {
  EXPECT_EQ(redis_.integer({"RPUSH", kKey, "a"}), 1);
  EXPECT_EQ(ask(SharedVerb::add, 1).error, SharedError::wrong_type);
  EXPECT_EQ(redis_.integer({"LLEN", kKey}), 1);
  EXPECT_EQ(redis_.text({"SET", "shop_user_bob_1700000040", "many"}), "+OK");
  EXPECT_NE(ask(SharedVerb::add, 1, "shop_user_bob_1700000040").error, SharedError::none);
  EXPECT_EQ(redis_.text({"GET", "shop_user_bob_1700000040"}), "many");
}

TEST_F(Decimal, IsSentOnceAndNeverAmongPlainCalls) {
  SharedPart part;
  part.counter = &counter_;
  Ask one;
  const limiter::SharedOp& op = one.add(SharedVerb::add, {part}, kKey);
  EXPECT_FALSE(counts_once(op)) << "a hit that may have been counted is not counted again";
  EXPECT_FALSE(PlainCalls::is_plain(script_of(op), op, false));
  std::string keys;
  EXPECT_EQ(append_keys(keys, op), 1U);
  EXPECT_EQ(keys, "$24\r\n" + kKey + "\r\n");
}

}  // namespace
}  // namespace weir::store::decimal_test
