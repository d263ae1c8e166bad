// `distinct` of several replicas, against the members that any replica has seen.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/gate/fleet.h"
#include "tests/support/seed.h"

namespace weir::gate::count_exchange_members_test {
namespace {

constexpr milliseconds kInterval{200};
const Hash128 kKey{7, 7};

limiter::Amount member(std::uint64_t m) { return {1, m, nullptr}; }

limiter::Reading see(Fleet& fleet, std::size_t replica, std::uint64_t m,
                     std::int64_t limit = 1'000'000, limiter::Undo* undo = nullptr) {
  fleet[replica].touch(kKey, fleet.now);
  const limiter::Ceiling ceiling{limit, false};
  return fleet[replica].synced().charge(fleet[replica].counter, kKey, fleet.now, member(m),
                                        &ceiling, true, undo);
}

TEST(ExchangedMembers, AreKnownByTheirNumberAndCountOnce) {
  for (const Window window : {Window::log, Window::every}) {
    Fleet fleet(3, spec_of(window, Metric::distinct), kInterval);
    see(fleet, 0, 1);
    see(fleet, 0, 2);
    EXPECT_EQ(see(fleet, 0, 2).value.integer(), 2);
    see(fleet, 1, 2);
    see(fleet, 1, 3);
    EXPECT_EQ(fleet[1].read(kKey, fleet.now), 2) << "nobody has told anybody yet";
    fleet.settle({kKey});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fleet[i].read(kKey, fleet.now), 3) << i;
  }
}

TEST(ExchangedMembers, WhoMovesFromReplicaToReplicaIsNoNewMember) {
  constexpr std::int64_t kLimit = 3;
  Fleet fleet(3, spec_of(Window::log, Metric::distinct), kInterval);
  for (std::size_t i = 0; i < 3; ++i) see(fleet, i, i, kLimit);
  fleet.settle({kKey});
  for (std::size_t step = 0; step < 30; ++step) {
    const limiter::Reading r = see(fleet, step % 3, (step / 3) % 3, kLimit);
    EXPECT_FALSE(r.refused) << step;
    EXPECT_EQ(r.value.integer(), 3) << step;
    if (step % 4 == 0) fleet.step(milliseconds{7});
  }
}

TEST(ExchangedMembers, OneTooManyIsToldAtOnceAndThenKnownEverywhere) {
  constexpr std::int64_t kLimit = 3;
  Fleet fleet(2, spec_of(Window::log, Metric::distinct), milliseconds{10'000});
  for (std::uint64_t m = 1; m <= 3; ++m) see(fleet, 0, m, kLimit);
  EXPECT_TRUE(see(fleet, 0, 4, kLimit).refused) << "what this replica has seen itself it knows";
  fleet.step(milliseconds{1});
  fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[0].line.operations, 3u) << "near the limit nothing waits for the interval";
  EXPECT_FALSE(see(fleet, 1, 4, kLimit).refused) << "it knows of nobody";
  fleet.step(milliseconds{1});
  fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[1].exchange.stats().overshoot, 1u);
  EXPECT_TRUE(see(fleet, 1, 5, kLimit).refused);
  EXPECT_EQ(fleet[1].read(kKey, fleet.now), 4);
}

TEST(ExchangedMembers, OnesThatAreKnownAreNotToldAgainForASixtiethOfTheWindow) {
  Fleet fleet(1, spec_of(Window::log, Metric::distinct), kInterval);  // an hour: a minute
  fleet.now = from_ms(to_ms(fleet.now) / 60'000 * 60'000);
  see(fleet, 0, 1);
  const auto adds = [&](milliseconds by) {
    const std::size_t before = fleet[0].line.adds;
    for (milliseconds gone{0}; gone < by; gone += milliseconds{100}) {
      see(fleet, 0, 1);
      fleet.step(milliseconds{100});
    }
    return fleet[0].line.adds - before;
  };
  EXPECT_EQ(adds(milliseconds{59'000}), 1u);
  EXPECT_EQ(adds(milliseconds{60'000}), 1u);
  EXPECT_EQ(adds(milliseconds{120'000}), 2u);
}

TEST(ExchangedMembers, AResetHoldsEverywhere) {
  for (const Window window : {Window::log, Window::every}) {
    Fleet fleet(3, spec_of(window, Metric::distinct), kInterval);
    for (std::uint64_t m = 1; m <= 6; ++m) see(fleet, m % 3, m);
    fleet.settle({kKey});
    ASSERT_EQ(fleet[2].read(kKey, fleet.now), 6);
    fleet[0].synced().reset(fleet[0].counter, kKey, fleet.now);
    EXPECT_EQ(fleet[0].read(kKey, fleet.now), 0) << "here at once";
    fleet.settle({kKey});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fleet[i].read(kKey, fleet.now), 0) << i;
    // 1 was seen by replica 1 before it was emptied: it counts from 0.
    EXPECT_EQ(see(fleet, 1, 1).value.integer(), 1);
    see(fleet, 2, 9);
    fleet.settle({kKey});
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fleet[i].read(kKey, fleet.now), 2) << i;
  }
}

TEST(ExchangedMembers, WhatALaterPolicyTookBackIsNotTold) {
  Fleet fleet(2, spec_of(Window::log, Metric::distinct), kInterval);
  limiter::Undo undo;
  see(fleet, 0, 1);
  see(fleet, 0, 2, 1'000, &undo);
  fleet[0].synced().uncharge(fleet[0].counter, kKey, undo);
  EXPECT_EQ(fleet[0].read(kKey, fleet.now), 1);
  fleet.settle({kKey});
  EXPECT_EQ(fleet[0].read(kKey, fleet.now), 1);
  EXPECT_EQ(fleet[1].read(kKey, fleet.now), 1);
  see(fleet, 0, 3, 1'000, &undo);
  fleet.settle({kKey});
  fleet[0].synced().uncharge(fleet[0].counter, kKey, undo);
  fleet.settle({kKey});
  EXPECT_EQ(fleet[0].read(kKey, fleet.now), 2) << "what was told stays, here as there";
  EXPECT_EQ(fleet[1].read(kKey, fleet.now), 2);
}

TEST(ExchangedMembers, OfOutcomesAreToldOnceTheyHaveSettled) {
  limiter::CounterSpec spec = spec_of(Window::log, Metric::distinct);
  spec.outcome = true;
  Fleet fleet(2, spec, kInterval);
  const auto attempt = [&](std::size_t i, std::uint64_t m, bool matched) {
    fleet[i].touch(kKey, fleet.now);
    limiter::Undo undo;
    const limiter::Ceiling ceiling{2, false};
    const limiter::Reading r = fleet[i].synced().reserve(fleet[i].counter, kKey, fleet.now,
                                                         member(m), &ceiling, true, &undo);
    if (r.refused) return r;
    return fleet[i].synced().settle(fleet[i].counter, kKey, fleet.now, fleet.now, member(m), undo,
                                    matched);
  };
  EXPECT_EQ(attempt(0, 1, true).settled.integer(), 1);
  EXPECT_EQ(attempt(0, 2, false).settled.integer(), 1);
  attempt(1, 3, true);
  fleet.settle({kKey});
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(fleet[i].read(kKey, fleet.now), 2) << i;
  attempt(1, 4, true);
  fleet.settle({kKey});
  EXPECT_TRUE(attempt(0, 1, true).refused) << "three are more than two";
}

TEST(ExchangedMembers, ManyAtOnceAreToldInPieces) {
  Fleet fleet(2, spec_of(Window::every, Metric::distinct), kInterval);
  for (std::uint64_t m = 1; m <= 900; ++m) see(fleet, 0, m);
  fleet.settle({kKey});
  EXPECT_EQ(fleet[1].read(kKey, fleet.now), 900);
  const auto most = static_cast<std::int64_t>(limiter::SyncTable::kUnsentOfKey);
  for (std::uint64_t m = 10'000; m < 13'000; ++m) see(fleet, 0, m);
  EXPECT_EQ(fleet[0].read(kKey, fleet.now), 3'900);
  fleet.settle({kKey});
  EXPECT_EQ(fleet[1].read(kKey, fleet.now), 900 + most) << "so many wait, and no more";
}

/// The members that any replica has seen, and when last.
struct Seen {
  std::map<std::uint64_t, TimePoint> last;
  std::int64_t since(TimePoint from) const {
    std::int64_t n = 0;
    for (const auto& [m, at] : last) n += at > from;
    return n;
  }
};

/// Over slow lines that are cut and lose replies. A reading is never below what its replica has
/// seen, nor above what all have: within the window, and as long again as telling takes. Where
/// nothing fails it has all members of the exchange before.
TEST(ExchangedMembers, RandomFleetsReadWhatIsKnownAndNeverMore) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    const bool slides = below(2) == 0;
    limiter::CounterSpec spec = spec_of(slides ? Window::log : Window::every, Metric::distinct);
    if (slides) spec.length = milliseconds{3'000};
    const auto replicas = static_cast<std::size_t>(1 + below(4));
    const milliseconds interval{20 + below(300)};
    Fleet fleet(replicas, spec, interval);
    milliseconds slowest{0};
    for (std::size_t i = 0; i < replicas; ++i) {
      fleet[i].line.delay = milliseconds{1 + below(30)};
      slowest = std::max(slowest, fleet[i].line.delay);
    }
    const bool faults = below(2) == 0;
    const auto members = static_cast<std::uint64_t>(1 + below(40));
    const milliseconds telling = interval + 2 * slowest + milliseconds{30};
    const milliseconds slot = std::max(interval, spec.length / 60);
    const auto window = [&](TimePoint at) { return slides ? at - spec.length : TimePoint{}; };
    Seen all;
    std::vector<Seen> own(replicas);
    std::vector<std::map<std::uint64_t, TimePoint>> first(1);
    for (int i = 0; i < 1'200; ++i) {
      const auto r = static_cast<std::size_t>(below(replicas));
      const std::uint64_t m = random() % members;
      const limiter::Reading reading = see(fleet, r, m);
      ASSERT_FALSE(reading.refused);
      all.last[m] = own[r].last[m] = fleet.now;
      first[0].try_emplace(m, fleet.now);
      const std::int64_t value = reading.value.integer();
      EXPECT_GE(value, own[r].since(window(fleet.now))) << "round " << round << ", step " << i;
      if (!faults || !slides) {  // late events are late to leave
        EXPECT_LE(value, all.since(window(fleet.now) - (slides ? 2 * telling : milliseconds{0})))
            << "round " << round << ", step " << i;
      }
      if (!faults) {
        std::int64_t known = 0;  // told to the store, and by the store
        for (const auto& [seen, at] : first[0]) {
          const bool lives = !slides || (all.last[seen] - slot - telling > window(fleet.now));
          // One that has left and come back is known only since then.
          known +=
              at + 2 * telling <= fleet.now && lives && (!slides || fleet.now - at < spec.length);
        }
        EXPECT_GE(value, known) << "round " << round << ", step " << i;
      }
      for (std::size_t k = 0; k < replicas; ++k) fleet[k].touch(kKey, fleet.now);
      if (below(3) == 0) fleet.step(milliseconds{1 + below(12)});
      if (faults && below(40) == 0) fleet[r].line.loses = below(2) == 0;
      if (faults && below(60) == 0) fleet[r].line.is_cut = below(3) == 0;
    }
    for (const auto& replica : fleet.all) replica->line.is_cut = replica->line.loses = false;
    if (!slides) {
      fleet.settle({kKey});
      for (std::size_t i = 0; i < replicas; ++i) {
        EXPECT_EQ(fleet[i].read(kKey, fleet.now), all.since({})) << "round " << round << ", " << i;
      }
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace weir::gate::count_exchange_members_test
