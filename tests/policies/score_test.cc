#include <gtest/gtest.h>

#include <random>

#include "tests/policies/world.h"
#include "tests/support/seed.h"

// `metric: score`: a threshold on what the rungs of all policies give a request together.
namespace weir::policies::score_test {
namespace {

constexpr char kPolicies[] = R"(
policies:
  - {name: total, watch: request, key: ip, metric: score, then: [{over: 70, do: challenge}, {at: 120, do: deny, for: 1h}]}
  - {name: fast, watch: request, key: ip, window: 1m, then: [{over: 2, score: 30, do: flag}]}
  - {name: probe, watch: request, when: 'path == "/probe"', then: [{if: 'true', score: 50}]}
  - {name: odd, watch: request, when: 'has(header.x_odd)', then: [{if: 'true', do: flag, score: 40}]}
)";

TEST(Score, AddsUpWhateverTheOrderOfThePolicies) {
  World world(kPolicies);
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /probe")), "pass") << "50";
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "30";
  EXPECT_EQ(world.send(TestRequest("GET /probe")), "challenge") << "80";
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-Odd", "1")), "flag") << "70 is not over 70";
  EXPECT_EQ(world.send(TestRequest("GET /probe").header("X-Odd", "1")), "deny") << "120";
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny") << "banned";
  EXPECT_EQ(world.send(TestRequest("GET /", "198.51.100.1")), "pass");
}

TEST(Score, IsComparedByRungsToo) {
  World world(R"(
policies:
  - {name: total, watch: request, key: ip, then: [{score_over: 70, do: challenge}, {score_over: 119, do: deny, for: 1h}]}
  - {name: fast, watch: request, key: ip, window: 1m, then: [{over: 2, score: 30, do: flag}]}
  - {name: probe, watch: request, when: 'path == "/probe"', then: [{if: 'true', score: 50}]}
  - {name: odd, watch: request, when: 'has(header.x_odd)', then: [{if: 'true', do: flag, score: 40}]}
)");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /probe")), "pass") << "50";
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "30";
  EXPECT_EQ(world.send(TestRequest("GET /probe")), "challenge") << "80";
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-Odd", "1")), "flag") << "70 is not over 70";
  EXPECT_EQ(world.send(TestRequest("GET /probe").header("X-Odd", "1")), "deny") << "120";
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny") << "banned";
}

TEST(Score, BesideOtherRungsIsAPolicyOfItsOwn) {
  World world(R"(
policies:
  - {name: fast, watch: request, key: ip, window: 1m, then: [{over: 1, score: 30, do: flag}, {score_over: 70, do: deny}, {over: 3, score: 80, do: flag}]}
  - {name: probe, watch: request, when: 'path == "/probe"', then: [{if: 'true', do: flag, score: 50}]}
)");
  ASSERT_EQ(world.set_->policies.size(), 3U);
  EXPECT_EQ(world.set_->policies[1].name, "fast-score");
  EXPECT_EQ(world.send(TestRequest("GET /probe")), "flag") << "50";
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "30";
  TestRequest request("GET /probe");
  const auto judged = world.judge(request);
  EXPECT_EQ(judged.effect, "deny") << "80";
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "what was refused is not counted";
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny") << "the fourth gives 80";
}

TEST(Score, WhatItRefusesIsNotCounted) {
  World world(kPolicies);
  for (int i = 0; i < 2; ++i) world.send(TestRequest("GET /"));
  TestRequest request("GET /probe");
  const auto judged = world.judge(request);
  EXPECT_EQ(judged.effect, "challenge");
  world.now += milliseconds{61'000};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
}

TEST(Score, IsToldToTheApp) {
  World world(R"(
policies:
  - {name: total, watch: request, metric: score, then: [{over: 20, do: flag}]}
  - {name: probe, watch: request, then: [{if: 'path == "/probe"', do: flag, score: 30}]}
)");
  TestRequest request("GET /probe");
  const auto judged = world.judge(request);
  EXPECT_NE(judged.upstream.find("total;value=30;limit=20"), std::string::npos) << judged.upstream;
  EXPECT_NE(judged.upstream.find("X-Weir-Score: 30"), std::string::npos) << judged.upstream;
}

TEST(Score, InShadowModeAddsUpShadowRungsTooAndChangesNothing) {
  World world(R"(
policies:
  - {name: a, watch: request, mode: shadow, then: [{if: 'has(query.a)', do: flag, score: 50}]}
  - {name: b, watch: request, then: [{if: 'has(query.b)', do: flag, score: 30}]}
  - {name: shadow, watch: request, mode: shadow, metric: score, then: [{over: 70, do: deny}]}
  - {name: enforced, watch: request, metric: score, then: [{over: 40, do: deny}]}
)");
  EXPECT_EQ(world.send(TestRequest("GET /?a=1&b=1")), "flag");
  EXPECT_EQ(world.stats.totals("policy", "shadow").shadows[static_cast<std::size_t>(Action::deny)],
            1U);
  EXPECT_EQ(world.send(TestRequest("GET /?b=1")), "flag");
  EXPECT_EQ(world.stats.totals("policy", "shadow").shadows[static_cast<std::size_t>(Action::deny)],
            1U);
  EXPECT_EQ(
      world.stats.totals("policy", "enforced").verdicts[static_cast<std::size_t>(Action::deny)],
      0U);
}

TEST(Score, AgreesWithASumOverRandomPolicies) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::string yaml = "policies:\n";
    std::vector<int> scores;
    const auto place = static_cast<int>(random() % 6);
    for (int i = 0; i < 6; ++i) {
      if (i == place) {
        yaml += "  - {name: total, watch: request, metric: score, then: [{over: 60, do: deny}]}\n";
      }
      scores.push_back(1 + static_cast<int>(random() % 50));
      const std::string n = std::to_string(i);
      yaml += "  - {name: p" + n + ", watch: request, when: 'has(query.q" + n +
              ")', then: [{if: 'true', do: flag, score: " + std::to_string(scores.back()) + "}]}\n";
    }
    World world(yaml);
    for (int i = 0; i < 30; ++i) {
      std::string line = "GET /?z=1";
      int sum = 0;
      for (std::size_t k = 0; k < scores.size(); ++k) {
        if (random() % 2 == 0) continue;
        line += "&q" + std::to_string(k) + "=1";
        sum += scores[k];
      }
      ASSERT_EQ(world.send(TestRequest(line)), sum > 60  ? "deny"
                                               : sum > 0 ? "flag"
                                                         : "pass")
          << yaml << line;
    }
  }
}

TEST(Score, IsChecked) {
  const auto told = [](const std::string& policies) {
    config::Problems problems;
    const config::Model model = config::parse(
        {{"t.yaml",
          "weir: 1\nevents: {bad: {match: GET /a, when: status == 401}}\npolicies:\n" + policies}},
        {}, problems);
    const auto set = problems.has_errors() ? nullptr : compile(model, problems);
    std::string out;
    for (const auto& problem : problems.all()) out += problem.message + "\n";
    return out;
  };
  const std::string giver =
      "  - {name: g, watch: request, then: [{if: 'path == \"/x\"', do: flag, score: 5}]}\n";
  EXPECT_EQ(
      told(giver + "  - {name: p, watch: request, metric: score, then: [{over: 4, do: deny}]}\n"),
      "");
  EXPECT_NE(told("  - {name: p, watch: request, metric: score, then: [{over: 4, do: deny}]}\n")
                .find("no rung of any policy gives a score"),
            std::string::npos);
  const auto over = [&](const std::string& limit) {
    return told(
        giver + "  - {name: p, watch: request, then: [{score_" + limit + ", do: deny}]}\n" +
        "  - {name: q, watch: request, key: ip, window: 1m, then: [{over: 1, do: flag, score: "
        "7}, {over: 2, do: flag, score: 3}]}\n");
  };
  const std::string range =
      ": scores lie from 0 to 12, the sum of the highest one of each policy\n";
  EXPECT_EQ(over("over: 0"), "");
  EXPECT_EQ(over("over: 11.5"), "");
  EXPECT_EQ(over("over: 12"), "no request has such a score" + range);
  EXPECT_EQ(over("over: -1"), "every request has such a score" + range);
  EXPECT_NE(
      told(
          giver +
          "  - {name: p, watch: request, metric: score, window: 1m, then: [{over: 4, do: deny}]}\n")
          .find("the score has no window"),
      std::string::npos);
  EXPECT_NE(told(giver + "  - {name: p, watch: bad, metric: score, then: [{over: 4, do: deny}]}\n")
                .find("the score is known at the request"),
            std::string::npos);
  EXPECT_NE(
      told(giver +
           "  - {name: p, watch: request, metric: score, then: [{over: 4, do: flag, score: 3}]}\n")
          .find("adds nothing to it"),
      std::string::npos);
  const auto rung = [&](const std::string& rest) {
    return told(giver + "  - {name: p, watch: request, key: ip, " + rest + "}\n");
  };
  EXPECT_EQ(rung("then: [{score_over: 4, do: deny}]"), "");
  EXPECT_EQ(rung("window: 1m, then: [{over: 1, do: flag}, {score_over: 4, do: deny}]"), "");
  EXPECT_NE(rung("window: 1m, then: [{score_over: 4, do: deny}]").find("the score has no window"),
            std::string::npos);
  EXPECT_NE(rung("window: 1m, then: [{over: 1, score_over: 4, do: deny}]")
                .find("a rung compares one thing"),
            std::string::npos);
  EXPECT_NE(rung("window: 1m, score_over: 4, then: [{over: 1, do: deny}]").find("unknown key"),
            std::string::npos);
  EXPECT_NE(rung("then: [{score_over: 4, in: 1m, do: deny}]").find("the score has no window"),
            std::string::npos);
  EXPECT_NE(rung("window: 1m, then: [{over: 1, do: flag}, {score_over: 4, do: deny, score: 3}]")
                .find("adds nothing to it"),
            std::string::npos);
  EXPECT_NE(
      told(giver + "  - {name: p, sequence: [bad, bad], within: 1m, key: ip, then: [{do: flag}, "
                   "{score_over: 4, do: deny}]}\n")
          .find("a pattern compares no score"),
      std::string::npos);
}

}  // namespace
}  // namespace weir::policies::score_test
