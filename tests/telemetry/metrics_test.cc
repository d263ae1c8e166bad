#include "telemetry/metrics.h"

#include <gtest/gtest.h>

#include <set>

namespace weir::telemetry::metrics_test {
namespace {

TEST(Metrics, SumsTheCellsOfAllWriters) {
  Metrics metrics(3);
  metrics.cells(0).add(Metric::evicted, 2);
  metrics.cells(1).add(Metric::evicted);
  metrics.control().set(Metric::memory_used, 7);
  EXPECT_EQ(metrics.sum(Metric::evicted), 3);
  std::string text;
  metrics.write(text);
  EXPECT_NE(text.find("# TYPE weir_evicted_total counter\nweir_evicted_total 3\n"),
            std::string::npos);
  EXPECT_NE(text.find("weir_memory_used_bytes 7\n"), std::string::npos);
}

TEST(Metrics, RowsOfOneNameStandTogetherAndHaveHelpOnce) {
  std::set<std::string_view> seen;
  std::string_view previous;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Metric::count_); ++i) {
    const auto& row = metric_row(static_cast<Metric>(i));
    if (row.name != previous) {
      EXPECT_TRUE(seen.insert(row.name).second) << row.name << " is in two places";
      EXPECT_FALSE(row.help.empty()) << row.name;
      const bool total = row.name.ends_with("_total");
      EXPECT_EQ(total, row.kind == MetricKind::counter) << row.name;
    } else {
      EXPECT_TRUE(row.help.empty()) << row.name;
    }
    previous = row.name;
  }
}

TEST(Metrics, HistogramsAddTheirBucketsUp) {
  Metrics metrics(2);
  metrics.cells(0).set(Metric::redis_round_trip_first, 3);
  metrics.cells(1).set(Metric::redis_round_trip_first, 1);
  metrics.cells(1).set(Metric::redis_round_trip_500us, 2);
  metrics.cells(0).set(Metric::redis_round_trip_above, 1);
  metrics.cells(0).set(Metric::redis_round_trip_sum, 1'500'000);
  metrics.cells(1).set(Metric::redis_round_trip_sum, 250'000);
  std::string text;
  metrics.write(text);
  const std::string name = "weir_redis_round_trip_seconds";
  EXPECT_NE(text.find("# TYPE " + name + " histogram\n" + name + "_bucket{le=\"0.0001\"} 4\n"),
            std::string::npos);
  for (const char* line :
       {"_bucket{le=\"0.00025\"} 4\n", "_bucket{le=\"0.0005\"} 6\n", "_bucket{le=\"1\"} 6\n",
        "_bucket{le=\"+Inf\"} 7\n", "_sum 1.75\n", "_count 7\n"}) {
    EXPECT_NE(text.find(name + line), std::string::npos) << line;
  }
}

TEST(Metrics, LabelValuesAreEscaped) { EXPECT_EQ(escape_label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd"); }

}  // namespace
}  // namespace weir::telemetry::metrics_test
