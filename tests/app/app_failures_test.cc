#include "app/serve/app_failures.h"

#include <gtest/gtest.h>

namespace weir::app::app_failures_test {
namespace {

constexpr TimePoint at(std::int64_t seconds) { return from_ms(1'000'000 + seconds * 1'000); }

TEST(AppFailures, AreToldAtOnceAndThenOnceAMinute) {
  AppFailures failures;
  EXPECT_FALSE(failures.hear({}, at(0)));
  const auto first = failures.hear({1, 0, 0, 0}, at(1));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->connect, 1);
  EXPECT_FALSE(failures.hear({900, 3, 0, 0}, at(60)));
  const auto second = failures.hear({900, 3, 0, 1}, at(61));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->sum(), 903);
  EXPECT_EQ(second->silent, 3);
  EXPECT_FALSE(failures.hear({900, 3, 0, 1}, at(200))) << "nothing new";
  EXPECT_TRUE(failures.hear({901, 3, 0, 1}, at(201))) << "after a calm at once";
}

}  // namespace
}  // namespace weir::app::app_failures_test
