#include "core/chars/parse.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weir::parse_test {
namespace {

TEST(ParseWhole, TakesANumberOnlyIfItIsTheWholeText) {
  EXPECT_EQ(parse_whole<int>("42"), 42);
  EXPECT_EQ(parse_whole<int>("-7"), -7);
  EXPECT_EQ(parse_whole<int>("007"), 7);
  for (const auto* text : {"", " ", "+1", " 1", "1 ", "1x", "x1", "1.0", "1,2", "-", "0x10"})
    EXPECT_EQ(parse_whole<int>(text), std::nullopt) << text;
  EXPECT_EQ(parse_whole<int>(std::string_view{}), std::nullopt);
  EXPECT_EQ(parse_whole<int>(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParseWhole, TakesOnlyWhatFits) {
  EXPECT_EQ(parse_whole<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(parse_whole<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(parse_whole<std::uint16_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_whole<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_whole<std::uint64_t>("18446744073709551616"), std::nullopt);
}

TEST(ParseWhole, HasABaseForIntegersAndReadsDoubles) {
  EXPECT_EQ(parse_whole<unsigned>("fF", 16), 255U);
  EXPECT_EQ(parse_whole<unsigned>("fg", 16), std::nullopt);
  EXPECT_EQ(parse_whole<double>("2.5e1"), 25.0);
  EXPECT_EQ(parse_whole<double>("2.5 "), std::nullopt);
  EXPECT_EQ(parse_whole<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace weir::parse_test
