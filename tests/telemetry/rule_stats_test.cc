#include "telemetry/rule_stats.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::telemetry::rule_stats_test {
namespace {

using Keys = std::vector<std::string>;

std::string page(const RuleStats& stats) {
  std::string out;
  stats.write(out);
  return out;
}
bool says(const RuleStats& stats, const std::string& name, const std::string& labels, int value) {
  const std::string line =
      "\nratelimit_service_rate_limit_" + name + "{" + labels + "} " + std::to_string(value) + "\n";
  return page(stats).find(line) != std::string::npos;
}

TEST(RuleStats, TellsEachSideOfABorderItsPartOfTheHits) {
  RuleStats stats;
  RuleRow& row = *stats.row("shop", Keys{"path_/login"}, false);
  const std::string labels = "domain=\"shop\",key1=\"path_/login\"";
  row.count(7, 7, 10, 8, false);  // 1..7: within
  EXPECT_TRUE(says(stats, "within_limit", labels, 7)) << page(stats);
  EXPECT_TRUE(says(stats, "near_limit", labels, 0));
  row.count(2, 9, 10, 8, false);  // 8, 9: one of them is above 8
  EXPECT_TRUE(says(stats, "near_limit", labels, 1)) << page(stats);
  row.count(4, 13, 10, 8, false);  // 10 is near, 11 to 13 are over
  EXPECT_TRUE(says(stats, "near_limit", labels, 2)) << page(stats);
  EXPECT_TRUE(says(stats, "over_limit", labels, 3));
  EXPECT_TRUE(says(stats, "within_limit", labels, 9));
  row.count(2, 15, 10, 8, true);  // wholly over, in shadow mode
  EXPECT_TRUE(says(stats, "over_limit", labels, 5)) << page(stats);
  EXPECT_TRUE(says(stats, "shadow_mode", labels, 2));
  EXPECT_TRUE(says(stats, "total_hits", labels, 15));
}

TEST(RuleStats, OneRowForEachSetOfLabelsHoweverItIsAskedFor) {
  RuleStats stats;
  RuleRow* const row = stats.row("d", Keys{"a_b", "c"}, false);
  EXPECT_EQ(stats.row("d", Keys{"a_b", "c"}, true), row);
  EXPECT_NE(stats.row("d", Keys{"a_b"}, false), row);
  EXPECT_NE(stats.row("d", Keys{"a", "b_c"}, false), row) << "labels keep the steps apart";
  row->count(1);
  EXPECT_TRUE(says(stats, "total_hits", "domain=\"d\",key1=\"a_b\",key2=\"c\"", 1));
}

TEST(RuleStats, ValuesOfCallsHaveABound) {
  RuleStats stats;
  for (std::size_t i = 0; i < RuleStats::kValuesMax; ++i)
    ASSERT_NE(stats.row("d", Keys{"ip_" + std::to_string(i)}, true), nullptr);
  EXPECT_EQ(stats.row("d", Keys{"ip_x"}, true), nullptr);
  EXPECT_NE(stats.row("d", Keys{"ip_7"}, true), nullptr) << "a row that is there stays";
  EXPECT_NE(stats.row("d", Keys{"ip"}, false), nullptr) << "rules have a bound of their own";
  EXPECT_EQ(stats.left_out(), 1U);
}

TEST(RuleStats, LabelsAreEscapedAndCutBetweenCharacters) {
  RuleStats stats;
  stats.row("a\"b\n", Keys{std::string(127, 'x') + "\xC3\xA9"}, false)->count(1);
  EXPECT_TRUE(
      says(stats, "total_hits", "domain=\"a\\\"b\\n\",key1=\"" + std::string(127, 'x') + "\"", 1))
      << page(stats);
}

TEST(RuleStats, NamesAreThoseOfTheOtherService) {
  const std::pair<const char*, const char*> names[] = {
      {"a:b|c", "a_b_c"},
      {"remote_address_10.0.0.1", "remote_address_10_0_0_1"},
      {"masked_remote_address_10.0.0.0/24", "masked_remote_address_10_0_0_0/24"},
      {"2001:db8::1", "2001_db8__1"},
      {"v1.2.3", "v1.2.3"},
      {"1.2.3.4.5", "1_2_3_4.5"},
      {"1234.5.6.7 8.9.10.11", "1234_5_6_7 8_9_10_11"},
      {"1.2.3.", "1.2.3."},
      {"1..2.3.4", "1..2.3.4"},
      {"www.shop.example", "www.shop.example"}};
  for (const auto& [value, label] : names) {
    RuleStats stats;
    stats.row("d", Keys{value}, true)->count(1);
    EXPECT_TRUE(says(stats, "total_hits", std::string("domain=\"d\",key1=\"") + label + "\"", 1))
        << page(stats);
  }
}

}  // namespace
}  // namespace weir::telemetry::rule_stats_test
