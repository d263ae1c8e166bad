// Counters whose events bring their own times, at their edges: keep, saturation, threads, room.
#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "limiter/counters/bank.h"
#include "limiter/counters/footprint.h"
#include "tests/support/seed.h"

namespace weir::limiter::event_time_edges_test {
namespace {

constexpr std::int64_t kStart = 1'700'000'000'123;

CounterSpec exact(Metric metric, std::int64_t length, std::int64_t late, std::size_t keep) {
  CounterSpec spec;
  spec.metric = metric;
  spec.window = Window::log;
  spec.length = milliseconds(length);
  spec.late = milliseconds(late);
  spec.keep = keep;
  return spec;
}

TEST(EventTimeKeep, CountsReadNoMoreAndSumsLoseNothing) {
  const std::uint64_t seed = ::weir::test::new_seed();
  std::cout << "keep: seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (const Metric metric : {Metric::count, Metric::distinct, Metric::sum}) {
    Bank bank({std::uint64_t{8} << 20, 1000});
    const CounterSpec spec = exact(metric, 60'000, 5'000, 8);
    const CounterId id = bank.open({1, 1}, spec).value();
    std::int64_t sum = 0;
    for (std::int64_t n = 0; n < 300; ++n) {
      const std::int64_t ms = kStart + n * 100 - static_cast<std::int64_t>(random() % 5'000);
      const auto some = static_cast<std::int64_t>(random() % 9);
      const Amount amount{metric == Metric::sum ? Number(some) : Number(1),
                          static_cast<std::uint64_t>(n)};
      if (!bank.observe(id, from_ms(ms))) continue;
      Undo undo;
      const std::string before = bank.peek(id, {5, 5}, from_ms(kStart + 31'000)).value.to_string();
      bank.charge(id, {5, 5}, from_ms(ms), amount, nullptr, &undo);
      bank.uncharge(id, {5, 5}, undo);
      EXPECT_EQ(bank.peek(id, {5, 5}, from_ms(kStart + 31'000)).value.to_string(), before);
      bank.charge(id, {5, 5}, from_ms(ms), amount, nullptr, nullptr);
      sum += some;
      const Number all = bank.peek(id, {5, 5}, from_ms(kStart + 31'000)).value;
      if (metric == Metric::sum) {
        EXPECT_EQ(all, Number(sum)) << "seed " << seed;  // all are within the window's minute
      } else {
        EXPECT_LE(all, Number(8));
        EXPECT_LE(bank.peek(id, {5, 5}, from_ms(ms), &amount).value, Number(8));
      }
    }
  }
}

TEST(EventTimeKeep, ASumAtTheTopStaysThereUntilItsBucketLeaves) {
  CounterSpec spec = exact(Metric::sum, 60'000, 5'000, 100);
  spec.window = Window::every;
  Bank bank({std::uint64_t{8} << 20, 1000});
  const CounterId id = bank.open({1, 1}, spec).value();
  constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();
  const std::int64_t minute = 1'700'000'040'000;
  for (const std::int64_t amount : {kTop - 5, std::int64_t{9}, std::int64_t{-100}})
    bank.charge(id, {5, 5}, from_ms(minute), {Number(amount), 0}, nullptr, nullptr);
  EXPECT_EQ(bank.peek(id, {5, 5}, from_ms(minute + 1)).value, Number(kTop));
  Undo undo;
  bank.charge(id, {5, 5}, from_ms(minute), {Number(7), 0}, nullptr, &undo);
  bank.uncharge(id, {5, 5}, undo);
  EXPECT_EQ(bank.peek(id, {5, 5}, from_ms(minute + 1)).value, Number(kTop));
  EXPECT_EQ(bank.peek(id, {5, 5}, from_ms(minute + 60'000)).value, Number(0));
}

TEST(EventTimeRace, WithoutTimesOfTheirOwnNoMoreThanTheLimitGetsIn) {
  for (int round = 0; round < 20; ++round) {
    Bank bank({std::uint64_t{8} << 20, 1000});
    const CounterId id = bank.open({1, 1}, exact(Metric::count, 60'000, 0, 1000)).value();
    std::atomic<int> admitted{0};
    std::vector<std::thread> workers;
    for (int w = 0; w < 4; ++w) {
      workers.emplace_back([&, w] {
        for (int n = 0; n < 50; ++n) {
          const Ceiling five{Number(5), false};
          const Moment at(from_ms(kStart + n * 3 - w), false);  // clocks some ms apart
          const Reading r = bank.charge(id, {5, 5}, at, Amount{}, &five, nullptr);
          admitted += r.stored ? 1 : 0;
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(admitted, 5);
  }
}

TEST(EventTimeKeys, ExpireByTheirOwnStreamAndNotByTheClock) {
  Bank bank({std::uint64_t{8} << 20, 8});
  const CounterId own = bank.open({1, 1}, exact(Metric::count, 1'000, 1'000, 10)).value();
  CounterSpec by_clock = exact(Metric::count, 1'000, 0, 10);
  by_clock.late.reset();
  const CounterId other = bank.open({2, 2}, by_clock).value();
  bank.charge(own, {1, 1}, from_ms(kStart), Amount{}, nullptr, nullptr);
  // A day by the clock, and more keys than there is room for: those that have expired go.
  for (std::uint64_t n = 0; n < 200; ++n) {
    const auto at = from_ms(kStart + 86'400'000 + static_cast<std::int64_t>(n) * 10'000);
    bank.charge(other, {n, n}, at, Amount{}, nullptr, nullptr);
  }
  EXPECT_EQ(bank.peek(own, {1, 1}, from_ms(kStart)).value, Number(1));
  bank.charge(own, {2, 2}, from_ms(kStart + 60'000), Amount{}, nullptr, nullptr);
  EXPECT_EQ(bank.peek(own, {1, 1}, from_ms(kStart + 60'000)).value, Number(0));
}

TEST(EventTimeFootprint, IsABlockForEachKey) {
  const Footprint print = footprint(exact(Metric::count, 60'000, 1'000, 100));
  EXPECT_EQ(print.sparse_entries, 1u);
  EXPECT_GT(print.worst, print.sparse + 99 * 16);
  Bank bank({std::uint64_t{64} << 20, 1000});
  const CounterId id = bank.open({1, 1}, exact(Metric::count, 60'000, 1'000, 100)).value();
  for (int n = 0; n < 500; ++n)
    bank.charge(id, {5, 5}, from_ms(kStart + n), Amount{}, nullptr, nullptr);
  EXPECT_LE(bank.stats().memory_used, print.worst);
}

}  // namespace
}  // namespace weir::limiter::event_time_edges_test
