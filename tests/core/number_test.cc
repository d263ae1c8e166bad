#include "core/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir::number_test {
namespace {

constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

TEST(Number, SumsSaturateInsteadOfOverflowing) {
  EXPECT_EQ((Number{kMax} + Number{1}).integer(), kMax);
  EXPECT_EQ((Number{kMin} - Number{1}).integer(), kMin);
  EXPECT_EQ((Number{2} + Number{3}).integer(), 5);
}

TEST(Number, ComparesAnIntegerWithADoubleByValue) {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  EXPECT_TRUE(Number{big} > Number::real(0x1p53));
  EXPECT_TRUE(Number{kMax} < Number::real(0x1p63));
  EXPECT_TRUE(Number{kMin} == Number::real(-0x1p63));
  EXPECT_TRUE(Number{-3} > Number::real(-3.5));
  EXPECT_TRUE(Number{3} < Number::real(3.5));
  EXPECT_TRUE(Number::real(3.0) == Number{3});
  EXPECT_FALSE(Number{3} < Number::real(std::nan("")));
  EXPECT_FALSE(Number{3} >= Number::real(std::nan("")));
}

TEST(Number, PrintsIntegersBareAndDoublesShortest) {
  EXPECT_EQ(Number{kMin}.to_string(), "-9223372036854775808");
  EXPECT_EQ(Number::real(3.0).to_string(), "3");
  EXPECT_EQ(Number::real(0.1).to_string(), "0.1");
  EXPECT_EQ(Number::real(1e30).to_string(), "1e+30");
}

TEST(Number, HasOneSpellingHoweverItWasWritten) {
  std::int64_t integer = 1;
  for (int power = 0; power <= 18; ++power, integer *= power < 18 ? 10 : 1) {
    for (const std::int64_t n : {integer, -integer}) {
      const Number real = Number::real(static_cast<double>(n));
      ASSERT_EQ(real, Number(n));
      EXPECT_EQ(real.to_string(), Number(n).to_string());
    }
  }
  EXPECT_EQ(Number::real(-0.0).to_string(), "0");
  EXPECT_EQ(Number::real(-0x1p63).to_string(), Number{kMin}.to_string());
  EXPECT_EQ(Number::real(0x1p63).to_string(), "9223372036854775808");
  EXPECT_EQ(Number::real(std::numeric_limits<double>::infinity()).to_string(), "inf");
}

}  // namespace
}  // namespace weir::number_test
