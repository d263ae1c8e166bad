#include "admin/json.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
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

TEST(Json, ReadsThresholdsThatFitInto64Bits) {
  const auto read = [](const char* text) {
    Number number;
    const std::string wrong = read_threshold(boost::json::parse(text), "deny.over", number);
    return wrong.empty() ? number.to_string() : wrong;
  };
  EXPECT_EQ(read("20"), "20");
  EXPECT_EQ(read("20.0"), "20");
  EXPECT_EQ(read("2e1"), "20");
  EXPECT_EQ(read("-0"), "0");
  EXPECT_EQ(read("-0.0"), "0");
  EXPECT_EQ(read("2.5"), "2.5");
  EXPECT_EQ(read("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(read("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(read("-9223372036854775808.0"), "-9223372036854775808");
  EXPECT_EQ(read("-9.223372036854775808e18"), "-9223372036854775808");
  const std::string range =
      ": a threshold is a number from -9223372036854775808 to 9223372036854775807";
  for (const char* large : {"9223372036854775808", "18446744073709551615", "99999999999999999999",
                            "-99999999999999999999", "9223372036854775808.0",
                            "-9223372036854777856.0", "1e30", "-1e300"})
    EXPECT_EQ(read(large), "\"deny.over\" is too large" + range) << large;
  for (const char* none : {"\"20\"", "true", "null", "[]", "{}"})
    EXPECT_EQ(read(none), "\"deny.over\" is not a number" + range) << none;
}

}  // namespace weir::admin::json_test
