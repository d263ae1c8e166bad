#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "tests/policies/world.h"
#include "tests/support/seed.h"

// A window that a rung with `under` reads is exact (docs/accuracy.md), however it is written, and
// keeps what the other rungs of the policy ask for.
namespace weir::policies::under_test {
namespace {

class Readings final : public RowSink {
 public:
  void reading(const Row& row) override { last[row.policy->name] = row.value.as_number(); }
  void verdict(const Row& row, const Rung&, std::size_t index, std::optional<Number>) override {
    rungs[row.policy->name] = static_cast<int>(index);
  }
  std::map<std::string, Number> last;
  std::map<std::string, int> rungs;
};

std::string problems_of(const std::string& policy) {
  config::Problems problems;
  const config::Model model = config::parse(
      {{"t.yaml", "weir: 1\npolicies: [{name: p, watch: request, key: ip, " + policy + "}]\n"}}, {},
      problems);
  const auto set = problems.has_errors() ? nullptr : compile(model, problems);
  std::string out;
  for (const auto& problem : problems.all()) {
    if (problem.severity == config::Problem::Severity::error) {
      out += problem.message + " | " + problem.hint + "\n";
    }
  }
  return out;
}

TEST(Under, ReadsTheTrueValueOfABucketedWindow) {
  World world(
      "policies: [{name: p, watch: request, key: ip, window: 60s, then: [{under: 2, do: "
      "flag}]}]\n");
  world.now = from_ms(1'800'000'000'100);
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag");
  world.now = from_ms(1'800'000'060'900);
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "the first has left the 60 s";
}

/// Beyond the former threshold, the number of a key's events is not known.
TEST(Under, ARaisedThresholdDoesNotFireForWhatWasNotKept) {
  const auto under = [](const std::string& limit) {
    return "policies: [{name: p, watch: request, key: ip, window: 1h, then: [{under: " + limit +
           ", do: flag}]}]\n";
  };
  for (const bool restarts : {false, true}) {
    World first(under("900"));
    const std::string quiet = "203.0.113.8";
    for (int n = 0; n < 3'000; ++n) {  // in half an hour
      first.now += milliseconds(600);
      first.send(TestRequest("GET /"));
      if (n % 300 == 0) first.send(TestRequest("GET /", quiet));
    }
    EXPECT_EQ(first.send(TestRequest("GET /")), "pass");
    World second(under("2500"));
    if (restarts) {
      std::string bytes;
      limiter::Bank::Snapshot snapshot(first.bank, first.now, first.now);
      while (snapshot.next(bytes)) {
      }
      second.now = first.now;
      ASSERT_TRUE(second.bank.import(bytes, second.now, second.now));
    } else {
      first.use(under("2500"));
    }
    World& world = restarts ? second : first;
    const TimePoint raised = world.now;
    const auto at = [&](int minutes) { world.now = raised + std::chrono::minutes(minutes); };
    EXPECT_EQ(world.send(TestRequest("GET /")), "pass") << "3,002, of which 1,001 are known";
    EXPECT_EQ(world.send(TestRequest("GET /", quiet)), "flag") << "all of its events are known";
    at(40);
    EXPECT_EQ(world.send(TestRequest("GET /")), "pass") << "2,003, but nobody knows";
    at(55);
    EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "500: all that it lacks is over";
    at(61);
    for (int n = 0; n < 2'480; ++n) world.send(TestRequest("GET /"));
    EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "the window has passed: 2,484";
  }
}

TEST(Under, AgreesWithANaiveListOfEvents) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  World world(R"(
policies:
  - {name: count, watch: request, key: ip, window: 7s, then: [{under: 3, do: flag}, {over: 5000, do: challenge}]}
  - {name: few, watch: request, key: ip, window: {last: 7s, buckets: 2}, then: [{over: 9, do: flag}, {under: 2, in: 3s, do: graylist, for: 1s}]}
  - {name: sum, watch: request, key: ip, metric: sum(int(query.n)), window: 7s, then: [{under: 20, do: flag}]}
)");
  struct Happened {
    std::int64_t ms;
    std::int64_t amount;
  };
  std::deque<Happened> naive;
  for (int i = 0; i < 3000; ++i) {
    world.now += milliseconds{random() % 4 == 0 ? random() % 3000 : random() % 300};
    const auto amount = static_cast<std::int64_t>(random() % 10);
    naive.push_back({to_ms(world.now), amount});
    const auto in = [&](std::int64_t window) {
      std::int64_t count = 0, sum = 0;
      for (const Happened& e : naive) {
        if (e.ms <= to_ms(world.now) - window) continue;
        ++count;
        sum += e.amount;
      }
      return std::pair{count, sum};
    };
    Readings rows;
    JudgeOptions options;
    options.rows = &rows;
    TestRequest request("GET /?n=" + std::to_string(amount));
    world.start(request.view(world.now), options);
    const auto [count, sum] = in(7000);
    ASSERT_EQ(rows.last["count"], Number(count)) << i;
    ASSERT_EQ(rows.last["sum"], Number(sum)) << i;
    ASSERT_EQ(rows.rungs.contains("count"), count < 3) << i;
    ASSERT_EQ(rows.rungs.contains("sum"), sum < 20) << i;
    const int few = rows.rungs.contains("few") ? rows.rungs["few"] : -1;
    ASSERT_EQ(few == 1, in(3000).first < 2) << i;
    ASSERT_GE(rows.last["few"], Number(count)) << i;
  }
}

TEST(Under, KeepsWhatTheOtherRungsAskFor) {
  World world(
      "tables: {t: {by: [method], values: {GET: 1500}}}\npolicies:\n"
      "  - {name: a, watch: request, key: ip, window: 1m, then: [{under: 2, do: flag}, {over: "
      "1200, "
      "do: challenge}]}\n"
      "  - {name: b, watch: request, key: ip, window: 1m, then: [{under: 1, do: flag}, {at: t, do: "
      "deny}]}\n");
  std::map<int, std::string> effects;
  for (int i = 1; i <= 1200; ++i) effects[i] = world.send(TestRequest("GET /"));
  EXPECT_EQ(effects[1], "flag");
  EXPECT_EQ(effects[1200], "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "challenge") << "the 1201st is over 1200";
  world.use(
      "tables: {t: {by: [method], values: {GET: 1500}}}\npolicies:\n"
      "  - {name: b, watch: request, key: ip, window: 1m, version: 2, then: [{under: 1, do: flag}, "
      "{at: t, do: deny}]}\n");
  for (int i = 1; i < 1500; ++i) ASSERT_EQ(world.send(TestRequest("GET /")), "pass") << i;
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny") << "the 1500th";
}

TEST(Under, IsRefusedOnlyWhereItCannotHold) {
  EXPECT_EQ(problems_of("window: 1m, then: [{under: 2, do: flag}, {over: 5000, do: deny}]"), "");
  EXPECT_EQ(
      problems_of("window: 1m, then: [{under: 2, in: 2m, do: flag}, {over: 50001, do: deny}]"), "");
  EXPECT_EQ(problems_of("window: 1m, then: [{under: 5000, do: flag}]"), "");
  EXPECT_EQ(
      problems_of("window: 1m, then: [{under: 2, do: flag}, {over: 60000, do: deny}]"),
      "\"over: 60000\" can never hold: this metric reads at most keep, which is 50000 | a rung "
      "with \"under\" makes the window exact, and an exact window keeps at most 50000 events of "
      "a key: give one of the two a policy of its own\n");
  EXPECT_EQ(
      problems_of("window: 1m, keep: 100, then: [{under: 200, do: flag}]"),
      "\"under: 200\" always holds: this metric reads at most keep, which is 100 | write keep: "
      "200\n");
  EXPECT_EQ(problems_of("window: {last: 1m, exact: true}, then: [{over: 5000, do: deny}]"),
            "\"over: 5000\" can never hold: this metric reads at most keep, which is 1000 | write "
            "keep: 5001\n");
}

}  // namespace
}  // namespace weir::policies::under_test
