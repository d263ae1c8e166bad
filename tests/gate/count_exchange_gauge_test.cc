// `in_flight` of several replicas: the sum of their open requests.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/gate/fleet.h"
#include "tests/support/seed.h"

namespace weir::gate::count_exchange_gauge_test {
namespace {

constexpr milliseconds kInterval{200};
const Hash128 kKey{7, 7};

limiter::CounterSpec open_events() {
  limiter::CounterSpec spec;
  spec.metric = Metric::in_flight;
  spec.window = Window::none;
  return spec;
}

void leave(Fleet& fleet, std::size_t replica, std::int64_t amount = 1) {
  fleet[replica].synced().leave(fleet[replica].counter, kKey, amount);
}

TEST(ExchangedGauges, AddUp) {
  Fleet fleet(3, open_events(), kInterval);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(fleet[0].charge(kKey, fleet.now, 10));
  EXPECT_TRUE(fleet[1].charge(kKey, fleet.now, 10, 4));
  fleet.settle({kKey});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fleet[i].read(kKey, fleet.now), 7) << i;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(fleet[2].charge(kKey, fleet.now, 10));
  EXPECT_FALSE(fleet[2].charge(kKey, fleet.now, 10)) << "ten are open";
  leave(fleet, 0, 3);
  leave(fleet, 1, 4);
  fleet.settle({kKey});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fleet[i].read(kKey, fleet.now), 3) << i;
  leave(fleet, 2, 3);
  fleet.settle({kKey});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fleet[i].read(kKey, fleet.now), 0) << i;
}

TEST(ExchangedGauges, WhatIsOpenIsSaidAgainUntilItEnds) {
  Fleet fleet(2, open_events(), kInterval);
  fleet[0].charge(kKey, fleet.now, 10);
  for (int i = 0; i < 600; ++i) fleet.step(milliseconds{100});  // a minute of a long request
  EXPECT_LE(fleet[0].line.operations, 60u * 5 + 1);
  fleet.settle({kKey});
  EXPECT_EQ(fleet[1].read(kKey, fleet.now), 1);
  leave(fleet, 0);
  fleet.settle({});
  EXPECT_EQ(fleet[0].exchange.stats().queued, 0u) << "nothing is open, nothing is said";
}

TEST(ExchangedGauges, ADeadReplicaHasNothingOpen) {
  Fleet fleet(2, open_events(), kInterval);
  fleet[0].charge(kKey, fleet.now, 10, 6);
  fleet.settle({kKey});
  ASSERT_EQ(fleet[1].read(kKey, fleet.now), 6);
  fleet[0].line.is_cut = true;
  milliseconds gone{0};
  while (fleet[1].read(kKey, fleet.now) != 0 && gone < milliseconds{60'000}) {
    fleet.step(milliseconds{50});
    gone += milliseconds{50};
  }
  EXPECT_GT(gone, milliseconds{4'000});
  EXPECT_LE(gone, milliseconds{5'000} + 2 * kInterval);
  fleet[0].line.is_cut = false;  // it was only cut off
  fleet.settle({kKey});
  EXPECT_EQ(fleet[1].read(kKey, fleet.now), 6);
}

/// Events begin and end at random replicas, over slow lines that are cut and lose replies: the
/// admissions stay within the bound, and when all is quiet every replica knows what is open.
TEST(ExchangedGauges, RandomFleetsKeepTheBoundAndAgreeInTheEnd) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    const auto replicas = static_cast<std::size_t>(1 + below(4));
    const milliseconds interval{20 + below(400)};
    const std::int64_t limit = 5 + below(100);
    Fleet fleet(replicas, open_events(), interval);
    milliseconds slowest{0};
    for (std::size_t i = 0; i < replicas; ++i) {
      fleet[i].line.delay = milliseconds{1 + below(30)};
      slowest = std::max(slowest, fleet[i].line.delay);
    }
    const bool faults = below(2) == 0;
    std::vector<std::int64_t> open(replicas), most(replicas), in_interval(replicas);
    std::vector<std::deque<TimePoint>> recent(replicas);
    const auto all = [&] { return std::accumulate(open.begin(), open.end(), std::int64_t{0}); };
    for (int i = 0; i < 1'500; ++i) {
      const auto r = static_cast<std::size_t>(below(replicas));
      if (below(5) < 3) {
        if (fleet[r].charge(kKey, fleet.now, limit)) {
          ++open[r];
          recent[r].push_back(fleet.now);
          EXPECT_LE(open[r], limit) << "its own it knows";
        }
      } else if (open[r] > 0) {
        leave(fleet, r);
        --open[r];
      }
      const TimePoint begin = fleet.now - interval - 2 * slowest - milliseconds{30};
      while (!recent[r].empty() && recent[r].front() < begin) recent[r].pop_front();
      most[r] = std::max(most[r], static_cast<std::int64_t>(recent[r].size()));
      if (!faults) {
        EXPECT_LE(all(), limit + std::accumulate(most.begin(), most.end(), std::int64_t{0}))
            << "round " << round << ", step " << i;
      }
      if (below(3) == 0) fleet.step(milliseconds{below(12)});
      if (faults && below(40) == 0) fleet[r].line.loses = below(2) == 0;
      if (faults && below(60) == 0) fleet[r].line.is_cut = below(3) == 0;
    }
    for (const auto& replica : fleet.all) replica->line.is_cut = replica->line.loses = false;
    fleet.settle({kKey});
    for (std::size_t i = 0; i < replicas; ++i) {
      EXPECT_EQ(fleet[i].read(kKey, fleet.now), all()) << "round " << round << ", replica " << i;
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace weir::gate::count_exchange_gauge_test
