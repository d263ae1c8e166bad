#include "telemetry/latency.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::telemetry::latency_test {
namespace {

using std::chrono::microseconds;

TEST(Latency, CountsIntoCumulativeBucketsOfAllWorkers) {
  Latency latency(2);
  const std::size_t login = latency.route("login");
  latency.cells(0).request(login, microseconds{1'000});  // le is inclusive
  latency.cells(1).request(login, microseconds{1'001});
  latency.cells(1).request(login, microseconds{60'000'000});
  latency.cells(0).request(kOtherRoute, microseconds{-5});  // a clock may be read twice in one turn
  latency.cells(0).upstream(microseconds{7'000});
  std::string page;
  latency.write(page, "127.0.0.1:3000");
  for (const std::string_view line :
       {"# TYPE weir_request_duration_seconds histogram\n",
        "weir_request_duration_seconds_bucket{route=\"login\",le=\"0.001\"} 1\n",
        "weir_request_duration_seconds_bucket{route=\"login\",le=\"0.0025\"} 2\n",
        "weir_request_duration_seconds_bucket{route=\"login\",le=\"10\"} 2\n",
        "weir_request_duration_seconds_bucket{route=\"login\",le=\"+Inf\"} 3\n",
        "weir_request_duration_seconds_sum{route=\"login\"} 60.002001\n",
        "weir_request_duration_seconds_count{route=\"login\"} 3\n",
        "weir_request_duration_seconds_bucket{route=\"other\",le=\"0.001\"} 1\n",
        "weir_upstream_duration_seconds_bucket{upstream=\"127.0.0.1:3000\",le=\"0.005\"} 0\n",
        "weir_upstream_duration_seconds_bucket{upstream=\"127.0.0.1:3000\",le=\"0.01\"} 1\n",
        "weir_upstream_duration_seconds_sum{upstream=\"127.0.0.1:3000\"} 0.007\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << "\n" << page;
  }
}

TEST(Latency, NamesClassesOnceAndTheRestIsOther) {
  Latency latency(1);
  EXPECT_EQ(latency.route("other"), kOtherRoute);
  const std::size_t first = latency.route("a");
  EXPECT_EQ(latency.route("a"), first);
  for (int i = 0; i < 100; ++i) latency.route("event" + std::to_string(i));
  EXPECT_EQ(latency.route("late"), kOtherRoute);
  EXPECT_EQ(latency.route("a"), first) << "a reload finds its class again";
  std::string page;
  latency.write(page, "app");
  EXPECT_LE(std::count(page.begin(), page.end(), '\n'), 17 * 15 + 4);
}

}  // namespace
}  // namespace weir::telemetry::latency_test
