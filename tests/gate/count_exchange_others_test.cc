// The counts that a replica assumes of the others between two exchanges.
#include <gtest/gtest.h>

#include "tests/gate/fleet.h"

namespace weir::gate::count_exchange_others_test {
namespace {

constexpr milliseconds kInterval{200};

limiter::CounterSpec bucket_of(std::int64_t capacity, milliseconds drain) {
  limiter::CounterSpec spec = spec_of(Window::leaky);
  spec.length = milliseconds{0};
  spec.capacity = Number{capacity};
  spec.drain = drain;
  return spec;
}

TEST(ExchangeOthers, WhatOverflowsABucketIsNobodysPart) {
  Fleet fleet(1, bucket_of(5, milliseconds{2'000}), kInterval);
  const Hash128 key{7, 7};
  for (const int burst : {6, 5}) {
    for (int i = 0; i < burst; ++i) {
      fleet[0].charge(key, fleet.now, 100);
      fleet.step(milliseconds{5});
    }
    for (int i = 0; i < 100; ++i) fleet.step(milliseconds{5});
  }
  EXPECT_LE(fleet[0].reading(key, fleet.now).value.as_real(), 5.0);
  for (int i = 0; i < 1'400; ++i) fleet.step(milliseconds{5});
  fleet[0].charge(key, fleet.now, 100);
  const double level = fleet[0].reading(key, fleet.now).value.as_real();
  EXPECT_GT(level, 2.0);
  EXPECT_LT(level, 2.7) << "5 less 7.5 s at 2 s, and one more";
}

TEST(ExchangeOthers, TheOthersPartOfABucketDrains) {
  Fleet fleet(2, bucket_of(10, milliseconds{1'000}), kInterval);
  const Hash128 key{7, 7};
  for (int i = 0; i < 6; ++i) fleet[0].charge(key, fleet.now, 100);
  fleet[1].charge(key, fleet.now, 100);
  fleet.settle({key});
  const TimePoint then = fleet.now;
  const double before = fleet[1].reading(key, then).value.as_real();
  EXPECT_GT(before, 4.0);
  const double after = fleet[1]
                           .synced()
                           .peek(fleet[1].counter, key, then + milliseconds{4'000}, nullptr)
                           .value.as_real();
  EXPECT_NEAR(after, before - 4, 0.1);
  EXPECT_EQ(fleet[1]
                .synced()
                .peek(fleet[1].counter, key, then + milliseconds{8'000}, nullptr)
                .value.as_real(),
            0);
}

TEST(ExchangeOthers, WhatMayHaveLeftTheWindowIsAskedForBeforeItCounts) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  for (int i = 0; i < 4; ++i) fleet[0].charge(key, fleet.now, 4);
  fleet.settle({key});
  EXPECT_EQ(fleet[1].read(key, fleet.now), 4);
  EXPECT_FALSE(fleet[1].reading(key, fleet.now).doubtful);
  EXPECT_FALSE(fleet[1].charge(key, fleet.now, 4));

  // Nobody looks at the key here, and the window of an hour passes for the four.
  const milliseconds tick = spec_of(Window::log).length - milliseconds{3'000};
  fleet.now += tick;
  fleet.step(milliseconds{5});
  ASSERT_FALSE(fleet[1].charge(key, fleet.now, 4)) << "it may be: the limit holds";
  limiter::Reading reading = fleet[1].reading(key, fleet.now);
  EXPECT_TRUE(reading.doubtful);
  EXPECT_EQ(reading.value, Number{4});
  EXPECT_EQ(reading.settled, Number{0}) << "of this nothing is remembered";

  fleet.now += milliseconds{1'500};
  fleet[1].charge(key, fleet.now, 4);
  for (int i = 0; i < 3; ++i) fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[1].read(key, fleet.now), 0) << "told at once, not after an interval";
  EXPECT_TRUE(fleet[1].charge(key, fleet.now, 4));

  // While the store is away, the last known counts stay in force.
  for (int i = 0; i < 3; ++i) fleet[0].charge(key, fleet.now, 4);
  fleet.settle({key});
  fleet[1].line.is_cut = true;
  fleet.now += milliseconds{10'000};
  fleet[1].touch(key, fleet.now);
  for (int i = 0; i < 100; ++i) fleet.step(milliseconds{5});
  reading = fleet[1].reading(key, fleet.now);
  EXPECT_FALSE(reading.doubtful);
  EXPECT_EQ(reading.settled, Number{4});
}

TEST(ExchangeOthers, TheOthersPartEndsWithTheirWindow) {
  limiter::CounterSpec spec = spec_of(Window::every);
  spec.length = milliseconds{60'000};
  Fleet fleet(2, spec, kInterval);
  const Hash128 key{7, 7};
  fleet.now = from_ms(to_ms(fleet.now) / 60'000 * 60'000 + 59'000);
  for (int i = 0; i < 5; ++i) fleet[0].charge(key, fleet.now, 100);
  fleet.settle({key});  // 1.6 s: into the next window
  EXPECT_EQ(fleet[1].read(key, fleet.now), 0);
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0);
}

}  // namespace
}  // namespace weir::gate::count_exchange_others_test
