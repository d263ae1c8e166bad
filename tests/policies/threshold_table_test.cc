#include "policies/lang/threshold_table.h"

#include <gtest/gtest.h>

/// Facts about a table without a lookup for an event.
namespace weir::policies::threshold_table_test {
namespace {

config::TableNode leaf(std::int64_t limit) {
  config::TableNode node;
  node.limit = Number(limit);
  return node;
}

/// As many shops as that, each with a limit for the user "bob", and `*`.
ThresholdTable by_shop_and_user(int shops) {
  config::TableNode root;
  for (int i = 0; i < shops; ++i) {
    config::TableNode shop;
    shop.children.push_back({{"bob", {}}, leaf(i)});
    shop.children.push_back({{"eve", {}}, leaf(1'000'000 + i)});
    root.children.push_back({{"s" + std::to_string(i), {}}, std::move(shop)});
  }
  root.children.push_back({{"*", {}}, leaf(50)});
  return {"t", {"shop", "user"}, root};
}

using Known = std::vector<std::optional<std::string_view>>;

TEST(ThresholdTable, TellsWhatALookupMayFind) {
  const ThresholdTable table = by_shop_and_user(100);
  const auto all = table.reach(Known{std::nullopt, std::nullopt});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->least, Number(0));
  EXPECT_EQ(all->most, Number(1'000'099));
  EXPECT_TRUE(all->always);
  const auto bob = table.reach(Known{std::nullopt, "bob"});
  ASSERT_TRUE(bob);
  EXPECT_EQ(bob->most, Number(99));
  const auto one = table.reach(Known{"s7", std::nullopt});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->least, Number(7));
  EXPECT_EQ(one->most, Number(1'000'007));
  EXPECT_TRUE(one->always) << "by *";
  EXPECT_EQ(table.reach(Known{"s7", "ann"})->least, Number(50));
}

TEST(ThresholdTable, LooksAtAPartOfALargeTableAndLeavesTheRestOpen) {
  const ThresholdTable table = by_shop_and_user(50'000);
  const auto bob = table.reach(Known{std::nullopt, "bob"});
  ASSERT_TRUE(bob);
  EXPECT_EQ(bob->least, Number(0));
  EXPECT_EQ(bob->most, Number(1'049'999)) << "limits of others with them";
  EXPECT_TRUE(bob->always);
}

TEST(ThresholdTable, TellsWhetherItMayGiveALimit) {
  const ThresholdTable table = by_shop_and_user(100);
  EXPECT_TRUE(table.may_give(Number(7), Known{std::nullopt, std::nullopt}));
  EXPECT_TRUE(table.may_give(Number(7), Known{"s7", "bob"}));
  EXPECT_FALSE(table.may_give(Number(7), Known{"s8", "bob"}));
  EXPECT_FALSE(table.may_give(Number(50), Known{"s8", "bob"})) << "its own limit goes first";
  EXPECT_TRUE(table.may_give(Number(50), Known{"s8", "ann"}));
  EXPECT_FALSE(table.may_give(Number(1'000'007), Known{std::nullopt, "bob"}));
  EXPECT_FALSE(table.may_give(Number(200), Known{std::nullopt, std::nullopt}));
  EXPECT_FALSE(table.may_give(Number(-1), Known{std::nullopt, std::nullopt}));
}

TEST(ThresholdTable, TellsItsLimitsOnce) {
  const ThresholdTable table = by_shop_and_user(10);
  const ThresholdTable::Summary& all = table.summary();
  ASSERT_EQ(all.limits.size(), 21U);
  EXPECT_EQ(all.left_out, 0U);
  EXPECT_EQ(all.limits[10].limit, Number(50));
  EXPECT_EQ(all.limits[10].of, std::vector<std::vector<std::string>>{{"*"}});
  const ThresholdTable large = by_shop_and_user(1'000);
  EXPECT_EQ(large.summary().limits.size(), 40U);
  EXPECT_EQ(large.summary().left_out, 1'960U);
  EXPECT_EQ(large.summary().limits.back().limit, Number(1'000'999));
}

}  // namespace
}  // namespace weir::policies::threshold_table_test
