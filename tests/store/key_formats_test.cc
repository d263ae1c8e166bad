// The bytes of keys in Redis, by kind. Replicas of different versions share them while one version
// replaces the other, so a change of these bytes loses counts, or needs a layout of its own
// (limiter/exchange/shared_op.cc). The golden file has what a few events leave in each key.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/store/world.h"
#include "tests/support/golden.h"
#include "tests/support/redis_server.h"

namespace weir::store::key_formats_test {
namespace {

using limiter::CounterSpec;
using limiter::Kind;
using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedVerb;
using limiter::Window;
using test::Ask;
using test::World;
using weir::test::RedisServer;

constexpr std::int64_t kBegin = 1'700'000'000'000;

CounterSpec spec_of(const Kind& kind, bool outcome) {
  CounterSpec spec;
  spec.metric = kind.metric;
  spec.window = kind.window;
  spec.real = kind.real;
  spec.outcome = outcome;
  spec.length = milliseconds(60'000);
  spec.buckets = 6;
  spec.events = 3;
  spec.keep = 3;
  spec.unit = CalendarUnit::day;
  spec.zone = TimeZone::find("Europe/Berlin");
  spec.capacity = kind.real ? Number::real(20) : Number(20);
  spec.drain = milliseconds(30'000);
  spec.drains = 2;
  if (kind.near) spec.radius = 1'000;
  return spec;
}

std::string spelt(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    if (c > ' ' && c < 0x7f && c != '\\') {
      out += c;
      continue;
    }
    out += "\\x";
    out += kDigits[static_cast<unsigned char>(c) >> 4U];
    out += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

/// Five events of one key, and one that is reserved if the counter has outcomes.
class Events {
 public:
  Events(World& world, RedisStore& store, const SharedCounter& counter)
      : world_(world), store_(store), counter_(counter) {}

  std::string run() {
    constexpr std::array<std::int64_t, 5> kAt = {0, 10, 10, 15'000, 30'000};
    for (std::size_t i = 0; i < kAt.size(); ++i) ask(SharedVerb::add, kBegin + kAt[i], i);
    if (counter_.spec.outcome) ask(SharedVerb::reserve, kBegin + 31'000, 5);
    return ask(SharedVerb::read, kBegin + 32'000, 6);
  }

 private:
  std::string ask(SharedVerb verb, std::int64_t now, std::size_t i) {
    constexpr std::array<double, 7> kAmounts = {3, 1, 4, 1, 5, 9, 2};
    constexpr std::array<std::string_view, 7> kTexts = {"a", "bc", "def", "", "g", "h", "i"};
    limiter::Datum datum;
    datum.type = limiter::Datum::Type::text;
    datum.text = kTexts[i];
    Ask one;
    limiter::SharedOp& op = one.add(verb, {{&counter_, {}, 0}}, "k");
    op.now = from_ms(now);
    op.at = from_ms(now);
    op.id = {0x0102'0304'0506, 0x1112'1314'1510 + i};
    op.lifetime = milliseconds(20'000);
    const double amount = kAmounts[i] + (counter_.spec.real ? 0.5 : 0);
    op.event.amount =
        counter_.spec.real ? Number::real(amount) : Number(static_cast<std::int64_t>(amount));
    op.event.member = 0x4141'4141'4141'4141 + i / 2;
    op.event.datum = &datum;
    op.place = {31.2304, 121.4737};
    one.run(world_, store_);
    const limiter::SharedReply& reply = one.answers.at(0);
    EXPECT_EQ(reply.error, SharedError::none) << row_of(reply.error).name;
    const limiter::Reading& reading = reply.parts[0].reading;
    if (!reading.has_value) return "none";
    return reading.datum != nullptr ? std::string(reading.datum->text) : reading.value.to_string();
  }

  World& world_;
  RedisStore& store_;
  const SharedCounter& counter_;
};

std::string content(RedisServer& redis, const std::string& key) {
  const std::string type = redis.text({"TYPE", key});
  if (type == "+string") return "string " + spelt(redis.text({"GET", key}));
  std::string out(type.substr(1));
  const auto words = redis.words(
      type == "+hash" ? std::vector<std::string>{"HGETALL", key}
                      : std::vector<std::string>{"ZRANGE", key, "0", "-1", "WITHSCORES"});
  for (const std::string& word : words) out += ' ' + spelt(word);
  return out;
}

TEST(KeyFormats, WhatEventsLeaveInRedis) {
  RedisServer redis;
  ASSERT_TRUE(redis.running());
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  std::string out;
  std::uint64_t number = 0;
  for (const Kind& kind : limiter::kinds()) {
    for (const bool outcome : {false, true}) {
      SCOPED_TRACE(kind.name);
      const SharedCounter counter({++number, 0xF0F0}, spec_of(kind, outcome));
      ASSERT_NE(counter.kind, nullptr);
      const std::string reading = Events(world, *store, counter).run();
      out += std::string(kind.name) + (outcome ? ", outcomes: " : ": ") + reading + '\n';
      auto keys = redis.words({"KEYS", "weir:" + counter.name + ":*"});
      std::ranges::sort(keys);
      EXPECT_FALSE(keys.empty());
      for (const std::string& key : keys) out += "  " + key + ' ' + content(redis, key) + '\n';
    }
  }
  EXPECT_EQ(weir::test::compare_golden(WEIR_SOURCE_DIR, "store/keys.txt", out), "");
}

}  // namespace
}  // namespace weir::store::key_formats_test
