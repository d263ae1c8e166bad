#include <gtest/gtest.h>

#include "config/parse.h"
#include "limiter/exchange/synced_counter.h"
#include "policies/set/compile.h"

namespace weir::policies::exchange_test {
namespace {

constexpr const char* kMetricsOfTests[] = {"count",     "sum(1)",       "distinct(path)",
                                           "in_flight", "avg(1)",       "min(1)",
                                           "max(1)",    "exists(path)", "last(1)"};
constexpr const char* kWindows[] = {
    "10m",          "{last: 10m, exact: true}", "{last: 10m, buckets: 60}",
    "{every: 1m}",  "{every: 1m, from: first}", "{calendar: day}",
    "{events: 10}", "{leaky: 5, drain: 1s}",    "{rate: 10/s, burst: 20}",
};

/// Whether a warning says that each request asks Redis in spite of `sync`.
bool warns(const config::Problems& problems) {
  for (const config::Problem& problem : problems.all()) {
    if (problem.message.starts_with("asks Redis for each request in spite of")) return true;
  }
  return false;
}

// config/sections/share.cc says which combinations replicas exchange, limiter/exchange how.
TEST(Exchange, WhatTheConfigurationLetsReplicasExchangeTheyCanMerge) {
  std::size_t exchanged = 0, asked = 0;
  for (const char* metric : kMetricsOfTests) {
    for (const char* window : kWindows) {
      const bool in_flight = std::string_view(metric) == "in_flight";
      if (in_flight && window != kWindows[0]) continue;
      const std::string policy =
          std::string(
              "{name: p, watch: request, key: ip, share: {redis: {sync: 200ms}}, metric: ") +
          metric + (in_flight ? "" : std::string(", window: ") + window) +
          ", then: [{over: 5, do: deny}]}";
      config::Problems problems;
      const config::Model model = config::parse(
          {{"test.yaml",
            "weir: 1\nredis: {url: redis://127.0.0.1, secret: s}\npolicies: [" + policy + "]\n"}},
          {}, problems);
      if (problems.has_errors()) continue;  // a metric that cannot have the window
      const auto set = compile(model, problems);
      if (problems.has_errors()) continue;
      SCOPED_TRACE(policy);
      ASSERT_EQ(set->counters.size(), 1U);
      const Counter& counter = set->counters.front();
      ASSERT_TRUE(counter.shared);
      const bool merges = limiter::merge_of(counter.shared->spec) != limiter::Merge::none;
      // An average could be merged by buckets only, which is not what `exact` asks for.
      const bool exact_average = std::string_view(metric) == "avg(1)" && window == kWindows[1];
      EXPECT_EQ(counter.is_synced(), merges && !exact_average);
      EXPECT_EQ(warns(problems), !counter.is_synced());
      ++(counter.is_synced() ? exchanged : asked);
    }
  }
  EXPECT_GT(exchanged, 15U);
  EXPECT_GT(asked, 10U);
}

}  // namespace
}  // namespace weir::policies::exchange_test
