#include <gtest/gtest.h>

#include "limiter/counters/bank.h"

namespace weir::limiter::leaky_test {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr TimePoint at(std::int64_t ms) { return from_ms(kNow + ms); }
const Hash128 kKey{1, 2};

struct Bucket {
  Bank bank{{std::uint64_t{4} << 20, 100}};
  CounterId id;
  explicit Bucket(Metric metric, Number capacity, std::int64_t drain, bool outcome = false) {
    CounterSpec spec;
    spec.metric = metric;
    spec.window = Window::leaky;
    spec.capacity = capacity;
    spec.drain = milliseconds(drain);
    spec.outcome = outcome;
    id = bank.open({7, 7}, spec).value();
  }
  Number pour(std::int64_t ms, std::uint64_t member = 0) {
    return bank.charge(id, kKey, at(ms), {Number(1), member}, nullptr, nullptr).value;
  }
  Number level(std::int64_t ms) { return bank.peek(id, kKey, at(ms)).value; }
};

// The public tests of a log analyser: capacity 5, one drains every 10 s; the sixth event alarms.
TEST(Leaky, TheSixthEventWithinADrainIsAboveACapacityOfFiveAndEmptyingStartsAnew) {
  Bucket b(Metric::count, 5, 10'000);
  for (std::int64_t n = 1; n <= 5; ++n) EXPECT_EQ(b.pour(0), Number(n));
  EXPECT_EQ(b.pour(0), Number(6));
  EXPECT_EQ(b.level(0), Number(5)) << "what is above the capacity is not kept";
  b.bank.reset(b.id, kKey);
  EXPECT_EQ(b.pour(1), Number(1));
}

TEST(Leaky, HoldsAFractionalCapacityHoweverCoarseItsDrain) {
  for (const Metric metric : {Metric::count, Metric::distinct}) {
    Bucket b(metric, Number::real(2.5), 1);
    for (std::uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(b.pour(0, n), Number(n));
    EXPECT_EQ(b.level(0), Number::real(2.5));
    EXPECT_EQ(b.pour(0, 4), Number::real(3.5));
    EXPECT_EQ(b.level(1), Number::real(1.5));
    EXPECT_EQ(b.level(3), Number(0));
  }
}

TEST(Leaky, DrainsContinuously) {
  Bucket b(Metric::count, 5, 10'000);
  b.pour(0);
  b.pour(0);
  EXPECT_EQ(b.level(5000), Number::real(1.5));
  EXPECT_EQ(b.level(10'000), Number(1));
  EXPECT_EQ(b.pour(15'000), Number::real(1.5));
  EXPECT_EQ(b.level(29'999), Number::real(0.0001));
  EXPECT_EQ(b.level(30'000), Number(0));
}

TEST(Leaky, NeverReadsALevelAboveTheCapacityAsTheCapacity) {
  Bucket b(Metric::count, Number(std::int64_t{1} << 31), kWindowMax.count());
  const Amount all{Number(std::numeric_limits<std::int32_t>::max())};
  b.bank.charge(b.id, kKey, at(0), all, nullptr, nullptr);
  b.pour(0);
  const Ceiling full{Number(std::int64_t{1} << 31), false};
  EXPECT_FALSE(full.broken_by(b.level(0)));
  EXPECT_TRUE(full.broken_by(b.pour(1))) << "above by almost 1";
  Bucket tight(Metric::count, Number(std::int64_t{1} << 31), kWindowMax.count());
  tight.bank.charge(tight.id, kKey, at(0), all, nullptr, nullptr);
  tight.pour(0);
  EXPECT_TRUE(full.broken_by(tight.pour(kWindowMax.count() - 1))) << "above by a 2^31st";
}

TEST(Leaky, AMemberInTheBucketIsNotPouredAgainAndForgottenWithTheLastDrop) {
  Bucket b(Metric::distinct, 5, 10'000);
  EXPECT_EQ(b.pour(0, 1), Number(1));
  EXPECT_EQ(b.pour(0, 1), Number(1));
  EXPECT_EQ(b.pour(0, 2), Number(2));
  EXPECT_EQ(b.pour(19'999, 1), Number::real(0.0001)) << "still in it";
  EXPECT_EQ(b.pour(20'000, 1), Number(1)) << "the bucket had run empty";
}

TEST(Leaky, ALateSettlementWasPouredAtItsOwnTime) {
  Bucket b(Metric::count, 50, 1000, true);
  const auto reserve = [&](std::int64_t ms) {
    Undo undo;
    b.bank.reserve(b.id, kKey, at(ms), {}, nullptr, &undo);
    return undo;
  };
  const Undo first = reserve(0), second = reserve(0), third = reserve(0);
  EXPECT_EQ(b.level(0), Number(3)) << "in flight counts in full";
  // The bucket was empty from 0 on: 400 ms of the first have drained.
  EXPECT_EQ(b.bank.settle(b.id, kKey, at(0), at(400), {}, first, true).value, Number::real(0.6));
  // It has not been empty since: the second comes on top of it.
  EXPECT_EQ(b.bank.settle(b.id, kKey, at(0), at(500), {}, second, true).value, Number::real(1.5));
  // All would have drained before now.
  EXPECT_EQ(b.bank.settle(b.id, kKey, at(0), at(5000), {}, third, true).value, Number(0));
  EXPECT_EQ(b.bank.stats().keys, 0u);
  EXPECT_EQ(b.bank.stats().memory_used, 0u);
}

}  // namespace
}  // namespace weir::limiter::leaky_test
