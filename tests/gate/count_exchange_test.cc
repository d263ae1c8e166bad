#include "gate/count_exchange.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "tests/gate/fleet.h"
#include "tests/support/seed.h"

namespace weir::gate::count_exchange_test {
namespace {

constexpr milliseconds kInterval{200};

TEST(Exchange, TellsEachReplicaWhatTheOthersHaveCounted) {
  Fleet fleet(3, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fleet[0].charge(key, fleet.now, 10));
  EXPECT_TRUE(fleet[1].charge(key, fleet.now, 10));
  EXPECT_EQ(fleet[0].read(key, fleet.now), 4) << "nobody has told anybody yet";
  fleet.settle({key});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(fleet[i].read(key, fleet.now), 5) << "replica " << i;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(fleet[2].charge(key, fleet.now, 10)) << i;
  EXPECT_FALSE(fleet[2].charge(key, fleet.now, 10));
  EXPECT_EQ(fleet[2].read(key, fleet.now), 10);
  fleet.settle({key});
  EXPECT_FALSE(fleet[0].charge(key, fleet.now, 10));
}

TEST(Exchange, AResetHoldsEverywhere) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  for (int i = 0; i < 4; ++i) fleet[0].charge(key, fleet.now, 10);
  for (int i = 0; i < 3; ++i) fleet[1].charge(key, fleet.now, 10);
  fleet.settle({key});
  ASSERT_EQ(fleet[1].read(key, fleet.now), 7);
  fleet[0].synced().reset(fleet[0].counter, key, fleet.now);
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0) << "here at once";
  fleet.settle({key});
  EXPECT_EQ(fleet[1].read(key, fleet.now), 0);
  fleet[1].charge(key, fleet.now, 10);
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 1);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 1);
}

TEST(Exchange, WhatWasCountedDuringAnOutageIsMergedAfterIt) {
  Fleet fleet(2, spec_of(Window::ring), kInterval);
  const Hash128 key{7, 7};
  fleet[0].line.is_cut = true;
  for (int i = 0; i < 50; ++i) {
    fleet[0].charge(key, fleet.now, 1'000);
    fleet[1].charge(key, fleet.now, 1'000);
    fleet.step(milliseconds{20});
  }
  EXPECT_EQ(fleet[0].read(key, fleet.now), 50);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 50);
  fleet[0].line.is_cut = false;
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 100);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 100);
}

TEST(Exchange, APushWithoutAnAnswerCountsOnce) {
  Fleet fleet(2, spec_of(Window::ring), kInterval);
  const Hash128 key{7, 7};
  fleet[0].line.loses = true;
  for (int i = 0; i < 20; ++i) {
    fleet[0].charge(key, fleet.now, 1'000);
    fleet.step(milliseconds{50});
  }
  fleet[0].line.loses = false;
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 20);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 20);
}

TEST(Exchange, WhatALaterPolicyTookBackIsNobodysCount) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  limiter::Undo undo;
  fleet[0].touch(key, fleet.now);
  fleet[0].synced().charge(fleet[0].counter, key, fleet.now, {5, 0, nullptr}, nullptr, true, &undo);
  fleet.settle({key});
  ASSERT_EQ(fleet[1].read(key, fleet.now), 5) << "it was sent";
  fleet[0].synced().uncharge(fleet[0].counter, key, undo);
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0);
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0);
}

/// An amount that was taken back after it was sent leaves the window, and then is forgotten.
TEST(Exchange, WhatWasTakenBackAfterItWasSentIsForgottenWithItsWindow) {
  for (const Window window :
       {Window::log, Window::ring, Window::every, Window::every_first, Window::leaky}) {
    for (const bool others : {false, true}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(window)) + (others ? " others" : " alone"));
      limiter::CounterSpec spec = spec_of(window);
      spec.length = milliseconds{window == Window::leaky ? 0 : 60'000};
      spec.capacity = Number{2};
      spec.drain = milliseconds{60'000};
      Fleet fleet(2, spec, kInterval);
      const Hash128 key{7, 7};
      limiter::Undo undo;
      fleet[0].touch(key, fleet.now);
      fleet[0].synced().charge(fleet[0].counter, key, fleet.now, {1, 0, nullptr}, nullptr, true,
                               &undo);
      fleet.settle({key});
      fleet[0].synced().uncharge(fleet[0].counter, key, undo);
      const auto pass = [&](milliseconds time) {
        for (milliseconds gone{0}; gone < time; gone += milliseconds{20})
          fleet.step(milliseconds{20});
      };
      for (int i = 0; i < 5; ++i) {  // two windows and a half; the others count all the time
        if (others) fleet[1].charge(key, fleet.now, 1'000);
        pass(milliseconds{30'000});
      }
      EXPECT_TRUE(fleet[0].table.find(limiter::SyncEntry::key_of(key, fleet[0].counter))->idle());
      if (!others) {
        const std::size_t before = fleet[0].line.operations;
        pass(milliseconds{60'000});
        EXPECT_EQ(fleet[0].line.operations, before) << "there is nothing to exchange";
      } else {
        pass(milliseconds{120'000});
      }
      EXPECT_TRUE(fleet[0].charge(key, fleet.now, 1'000));
      fleet.settle({key});
      for (std::size_t i = 0; i < 2; ++i) {  // a bucket drains meanwhile
        EXPECT_NEAR(fleet[i].reading(key, fleet.now).value.as_real(), 1,
                    window == Window::leaky ? 0.1 : 0)
            << "replica " << i;
      }
    }
  }
}

TEST(Exchange, AWindowThatTheFirstEventOpensEndsForAllAtOnce) {
  for (const Metric metric : {Metric::count, Metric::sum}) {
    limiter::CounterSpec spec = spec_of(Window::every_first, metric);
    spec.length = milliseconds{60'000};
    Fleet fleet(3, spec, kInterval);
    const Hash128 key{7, 7};
    const TimePoint begin = fleet.now;
    const auto wait_until = [&](milliseconds after) {
      while (fleet.now < begin + after) {
        for (const auto& replica : fleet.all) replica->touch(key, fleet.now);
        fleet.step(milliseconds{5});
      }
    };
    for (int i = 0; i < 3; ++i) fleet[0].charge(key, fleet.now, 100);
    wait_until(milliseconds{30'000});
    fleet[1].charge(key, fleet.now, 100);  // half a window later, on one that had none
    wait_until(milliseconds{50'000});
    fleet[2].charge(key, fleet.now, 100);
    wait_until(milliseconds{59'900});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(fleet[i].read(key, fleet.now), 5) << "replica " << i;
    wait_until(milliseconds{60'000} + kInterval + milliseconds{20});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(fleet[i].read(key, fleet.now), 0) << "replica " << i;
    fleet[1].charge(key, fleet.now, 100);
    wait_until(milliseconds{90'000});
    fleet[0].charge(key, fleet.now, 100);
    wait_until(milliseconds{119'000});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(fleet[i].read(key, fleet.now), 2) << "replica " << i;
    wait_until(milliseconds{121'000});
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(fleet[i].read(key, fleet.now), 0) << "replica " << i;
  }
}

TEST(Exchange, AKeyNearItsLimitIsNotLeftToWait) {
  Fleet fleet(2, spec_of(Window::log), milliseconds{10'000});
  const Hash128 key{7, 7};
  for (int i = 0; i < 9; ++i) fleet[0].charge(key, fleet.now, 10);
  fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[0].line.operations, 1u) << "at the end of the turn";
  fleet[1].charge(key, fleet.now, 10);
  fleet.step(milliseconds{1});
  fleet.step(milliseconds{5});
  EXPECT_EQ(fleet[1].line.operations, 0u) << "as far as it knows, it is far from its limit";
}

TEST(Exchange, WhatIsToGoSoonWaitsForCompany) {
  Fleet fleet(1, spec_of(Window::log), milliseconds{10'000});
  // One event where seven are left: more than an eighth of them, and not all.
  for (std::uint64_t i = 1; i <= 3; ++i) {
    fleet[0].charge({i, i}, fleet.now, 8);
    fleet.step(milliseconds{1});
  }
  EXPECT_EQ(fleet[0].line.submitted, 0u);
  fleet.step(milliseconds{5});
  EXPECT_EQ(fleet[0].line.submitted, 0u) << "not for 8 ms from the end of the first one's turn";
  fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[0].line.submitted, 1u);
  EXPECT_EQ(fleet[0].line.operations, 3u) << "together";
}

TEST(Exchange, WhatCannotWaitTakesTheOthersAlong) {
  Fleet fleet(1, spec_of(Window::log), milliseconds{10'000});
  const Hash128 key{1, 1}, other{2, 2};
  fleet[0].charge(key, fleet.now, 8);
  fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[0].line.submitted, 0u);
  fleet[0].charge(other, fleet.now, 8);
  fleet[0].charge(key, fleet.now, 8);  // if many others continue like this, it is at its limit
  fleet.step(milliseconds{0});
  EXPECT_EQ(fleet[0].line.submitted, 1u);
  EXPECT_EQ(fleet[0].line.operations, 2u);
  for (int i = 0; i < 20; ++i) fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[0].line.submitted, 1u) << "nothing of it is left to be sent";
}

/// The amount that a limit admits while four replicas get the same key all the time.
std::int64_t admitted_of_a_hot_key(Fleet& fleet, const Hash128& key, std::int64_t limit,
                                   milliseconds time) {
  std::int64_t admitted = 0;
  for (milliseconds gone{0}; gone < time; ++gone) {
    for (const auto& replica : fleet.all) admitted += replica->charge(key, fleet.now, limit);
    fleet.step(milliseconds{1});
  }
  return admitted;
}

TEST(Exchange, AHotKeyIsExchangedAsItsLimitFillsUp) {
  constexpr std::int64_t kLimit = 600;
  Fleet fleet(4, spec_of(Window::log), milliseconds{1'000});
  const std::int64_t admitted = admitted_of_a_hot_key(fleet, {7, 7}, kLimit, milliseconds{2'000});
  EXPECT_GE(admitted, kLimit);
  // 4,000 were wanted in each interval. The excess is the admissions of four replicas in a fortieth
  // of it, at an event a ms.
  EXPECT_LE(admitted, kLimit + 4 * 1'000 / 40);
  for (const auto& replica : fleet.all) {
    EXPECT_LE(replica->line.operations, 2u * 41) << "no more than forty times an interval";
  }
}

TEST(Exchange, WhatTheOthersMayCountRefusesNobody) {
  constexpr std::int64_t kLimit = 600;
  Fleet fleet(4, spec_of(Window::log), milliseconds{1'000});
  const Hash128 key{7, 7};
  const std::int64_t before =
      admitted_of_a_hot_key(fleet, key, kLimit, milliseconds{kLimit / 4 - 20});
  ASSERT_EQ(before, kLimit - 80);
  // The others fall silent when each of them counted an event in a ms.
  std::int64_t admitted = before;
  for (int i = 0; i < 100; ++i) {
    const bool passed = fleet[0].charge(key, fleet.now, kLimit);
    EXPECT_TRUE(passed || admitted >= kLimit) << admitted;
    admitted += passed;
    fleet.step(milliseconds{1});
  }
  EXPECT_GE(admitted, kLimit);
}

TEST(Exchange, TwoWindowsOverTheSameThingAreTwoCounters) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  std::vector<limiter::SyncedCounter> longer;
  for (std::size_t i = 0; i < 2; ++i) {
    limiter::CounterSpec spec = spec_of(Window::log);
    spec.length *= 2;
    limiter::SyncedCounter other = limiter::SyncedCounter::of(
        std::make_shared<limiter::SharedCounter>(Hash128{1, 3}, spec), kInterval, false);
    ASSERT_TRUE(other.open(fleet[i].bank, 0));
    longer.push_back(other);
  }
  for (int n = 0; n < 4; ++n) {
    fleet[0].charge(key, fleet.now, 100);
    std::swap(fleet[0].counter, longer[0]);
    fleet[0].charge(key, fleet.now, 100);
    fleet[0].charge(key, fleet.now, 100);
    std::swap(fleet[0].counter, longer[0]);
  }
  fleet.settle({key});
  EXPECT_EQ(fleet[1].read(key, fleet.now), 4);
  std::swap(fleet[1].counter, longer[1]);
  fleet.settle({key});
  EXPECT_EQ(fleet[1].read(key, fleet.now), 8);
}

TEST(Exchange, OfARoundThatIsTooLongTheHotKeysGo) {
  Fleet fleet(1, spec_of(Window::log), kInterval);
  for (std::uint64_t key = 1; key <= 9; ++key) {
    for (std::uint64_t k = 0; k < key * 7 % 10; ++k) {
      fleet[0].charge({key, key}, fleet.now, 1'000'000);
    }
  }
  limiter::SyncedBank& bank = fleet[0].synced();
  limiter::SharedId id{1, 0};
  std::vector<limiter::SyncedBank::Push> pushes;
  bank.begin_round(fleet.now, true);
  ASSERT_EQ(bank.take({fleet.now, fleet.now}, id, 4, pushes), 4u);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(pushes[static_cast<std::size_t>(i)].amount.integer(), 9 - i) << "the hottest first";
  }
  bank.end_round();
  EXPECT_TRUE(bank.next(fleet.now).has_value()) << "the others wait for the next one";
}

/// Flushes as at the end of the process. Returns the most keys that one call sent to the store.
std::size_t flush_all(Fleet& fleet, std::size_t replica) {
  Replica& one = fleet[replica];
  std::size_t most = 0;
  const TimePoint end = fleet.now + milliseconds{500};
  one.exchange.flush(fleet.now);
  while (one.exchange.is_busy() && fleet.now < end) {
    most = std::max(most, one.line.under_way());
    fleet.now += milliseconds{1};
    for (const auto& each : fleet.all) each->line.deliver();
    one.exchange.flush(fleet.now);
  }
  return most;
}

TEST(Exchange, TheEndSendsMoreThanOneRoundDoes) {
  constexpr std::size_t kKeys = CountExchange::kKeysMax + 2'000;
  Fleet fleet(1, spec_of(Window::log), milliseconds{10'000}, 4 * kKeys);
  for (std::uint64_t i = 1; i <= kKeys; ++i)
    fleet[0].charge({i, i * 0x9E3779B97F4A7C15U}, fleet.now, 1'000'000);
  const std::size_t most = flush_all(fleet, 0);
  EXPECT_FALSE(fleet[0].exchange.is_busy());
  EXPECT_EQ(fleet[0].line.adds, kKeys);
  EXPECT_LE(most, CountExchange::kKeysUnderWay) << "a slow store is not flooded";
}

TEST(Exchange, TheEndSendsAgainWhatTheStoreDidNotTake) {
  constexpr std::uint64_t kKeys = 1'000;
  Fleet fleet(2, spec_of(Window::log), milliseconds{10'000}, 20'000);
  for (std::uint64_t i = 1; i <= kKeys; ++i) fleet[0].charge({i, i}, fleet.now, 1'000'000);
  fleet[0].exchange.flush(fleet.now);
  fleet[0].line.loses = true;  // taken, but the reply is lost
  fleet.now += milliseconds{1};
  fleet[0].line.deliver();
  fleet[0].line.loses = false;
  fleet[0].line.is_cut = true;  // then it is away for some time
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(fleet[0].exchange.is_busy());
    fleet.now += milliseconds{10};
    fleet[0].line.deliver();
    fleet[0].exchange.flush(fleet.now);
  }
  fleet[0].line.is_cut = false;
  flush_all(fleet, 0);
  EXPECT_FALSE(fleet[0].exchange.is_busy());
  std::vector<Hash128> keys;
  for (std::uint64_t i = 1; i <= kKeys; i += 111) keys.push_back({i, i});
  fleet.settle(keys);
  for (const Hash128& key : keys) EXPECT_EQ(fleet[1].read(key, fleet.now), 1) << key.lo;
}

TEST(Exchange, TheEndAsksForNothing) {
  Fleet fleet(1, spec_of(Window::log), milliseconds{10'000});
  Replica& one = fleet[0];
  const Hash128 told{7, 7}, read{8, 8};
  one.charge(told, fleet.now, 1'000);
  flush_all(fleet, 0);
  one.line.is_cut = true;
  one.read(told, fleet.now);
  one.read(read, fleet.now);
  one.exchange.flush(fleet.now);
  EXPECT_FALSE(one.exchange.is_busy()) << "Redis is away, and nothing is lost";
  one.charge(read, fleet.now, 1'000);
  one.exchange.flush(fleet.now);
  EXPECT_TRUE(one.exchange.is_busy());
  one.exchange.flush(fleet.now);
  EXPECT_TRUE(one.exchange.is_busy()) << "what was sent in vain is still to be told";
  one.line.is_cut = false;
  flush_all(fleet, 0);
  EXPECT_FALSE(one.exchange.is_busy());
  EXPECT_EQ(one.line.adds, 4U) << "two of them in vain";
}

TEST(Exchange, TheEndWaitsForAKeyThatIsUnderWay) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  fleet[0].line.delay = milliseconds{30};
  fleet[0].charge(key, fleet.now, 1'000);
  for (milliseconds gone{0}; gone < kInterval + milliseconds{10}; gone += milliseconds{5})
    fleet.step(milliseconds{5});
  ASSERT_EQ(fleet[0].line.under_way(), 1u);
  fleet[0].charge(key, fleet.now, 1'000);
  flush_all(fleet, 0);
  fleet.settle({});
  fleet[1].touch(key, fleet.now);
  for (int i = 0; i < 100; ++i) {
    fleet.now += milliseconds{5};
    fleet[1].line.deliver();
    fleet[1].exchange.run(fleet.now);
  }
  EXPECT_EQ(fleet[1].read(key, fleet.now), 2);
}

TEST(Exchange, ARoundSendsNoMoreKeysThanItMay) {
  constexpr std::size_t kKeys = CountExchange::kKeysMax + 1'000;
  Fleet fleet(1, spec_of(Window::log), milliseconds{2'000}, 4 * kKeys);
  for (std::uint64_t i = 1; i <= kKeys; ++i)
    fleet[0].charge({i, i * 0x9E3779B97F4A7C15U}, fleet.now, 1'000'000);
  fleet.step(milliseconds{0});
  std::size_t most = 0;
  for (int i = 0; i < 3'900; ++i) {
    fleet.step(milliseconds{1});
    most = std::max(most, fleet[0].line.under_way());
  }
  EXPECT_EQ(fleet[0].line.adds, CountExchange::kKeysMax);
  EXPECT_LE(most, CountExchange::kKeysUnderWay);
  for (int i = 0; i < 200; ++i) fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[0].line.adds, kKeys);
}

TEST(Exchange, AKeyThatTheStoreRefusesHoldsUpNoOther) {
  constexpr std::uint64_t kOthers = 1'000;
  Fleet fleet(1, spec_of(Window::log), kInterval, 20'000);
  fleet[0].line.refused = "k1";
  for (int i = 0; i < 10; ++i) fleet[0].charge({1, 1}, fleet.now, 1'000'000);  // the hottest
  for (std::uint64_t i = 2; i < 2 + kOthers; ++i) fleet[0].charge({i, i}, fleet.now, 1'000'000);
  for (milliseconds gone{0}; gone < 2 * kInterval - milliseconds{5}; gone += milliseconds{5})
    fleet.step(milliseconds{5});
  EXPECT_GE(fleet[0].line.adds, kOthers + 1);
  EXPECT_EQ(fleet[0].exchange.stats().queued, 1U) << "the refused key alone";
}

/// As the end of the process does it: the wheel ticks, and there is a flush every now and then.
TEST(Exchange, TheEndSendsAllKeysOfALargeTable) {
  constexpr std::size_t kKeys = 30'000;
  constexpr milliseconds kEnds{500}, kFlushes{10};
  Fleet fleet(1, spec_of(Window::log), milliseconds{60'000}, 4 * kKeys);
  Replica& one = fleet[0];
  for (std::uint64_t i = 1; i <= kKeys; ++i)
    one.charge({i, i * 0x9E3779B97F4A7C15U}, fleet.now, 1'000'000);
  std::size_t most = 0;
  for (milliseconds gone{0}; gone < kEnds; gone += milliseconds{1}) {
    if (gone % kFlushes == milliseconds{0}) one.exchange.flush(fleet.now);
    most = std::max(most, one.line.under_way());
    fleet.now += milliseconds{1};
    one.line.deliver();
    one.wheel.advance(fleet.now);
  }
  EXPECT_FALSE(one.exchange.is_busy());
  EXPECT_GE(one.line.operations, kKeys);
  EXPECT_LE(most, CountExchange::kKeysUnderWay);
}

TEST(Exchange, AnIdleReplicaAsksForNothing) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  fleet[0].charge({7, 7}, fleet.now, 100);
  fleet.settle({});
  const std::size_t sent = fleet[0].line.operations;
  EXPECT_EQ(sent, 1u);
  for (int i = 0; i < 100; ++i) fleet.step(milliseconds{100});
  EXPECT_EQ(fleet[0].line.operations, sent);
  EXPECT_EQ(fleet[1].line.operations, 0u);
  EXPECT_EQ(fleet[0].exchange.stats().queued, 0u);
}

TEST(Exchange, AStoreThatIsAwayIsTriedOnceAnInterval) {
  Fleet fleet(1, spec_of(Window::log), kInterval);
  fleet[0].line.is_cut = true;
  for (std::uint64_t k = 0; k < 600; ++k) fleet[0].charge({k, k}, fleet.now, 100);
  for (int i = 0; i < 50; ++i) fleet.step(milliseconds{20});  // five intervals
  EXPECT_LE(fleet[0].line.submitted, 5u);
  fleet[0].line.is_cut = false;
  fleet.settle({});
  EXPECT_EQ(fleet[0].exchange.stats().queued, 0u) << "and nothing was forgotten meanwhile";
  EXPECT_GE(fleet[0].line.operations, 600u);
}

/// Random events at random replicas, over slow lines that are cut and lose replies: the
/// admissions stay within the bound, and when all is quiet every replica knows the exact count.
TEST(Exchange, RandomFleetsKeepTheBoundAndAgreeInTheEnd) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    constexpr Window kWindows[] = {Window::log, Window::ring, Window::every, Window::every_first};
    const limiter::CounterSpec spec =
        spec_of(kWindows[below(4)], below(2) == 0 ? Metric::count : Metric::sum);
    const auto replicas = static_cast<std::size_t>(1 + below(4));
    const milliseconds interval{20 + below(400)};
    const std::int64_t limit = 20 + below(300);
    Fleet fleet(replicas, spec, interval);
    const Hash128 key{static_cast<std::uint64_t>(round), 3};
    milliseconds slowest{0};
    for (std::size_t i = 0; i < replicas; ++i) {
      fleet[i].line.delay = milliseconds{1 + below(30)};
      slowest = std::max(slowest, fleet[i].line.delay);
    }
    const bool faults = below(2) == 0;
    std::vector<std::deque<std::pair<TimePoint, std::int64_t>>> recent(replicas);
    std::vector<std::int64_t> most(replicas), in_interval(replicas);
    std::int64_t admitted = 0;
    for (int i = 0; i < 1'500; ++i) {
      const auto r = static_cast<std::size_t>(below(replicas));
      const std::int64_t amount = spec.metric == Metric::sum ? 1 + below(3) : 1;
      if (fleet[r].charge(key, fleet.now, limit, amount)) {
        admitted += amount;
        recent[r].push_back({fleet.now, amount});
        in_interval[r] += amount;
      }
      // A replica's admissions between two of its exchanges: the interval, the way there and back,
      // and the turn that took the answer in.
      const TimePoint begin = fleet.now - interval - 2 * slowest - milliseconds{30};
      while (!recent[r].empty() && recent[r].front().first < begin) {
        in_interval[r] -= recent[r].front().second;
        recent[r].pop_front();
      }
      most[r] = std::max(most[r], in_interval[r]);
      if (below(3) == 0) fleet.step(milliseconds{below(12)});
      if (faults && below(40) == 0) fleet[r].line.loses = below(2) == 0;
      if (faults && below(60) == 0) fleet[r].line.is_cut = below(3) == 0;
    }
    std::int64_t bound = limit;
    for (std::size_t i = 0; i < replicas; ++i) {
      fleet[i].line.is_cut = fleet[i].line.loses = false;
      bound += most[i];
    }
    if (!faults) {
      EXPECT_LE(admitted, bound) << "round " << round << ", limit " << limit;
    }
    EXPECT_GE(admitted, limit - 2) << "round " << round << ": nobody is refused too early";
    fleet.settle({key});
    for (std::size_t i = 0; i < replicas; ++i) {
      EXPECT_EQ(fleet[i].read(key, fleet.now), admitted) << "round " << round << ", replica " << i;
    }
    if (HasFailure()) break;
  }
}

/// The first replica counts the key while it has no room for it, and once more when it has.
void count_without_room(Fleet& fleet, const Hash128& key, std::int64_t times, std::int64_t amount) {
  Replica& replica = fleet[0];
  const Hash128 place = limiter::SyncEntry::key_of(key, replica.counter);
  for (std::uint64_t i = 1; i < 2'000; ++i) replica.charge({i, i}, fleet.now, 1'000);
  for (std::int64_t i = 0; i < times; ++i) replica.charge(key, fleet.now, 1'000, amount);
  ASSERT_FALSE(replica.table.find(place));
  for (milliseconds gone{0}; gone < 3 * kInterval; gone += milliseconds{5})
    fleet.step(milliseconds{5});
  replica.charge(key, fleet.now, 1'000);
  ASSERT_TRUE(replica.table.find(place));
  fleet.settle({key});
}

constexpr Hash128 kLate{5'000, 5'000};

/// Many other keys come while a request is under way.
TEST(Exchange, AnOutcomeIsToldAlsoWhereItsKeyWasSilentForLong) {
  enum class End : std::uint8_t { matched, unmatched, taken_back };
  for (const auto& [metric, end] : {std::pair{Metric::count, End::matched},
                                    {Metric::distinct, End::matched},
                                    {Metric::average, End::matched},
                                    {Metric::count, End::unmatched},
                                    {Metric::distinct, End::unmatched},
                                    {Metric::count, End::taken_back},
                                    {Metric::distinct, End::taken_back}}) {
    limiter::CounterSpec spec = spec_of(Window::log, metric);
    spec.outcome = true;
    Fleet fleet(2, spec, kInterval, 64);
    const limiter::Amount event{3, 9, nullptr};
    limiter::Undo undo;
    fleet[0].touch(kLate, fleet.now);
    fleet[0].synced().reserve(fleet[0].counter, kLate, fleet.now, event, nullptr, true, &undo);
    for (std::uint64_t i = 1; i < 400; ++i) {  // each finds a place
      fleet[0].touch({i, i}, fleet.now);
      for (int k = 0; k < 60; ++k) fleet.step(milliseconds{5});
    }
    if (end == End::taken_back) {
      fleet[0].synced().uncharge(fleet[0].counter, kLate, undo);
    } else {
      fleet[0].synced().settle(fleet[0].counter, kLate, fleet.now, fleet.now, event, undo,
                               end == End::matched);
    }
    fleet.settle({});
    const double value = end != End::matched ? 0 : metric == Metric::distinct ? 1 : 3;
    for (std::size_t i = 0; i < 2; ++i) {
      fleet[i].touch(kLate, fleet.now);
      fleet.settle({});
      EXPECT_EQ(fleet[i].reading(kLate, fleet.now).value.as_real(), value) << "replica " << i;
    }
    // Afterwards the key gives its place to others again.
    const Hash128 place = limiter::SyncEntry::key_of(kLate, fleet[0].counter);
    if (metric != Metric::average) {
      ASSERT_TRUE(fleet[0].table.find(place));
      EXPECT_TRUE(fleet[0].table.find(place)->idle());
    }
  }
}

TEST(Exchange, WhatWasCountedWithoutRoomIsToldWhenThereIsSome) {
  for (const auto& [window, metric] : {std::pair{Window::log, Metric::count},
                                       {Window::ring, Metric::sum},
                                       {Window::every_first, Metric::count}}) {
    Fleet fleet(2, spec_of(window, metric), kInterval, 64);
    count_without_room(fleet, kLate, 10, 1);
    EXPECT_EQ(fleet[0].read(kLate, fleet.now), 11);
    EXPECT_EQ(fleet[1].read(kLate, fleet.now), 11);
    fleet.settle({kLate});
    EXPECT_EQ(fleet[1].read(kLate, fleet.now), 11) << "told once";
  }
}

TEST(Exchange, WhatWasCountedWithoutRoomCannotBeToldFromWhatTheStoreHas) {
  Fleet fleet(2, spec_of(Window::log), kInterval, 64);
  for (int i = 0; i < 30; ++i) fleet[1].charge(kLate, fleet.now, 1'000);
  for (int i = 0; i < 100; ++i) fleet.step(milliseconds{5});
  count_without_room(fleet, kLate, 10, 1);
  EXPECT_EQ(fleet[0].read(kLate, fleet.now), 31);
  EXPECT_EQ(fleet[1].read(kLate, fleet.now), 31);
}

TEST(Exchange, AnExtremeCountedWithoutRoomIsTold) {
  Fleet fleet(2, spec_of(Window::every, Metric::maximum), kInterval, 64);
  count_without_room(fleet, kLate, 1, 500);
  EXPECT_EQ(fleet[0].read(kLate, fleet.now), 500);
  EXPECT_EQ(fleet[1].read(kLate, fleet.now), 500);
}

TEST(Exchange, AResetByAnotherEndsWhatWasCountedBefore) {
  Fleet fleet(2, spec_of(Window::log), kInterval, 64);
  count_without_room(fleet, kLate, 10, 1);
  fleet[1].synced().reset(fleet[1].counter, kLate, fleet.now);
  fleet.settle({kLate});
  EXPECT_EQ(fleet[0].read(kLate, fleet.now), 0);
}

TEST(Exchange, ACeilingOfAnExtremeHoldsForWhatTheOthersHave) {
  Fleet fleet(2, spec_of(Window::every, Metric::maximum), kInterval);
  const Hash128 key{7, 7};
  EXPECT_FALSE(fleet[0].reading(key, fleet.now).has_value);
  EXPECT_TRUE(fleet[0].charge(key, fleet.now, 100, 90));
  EXPECT_FALSE(fleet[0].charge(key, fleet.now, 100, 101)) << "the event itself is beyond";
  fleet.settle({key});
  EXPECT_EQ(fleet[1].read(key, fleet.now), 90);
  EXPECT_TRUE(fleet[1].charge(key, fleet.now, 100, 3));
  EXPECT_FALSE(fleet[1].charge(key, fleet.now, 80, 3)) << "there was one of 90";
  EXPECT_EQ(fleet[1].read(key, fleet.now), 90);
}

TEST(Exchange, AnExtremeIsForgottenEverywhereAfterAReset) {
  Fleet fleet(3, spec_of(Window::every, Metric::minimum), kInterval);
  const Hash128 key{7, 7};
  for (std::size_t i = 0; i < 3; ++i) {
    fleet[i].charge(key, fleet.now, 1'000, 10 + static_cast<std::int64_t>(i));
  }
  fleet.settle({key});
  ASSERT_EQ(fleet[2].read(key, fleet.now), 10);
  fleet[1].synced().reset(fleet[1].counter, key, fleet.now);
  EXPECT_FALSE(fleet[1].reading(key, fleet.now).has_value) << "here at once";
  fleet[1].charge(key, fleet.now, 1'000, 500);
  fleet.settle({key});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(fleet[i].read(key, fleet.now), 500) << "replica " << i;
}

TEST(Exchange, WhatALaterPolicyTookBackIsNobodysExtremeAndInNoAverage) {
  for (const Metric metric : {Metric::maximum, Metric::average}) {
    Fleet fleet(2, spec_of(Window::every, metric), kInterval);
    const Hash128 key{7, 7};
    limiter::Undo undo;
    fleet[0].charge(key, fleet.now, 1'000, 5);
    fleet[0].synced().charge(fleet[0].counter, key, fleet.now, {900, 0, nullptr}, nullptr, true,
                             &undo);
    fleet[0].synced().uncharge(fleet[0].counter, key, undo);
    fleet.settle({key});
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(fleet[i].reading(key, fleet.now).value.as_real(), 5) << "replica " << i;
  }
}

TEST(Exchange, AnAverageOfOutcomesCountsWhatHasSettled) {
  limiter::CounterSpec spec = spec_of(Window::log, Metric::average);
  spec.outcome = true;
  Fleet fleet(2, spec, kInterval);
  const Hash128 key{7, 7};
  const auto settle = [&](std::size_t i, std::int64_t amount, bool matched) {
    fleet[i].touch(key, fleet.now);
    limiter::Undo undo;
    const limiter::Amount event{amount, 0, nullptr};
    fleet[i].synced().reserve(fleet[i].counter, key, fleet.now, event, nullptr, true, &undo);
    fleet[i].synced().settle(fleet[i].counter, key, fleet.now, fleet.now, event, undo, matched);
  };
  settle(0, 10, true);
  settle(0, 1'000, false);
  settle(1, 40, true);
  settle(1, 40, true);
  fleet.settle({key});
  for (std::size_t i = 0; i < 2; ++i) {
    const limiter::Reading reading = fleet[i].reading(key, fleet.now);
    EXPECT_EQ(reading.value.as_real(), 30) << "replica " << i;
    EXPECT_EQ(reading.in_flight, 0u);
  }
}

/// Averages and extremes of random fleets: before anything was exchanged a replica reads its own
/// part or more, and when all is quiet what one process would have.
TEST(Exchange, RandomFleetsAgreeOnAveragesAndExtremes) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    constexpr Metric kMetrics[] = {Metric::average, Metric::minimum, Metric::maximum};
    const Metric metric = kMetrics[below(3)];
    const bool trails = metric == Metric::average && below(2) == 0;
    limiter::CounterSpec spec = spec_of(trails ? Window::log : Window::every, metric);
    spec.real = below(2) == 0;
    const auto replicas = static_cast<std::size_t>(1 + below(4));
    Fleet fleet(replicas, spec, milliseconds{20 + below(400)});
    const Hash128 key{static_cast<std::uint64_t>(round), 3};
    for (std::size_t i = 0; i < replicas; ++i) fleet[i].line.delay = milliseconds{1 + below(30)};
    double sum = 0, least = 1e9, most = -1e9;
    std::vector<double> own_most(replicas, -1e9);
    int n = 0;
    for (int i = 0; i < 400; ++i) {
      const auto r = static_cast<std::size_t>(below(replicas));
      fleet[r].touch(key, fleet.now);
      const Number amount = spec.real ? Number::real(static_cast<double>(below(2'000)) / 4 - 100)
                                      : Number{below(2'000) - 500};
      limiter::Undo undo;
      fleet[r].synced().charge(fleet[r].counter, key, fleet.now, {amount, 0, nullptr}, nullptr,
                               true, &undo);
      sum += amount.as_real();
      ++n;
      least = std::min(least, amount.as_real());
      most = std::max(most, amount.as_real());
      own_most[r] = std::max(own_most[r], amount.as_real());
      if (metric == Metric::maximum) {
        EXPECT_GE(fleet[r].reading(key, fleet.now).value.as_real(), own_most[r]);
      }
      if (below(3) == 0) fleet.step(milliseconds{below(12)});
      if (below(40) == 0) fleet[r].line.loses = below(2) == 0;
      if (below(60) == 0) fleet[r].line.is_cut = below(3) == 0;
    }
    for (const auto& replica : fleet.all) replica->line.is_cut = replica->line.loses = false;
    fleet.settle({key});
    const double expected = metric == Metric::average   ? sum / n
                            : metric == Metric::minimum ? least
                                                        : most;
    for (std::size_t i = 0; i < replicas; ++i) {
      const limiter::Reading reading = fleet[i].reading(key, fleet.now);
      EXPECT_TRUE(reading.has_value);
      EXPECT_NEAR(reading.value.as_real(), expected, 1e-9 * (std::abs(expected) + 1))
          << "round " << round << ", replica " << i;
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace weir::gate::count_exchange_test
