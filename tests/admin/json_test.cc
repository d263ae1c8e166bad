#include "admin/json.h"

#include <gtest/gtest.h>

#include <limits>

#include "limiter/lists/lists.h"

namespace weir::admin::json_test {

TEST(Json, WritesTimesAndWhatIsLeft) {
  boost::json::object out;
  put_until(out, from_ms(1'795'219'200'123), from_ms(1'795'219'199'000));
  EXPECT_EQ(out["until"], boost::json::value("2026-11-21T00:00:00.123Z"));
  EXPECT_EQ(out["left_seconds"], boost::json::value(1.123));
  put_until(out, from_ms(5), from_ms(1'795'219'199'000));
  EXPECT_EQ(out["left_seconds"], boost::json::value(0.0));
  put_until(out, limiter::kForever, from_ms(0));
  EXPECT_TRUE(out["until"].is_null());
  EXPECT_TRUE(out["left_seconds"].is_null());
}

TEST(Json, WritesNumbersExactly) {
  EXPECT_EQ(number_value(Number{std::int64_t{9007199254740993}}),
            boost::json::value(std::int64_t{9007199254740993}));
  EXPECT_EQ(number_value(Number::real(0.5)), boost::json::value(0.5));
  EXPECT_EQ(number_value(Number::real(std::numeric_limits<double>::infinity())),
            boost::json::value("unlimited"));
}

}  // namespace weir::admin::json_test
