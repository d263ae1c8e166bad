#include "app/serve/redis_outage.h"

#include <gtest/gtest.h>

namespace weir::app::redis_outage_test {
namespace {

using Line = RedisOutage::Line;

TimePoint at(int seconds) { return TimePoint{std::chrono::seconds(1'700'000'000 + seconds)}; }

TEST(RedisOutage, IsToldOnceAndEndsWhenAllWorkersAreUp) {
  RedisOutage outage;
  EXPECT_EQ(outage.hear(0, "not connected", at(0)), Line::none) << "its first word";
  EXPECT_EQ(outage.hear(1, "not connected", at(0)), Line::none);
  EXPECT_EQ(outage.hear(0, "", at(1)), Line::none);
  EXPECT_EQ(outage.hear(1, "", at(1)), Line::none) << "there never was an outage";
  EXPECT_EQ(outage.workers_up(), 2U);
  EXPECT_EQ(outage.why(), "");
  EXPECT_EQ(outage.hear(1, "refused", at(2)), Line::away);
  EXPECT_EQ(outage.hear(0, "refused", at(2)), Line::none);
  EXPECT_EQ(outage.why(), "refused");
  EXPECT_EQ(outage.hear(0, "", at(3)), Line::none);
  EXPECT_EQ(outage.worker_up(), 0U);
  EXPECT_EQ(outage.hear(1, "", at(3)), Line::back);
  EXPECT_EQ(outage.hear(1, "", at(4)), Line::none);
}

TEST(RedisOutage, AnotherReasonIsToldButNotWithEachWord) {
  RedisOutage outage;
  outage.hear(0, "", at(0));
  EXPECT_EQ(outage.hear(0, "refused", at(1)), Line::away);
  EXPECT_EQ(outage.hear(0, "no password", at(5)), Line::none) << "too soon";
  EXPECT_EQ(outage.hear(0, "refused", at(12)), Line::none) << "nothing new";
  EXPECT_EQ(outage.hear(0, "no password", at(13)), Line::still_away);
  EXPECT_EQ(outage.hear(0, "no password", at(60)), Line::none);
  EXPECT_EQ(outage.hear(0, "", at(61)), Line::back);
  EXPECT_EQ(outage.hear(0, "no password", at(62)), Line::away) << "a new outage";
}

TEST(RedisOutage, AWorkerThatNeverGetsThereIsOneFromItsSecondWordOn) {
  RedisOutage outage;
  EXPECT_EQ(outage.hear(0, "refused", at(0)), Line::none);
  EXPECT_EQ(outage.hear(0, "refused", at(1)), Line::away);
  EXPECT_EQ(outage.worker_up(), 0U) << "none is, so the first is asked";
}

}  // namespace
}  // namespace weir::app::redis_outage_test
