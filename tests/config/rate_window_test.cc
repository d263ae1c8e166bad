#include <gtest/gtest.h>

#include "config/parse.h"

// `window: {rate: 10/s, burst: 20}` and bans, as the file says them.
namespace weir::config::rate_window_test {
namespace {

struct Read {
  Model model;
  std::string errors, warnings;
};

Read read(const std::string& window, const std::string& then) {
  Problems problems;
  Read out{parse({{"t.yaml", "weir: 1\npolicies: [{name: p, watch: request, key: ip, window: " +
                                 window + ", then: " + then + "}]\n"}},
                 {}, problems),
           {},
           {}};
  for (const auto& problem : problems.all()) {
    const bool error = problem.severity == Problem::Severity::error;
    (error ? out.errors : out.warnings) += problem.message + " | " + problem.hint + "\n";
  }
  return out;
}

TEST(RateWindow, IsABucketInLowestTerms) {
  struct Row {
    const char* rate;
    std::uint32_t drains;
    std::int64_t ms;
  };
  for (const Row& row :
       {Row{"10/s", 1, 100}, Row{"3/s", 3, 1000}, Row{"600/m", 1, 100}, Row{"100/15m", 1, 9000},
        Row{"7/h", 7, 3'600'000}, Row{"5000/s", 5, 1}, Row{"1/d", 1, 86'400'000}}) {
    const Read got = read("{rate: " + std::string(row.rate) + ", burst: 20}", "[{do: deny}]");
    ASSERT_EQ(got.errors, "") << row.rate;
    const PolicyDef& policy = got.model.policies.front();
    EXPECT_EQ(policy.window->drains, row.drains) << row.rate;
    EXPECT_EQ(policy.window->drain.count(), row.ms) << row.rate;
    EXPECT_TRUE(policy.window->is_rate);
    EXPECT_EQ(policy.window->capacity, Number(20));
    EXPECT_EQ(policy.then.front().compare, Compare::over) << "over the burst";
    EXPECT_EQ(std::get<Located<Number>>(policy.then.front().limit).value, Number(20));
  }
  const Read paced = read("{rate: 10/s, burst: 20}", "[{over: 1, do: delay}, {do: deny}]");
  EXPECT_TRUE(paced.model.policies.front().then.front().paces.has_value());
}

TEST(RateWindow, ABanThatEndsBeforeItsWindowIsNoFreedom) {
  const auto warned = [](const std::string& window, const std::string& then) {
    return read(window, then).warnings;
  };
  EXPECT_EQ(
      warned("1h", "[{over: 5, do: deny, for: 15m}]"),
      "the end of this ban is not freedom: what was counted stays in the window of 1h, so that the "
      "next event bans again | add clear: true to the rung, or write for: 1h or more\n");
  EXPECT_EQ(warned("1h", "[{over: 5, do: deny, for: 1h}]"), "");
  EXPECT_EQ(warned("1h", "[{over: 5, do: deny, for: 15m, clear: true}]"), "");
  EXPECT_EQ(warned("10m", "[{over: 5, do: deny, for: [15m, 4h]}]"), "");
  EXPECT_EQ(warned("{rate: 1/m, burst: 5}", "[{do: deny, for: 15m}]"), "");
}

}  // namespace
}  // namespace weir::config::rate_window_test
