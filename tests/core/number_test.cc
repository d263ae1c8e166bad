#include "core/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir {
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

}  // namespace
}  // namespace weir
