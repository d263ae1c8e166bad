#include "policies/judgement/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weir::policies::stats_test {
namespace {

std::ptrdiff_t series(const std::string& page) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) count += page[at] != '#';
  return count;
}

TEST(StatsBank, SumsWorkersAndOutlivesReloads) {
  StatsBank stats(2);
  StatsCells::add(stats.open("policy", "p", 0)->verdicts[1]);
  StatsCells::add(stats.open("policy", "p", 1)->verdicts[1]);
  StatsCells::add(stats.open("policy", "p", 0, {"user"})->missing[0]);
  EXPECT_EQ(stats.totals("policy", "p").verdicts[1], 2u);
  EXPECT_EQ(stats.totals("list", "p").verdicts[1], 0u);
  std::string page;
  stats.write(page);
  EXPECT_NE(page.find("weir_verdict_total{policy=\"p\",action=\"flag\"} 2\n"), std::string::npos);
  EXPECT_NE(page.find("weir_missing_field_total{policy=\"p\",field=\"user\"} 1\n"),
            std::string::npos);
  EXPECT_NE(page.find("weir_verdict_total{policy=\"p\",action=\"deny\"} 0\n"), std::string::npos)
      << "a counter begins at 0";
}

TEST(StatsBank, ThePageStaysBoundedWhateverIsLoaded) {
  StatsBank stats(1);
  for (int i = 0; i < 500; ++i) {
    StatsCells* cells = stats.open("policy", "p" + std::to_string(i), 0);
    for (auto& cell : cells->verdicts) StatsCells::add(cell);
  }
  std::string page;
  stats.write(page);
  EXPECT_LE(series(page), 1'151);
  EXPECT_NE(page.find("weir_series_dropped 1850\n"), std::string::npos);
}

}  // namespace
}  // namespace weir::policies::stats_test
