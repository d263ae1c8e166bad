#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "tests/policies/world.h"
#include "tests/support/seed.h"

// `window: {rate: 10/s, burst: 20}`: a steady rate with a burst on top, refused or paced above it.
namespace weir::policies::rate_test {
namespace {

std::string policy(const std::string& window, const std::string& then) {
  return "policies: [{name: p, watch: request, key: ip, window: " + window + ", then: " + then +
         "}]\n";
}

struct Told {
  std::string errors, warnings;
};

Told told_of(const std::string& yaml) {
  config::Problems problems;
  const config::Model model = config::parse({{"t.yaml", "weir: 1\n" + yaml}}, {}, problems);
  const auto set = problems.has_errors() ? nullptr : compile(model, problems);
  Told out;
  for (const auto& problem : problems.all()) {
    const bool error = problem.severity == config::Problem::Severity::error;
    (error ? out.errors : out.warnings) += problem.message + " | " + problem.hint + "\n";
  }
  return out;
}

int passed_of(World& world, int requests) {
  int passed = 0;
  for (int i = 0; i < requests; ++i) passed += world.send(TestRequest("GET /")) == "pass" ? 1 : 0;
  return passed;
}

TEST(Rate, RefusesAllThatIsAboveTheBurst) {
  World world(policy("{rate: 10/s, burst: 20}", "[{do: deny}]"));
  EXPECT_EQ(passed_of(world, 200), 20);
  EXPECT_EQ(passed_of(world, 200), 0) << "nothing empties the bucket";
  world.now += milliseconds{99};
  EXPECT_EQ(passed_of(world, 10), 0);
  world.now += milliseconds{1};
  EXPECT_EQ(passed_of(world, 10), 1);
  world.now += milliseconds{1000};
  EXPECT_EQ(passed_of(world, 100), 10);
  world.now += milliseconds{60'000};
  EXPECT_EQ(passed_of(world, 100), 20);
}

/// The bucket as one would write it on a blackboard: every event that was let in, from the first.
/// In units of 1/period: an event is `period`, and `many` drain each ms.
struct Naive {
  std::int64_t many, period, burst;
  std::deque<std::int64_t> let_in;

  std::int64_t level(std::int64_t now) const {
    std::int64_t units = 0, at = 0;
    for (const std::int64_t ms : let_in) {
      units = std::max<std::int64_t>(0, units - (ms - at) * many) + period;
      at = ms;
    }
    return std::max<std::int64_t>(0, units - (now - at) * many);
  }
  bool admits(std::int64_t now) const { return level(now) + period <= burst * period; }
};

TEST(Rate, AgreesWithANaiveListOfEvents) {
  struct Row {
    const char* window;
    std::int64_t many, period, burst;
  };
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const Row& row :
       {Row{"{rate: 10/s, burst: 20}", 10, 1000, 20}, Row{"{rate: 3/s, burst: 1}", 3, 1000, 1},
        Row{"{rate: 7/m, burst: 5}", 7, 60'000, 5},
        Row{"{rate: 5000/s, burst: 40}", 5000, 1000, 40},
        Row{"{rate: 1/250ms, burst: 3}", 1, 250, 3}}) {
    World world(policy(row.window, "[{do: deny}]"));
    Naive naive{row.many, row.period, row.burst, {}};
    const std::int64_t one = std::max<std::int64_t>(1, row.period / row.many);
    for (int i = 0; i < 600; ++i) {
      const bool at_once = random() % 3 != 0;
      const auto below = static_cast<std::uint64_t>(2 * one + 1);
      if (!at_once) world.now += milliseconds{static_cast<std::int64_t>(random() % below)};
      const bool expected = naive.admits(to_ms(world.now));
      ASSERT_EQ(world.send(TestRequest("GET /")) == "pass", expected) << row.window << " " << i;
      if (expected) naive.let_in.push_back(to_ms(world.now));
    }
    // The promise of the documentation for any stretch of time.
    for (std::size_t a = 0; a < naive.let_in.size(); ++a) {
      for (std::size_t b = a; b < naive.let_in.size(); ++b) {
        const std::int64_t ms = naive.let_in[b] - naive.let_in[a];
        ASSERT_LE(static_cast<std::int64_t>(b - a + 1) * row.period,
                  row.burst * row.period + ms * row.many)
            << row.window;
      }
    }
  }
}

TEST(Rate, SumsAmounts) {
  World world(
      "policies: [{name: p, watch: request, key: ip, metric: sum(int(query.n)), window: {rate: "
      "100/s, "
      "burst: 50}, then: [{do: deny}]}]\n");
  EXPECT_EQ(world.send(TestRequest("GET /?n=50")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /?n=1")), "deny");
  world.now += milliseconds{200};
  EXPECT_EQ(world.send(TestRequest("GET /?n=21")), "deny");
  EXPECT_EQ(world.send(TestRequest("GET /?n=20")), "pass");
}

TEST(Rate, PacesWhatComesTooFast) {
  World world(policy("{rate: 10/s, burst: 5}", "[{over: 1, do: delay}, {do: deny}]"));
  std::vector<std::int64_t> leaves;
  int refused = 0;
  const std::int64_t start = to_ms(world.now);
  for (int i = 0; i < 8; ++i) {
    TestRequest request("GET /");
    const auto judged = world.judge(request);
    refused += judged.kind == Verdict::Kind::refuse ? 1 : 0;
    if (judged.kind != Verdict::Kind::refuse) leaves.push_back(judged.hold.count());
  }
  EXPECT_EQ(leaves, (std::vector<std::int64_t>{0, 100, 200, 300, 400}));
  EXPECT_EQ(refused, 3);
  world.now += milliseconds{450};
  TestRequest request("GET /");
  const auto judged = world.judge(request);
  EXPECT_EQ(to_ms(world.now) + judged.hold.count() - start, 500) << "a turn of its own";
}

TEST(Rate, AFlagOverTheBurstLetsPassAndForgets) {
  World world(policy("{rate: 10/s, burst: 2}", "[{do: flag}]"));
  std::string effects;
  for (int i = 0; i < 5; ++i) effects += world.send(TestRequest("GET /")) + " ";
  EXPECT_EQ(effects, "pass pass flag flag flag ");
  world.now += milliseconds{100};
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass") << "the bucket holds no more than the burst";
}

/// The answer that overflows the bucket lists, as a request does: the level before capping counts.
TEST(Rate, AnAnswerThatOverflowsTheBucketIsOverIt) {
  for (const char* window : {"{rate: 1/10s, burst: 2}", "{leaky: 2, drain: 10s}"}) {
    for (const char* rung : {"{do: graylist, for: 1h}", "{over: 2, do: graylist, for: 1h}"}) {
      SCOPED_TRACE(std::string(window) + rung);
      World world(
          "events: {failed: {match: POST /login, when: status == 401}}\n"
          "policies: [{name: p, watch: failed, key: ip, window: " +
          std::string(window) + ", then: [" + rung + "]}]\n");
      std::string effects;
      for (int i = 0; i < 3; ++i) effects += world.send(TestRequest("POST /login"), 401) + " ";
      EXPECT_EQ(effects, "pass pass gray ") << "with its own possible failure it is over";
      world.now += milliseconds{60'000};
      EXPECT_EQ(world.send(TestRequest("POST /login")), "gray") << "listed: the bucket is empty";
    }
  }
}

TEST(Rate, AnAmountThatOverflowsAnyBucketIsOverIt) {
  World world(
      "events: {paid: {match: POST /pay, when: status == 200}}\n"
      "policies: [{name: p, watch: paid, key: ip, metric: 'sum(int(header.x_amount))',\n"
      "            window: {leaky: 100, drain: 10s}, then: [{do: graylist, for: 1h}]}]\n");
  TestRequest pay("POST /pay");
  pay.header("X-Amount", "1000000000000000");
  static_cast<void>(world.send(pay, 200));
  EXPECT_EQ(world.send(TestRequest("POST /pay").header("X-Amount", "0")), "gray") << "listed by it";
}

TEST(Rate, IsCheckedAndHinted) {
  const auto errors = [](const std::string& window, const std::string& then) {
    return told_of(policy(window, then)).errors;
  };
  EXPECT_EQ(errors("{rate: 10/s}", "[{do: deny}]"),
            "\"rate\" needs \"burst\", how much may come at once, such as burst: 20 | \n");
  EXPECT_EQ(errors("{last: 1m, burst: 3}", "[{over: 1, do: deny}]"),
            "\"burst\" is allowed only with \"rate\" | \n");
  for (const char* rate :
       {"10", "10/", "/s", "1.5/s", "10/parsec", "-1/s", "0/s", "10/40d", "1000001/s"})
    EXPECT_NE(errors("{rate: '" + std::string(rate) + "', burst: 2}", "[{do: deny}]"), "") << rate;
  for (const char* rate : {"10/s", "10/m", "10/h", "10/d", "10/15m", "10/1ms", "1000000/s"})
    EXPECT_EQ(errors("{rate: " + std::string(rate) + ", burst: 2}", "[{do: deny}]"), "") << rate;
  EXPECT_NE(errors("{rate: 10/s, burst: 2}", "[{do: delay}]").find("a delay spaces requests out"),
            std::string::npos);
  EXPECT_NE(errors("{rate: 1/m, burst: 20}", "[{over: 1, do: delay}, {do: deny}]")
                .find("1m is the longest"),
            std::string::npos);
  EXPECT_EQ(errors("1m", "[{over: 1, do: delay}]"),
            "\"delay\" needs \"hold\", a duration such as 2s | \n");
  EXPECT_EQ(told_of(policy("{rate: 10/s, burst: 5}", "[{over: 1, do: delay}]")).warnings,
            "above the burst, weir does not hold requests: they all pass | add {do: deny}, which "
            "refuses what is over the burst\n");
}

TEST(Rate, IsWhatCheckRecommendsInsteadOfALeakyBucketThatRefuses) {
  const std::string leaky = policy("{leaky: 20, drain: 100ms}", "[{do: deny}]");
  EXPECT_EQ(
      told_of(leaky).warnings,
      "a bucket that overflows is emptied: in a flood this refuses only one request in 21, and the "
      "others pass | write window: {rate: 1/100ms, burst: 20}, which refuses all requests above "
      "the burst; "
      "or give the rung a \"for\"\n");
  World world(leaky);
  EXPECT_EQ(passed_of(world, 200), 191) << "what the warning is about";
  World recommended(policy("{rate: 1/100ms, burst: 20}", "[{do: deny}]"));
  EXPECT_EQ(passed_of(recommended, 200), 20);
  EXPECT_EQ(told_of(policy("{leaky: 20, drain: 100ms}", "[{do: deny, for: 1m}]")).warnings, "");
}

}  // namespace
}  // namespace weir::policies::rate_test
