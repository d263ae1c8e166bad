#include "app/tools/progress.h"

#include <gtest/gtest.h>

namespace weir::app::progress_test {
namespace {

using std::chrono::seconds;

TEST(Progress, a_bar_with_rate_and_time_left) {
  EXPECT_EQ(Progress::line(1'200'000, 40, 100, seconds{2}),
            "[########            ]  40 %  1,200,000 rows  600,000/s  3s left");
  EXPECT_EQ(Progress::line(10, 100, 100, seconds{1}),
            "[####################] 100 %  10 rows  10/s");
  EXPECT_EQ(Progress::line(0, 0, 100, seconds{0}), "[                    ]   0 %  0 rows  0/s");
}

TEST(Progress, of_an_input_of_unknown_size) {
  EXPECT_EQ(Progress::line(5'000, 40, 0, seconds{2}), "5,000 rows  2,500/s");
}

}  // namespace
}  // namespace weir::app::progress_test
