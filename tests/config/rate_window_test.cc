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

/// The words of users of other limiters, where weir has a window, a rate or a threshold.
TEST(RateWindow, SaysWhatIsMeantByARateInAnotherPlace) {
  const auto error = [](const std::string& window, const std::string& then) {
    const std::string all = read(window, then).errors;
    return all.substr(0, all.find('\n'));
  };
  for (const char* rate : {"10/m", "10r/m", "10 per minute"}) {
    EXPECT_EQ(error(rate, "[{over: 5, do: deny}]"),
              "\"" + std::string(rate) +
                  "\" is a rate, and a window is a time | write window: 1m, then: [{over: 10, do: "
                  "deny}]; or, for a steady pace, window: {rate: 10/m, burst: 10}");
  }
  EXPECT_EQ(error("{rate: 10r/s, burst: 5}", "[{do: deny}]"),
            "\"10r/s\" is not a rate | did you mean \"10/s\"?");
  EXPECT_EQ(error("1m", "[{over: 10r/s, do: deny}]"),
            "\"10r/s\" is a rate, and a threshold is a number | write over: 10, in: 1s");
  EXPECT_EQ(error("1m", "[{over: 10/m, do: deny}]"), "") << "an event may have a field m";
  EXPECT_EQ(error("1m", "[{over: 5, in: 10/m, do: deny}]").substr(0, 16), "\"10/m\" is a rate");
  EXPECT_EQ(error("{rate: 10/s, burst: 0}", "[{do: deny}]"),
            "a burst is more than 0 and at most 2147483647 | ");
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
  EXPECT_EQ(warned("1h", "[{over: 5, do: deny, for: 15m}]"),
            "the ban ends before the count does: events stay in the window for 1h, so the "
            "next event bans again | add clear: true to the rung, or write for: 1h1m or more\n");
  EXPECT_EQ(warned("1h", "[{over: 5, do: deny, for: 1h}]"), "");
  EXPECT_EQ(warned("1h", "[{over: 5, do: deny, for: 15m, clear: true}]"), "");
  EXPECT_EQ(warned("10m", "[{over: 5, do: deny, for: [15m, 4h]}]"), "");
  EXPECT_EQ(warned("{rate: 1/m, burst: 5}", "[{do: deny, for: 15m}]"), "");
}

}  // namespace
}  // namespace weir::config::rate_window_test
