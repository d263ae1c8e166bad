#include "app/serve/full_lists.h"

#include <gtest/gtest.h>

namespace weir::app::full_lists_test {
namespace {

TimePoint at(int seconds) { return TimePoint{std::chrono::seconds(1'700'000'000 + seconds)}; }

TEST(FullLists, AreToldAtOnceAndThenAMinutesWorth) {
  FullLists full;
  EXPECT_EQ(full.hear("bans", 0, at(0)), 0U);
  EXPECT_EQ(full.hear("bans", 3, at(1)), 3U);
  EXPECT_EQ(full.hear("bans", 3, at(2)), 0U);
  EXPECT_EQ(full.hear("bans", 10, at(60)), 0U) << "within the minute";
  EXPECT_EQ(full.hear("gray", 1, at(60)), 1U) << "each list for itself";
  EXPECT_EQ(full.hear("bans", 12, at(61)), 9U);
  EXPECT_EQ(full.hear("bans", 12, at(600)), 0U) << "nobody was refused since";
}

}  // namespace
}  // namespace weir::app::full_lists_test
