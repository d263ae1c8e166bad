#include <gtest/gtest.h>

#include "config/parse.h"

// `defaults:` is what policies are taken to say where they do not say it themselves.
namespace weir::config::defaults_test {
namespace {

struct Read {
  Model model;
  std::string problems;
};

Read read(const std::string& main, const std::string& included = "") {
  Problems problems;
  std::vector<SourceText> texts{{"main.yaml", "weir: 1\n" + main}};
  if (!included.empty()) texts.push_back({"more.yaml", included});
  Read out{parse(texts, {}, problems), {}};
  for (const auto& problem : problems.all()) {
    if (problem.severity == Problem::Severity::error) out.problems += problem.message + "\n";
  }
  return out;
}

constexpr char kRedis[] = "redis: {url: 'redis://127.0.0.1:6379', secret: s}\n";

TEST(Defaults, HoldForThePoliciesOfAllFilesWhereverTheyStand) {
  const Read got = read(
      std::string(kRedis) +
          "policies: [{name: a, watch: request, key: ip, window: 1m, then: [{over: 5, do: "
          "deny}]}]\n"
          "defaults: {share: redis, missing: deny, mode: shadow, tell: full, on_error: deny}\n",
      "policies: [{name: b, watch: request, key: ip, window: 1m, then: [{over: 5, do: "
      "challenge}]}]\n");
  ASSERT_EQ(got.problems, "");
  ASSERT_EQ(got.model.policies.size(), 2U);
  for (const PolicyDef& policy : got.model.policies) {
    EXPECT_TRUE(policy.share.has_value()) << policy.name.value;
    EXPECT_EQ(policy.missing.value, Missing::deny);
    EXPECT_EQ(policy.mode.value, Mode::shadow);
    ASSERT_TRUE(policy.on_error.has_value());
    EXPECT_EQ(policy.on_error->what, OnErrorDef::What::deny);
    ASSERT_TRUE(policy.then.front().tell.has_value());
    EXPECT_EQ(policy.then.front().tell->value, Tell::full);
  }
}

TEST(Defaults, GiveWayToWhatAPolicySays) {
  const Read got =
      read(std::string(kRedis) +
           "defaults: {share: redis, missing: deny, mode: shadow, tell: full, on_error: deny}\n"
           "policies:\n  - {name: a, watch: request, key: ip, window: 1m, share: local, missing: "
           "skip, mode: enforce, "
           "then: [{over: 5, do: deny, tell: nothing}, {over: 2, do: flag}]}\n"
           "  - {name: b, watch: request, key: ip, window: 1m, on_error: allow, then: [{over: 5, "
           "do: deny}]}\n");
  ASSERT_EQ(got.problems, "");
  const PolicyDef& a = got.model.policies[0];
  EXPECT_FALSE(a.share.has_value());
  EXPECT_FALSE(a.on_error.has_value()) << "what is local asks nobody";
  EXPECT_EQ(a.missing.value, Missing::skip);
  EXPECT_EQ(a.mode.value, Mode::enforce);
  EXPECT_EQ(a.then[0].tell->value, Tell::nothing);
  EXPECT_FALSE(a.then[1].tell.has_value()) << "a flag tells nobody";
  EXPECT_EQ(got.model.policies[1].on_error->what, OnErrorDef::What::allow);
}

TEST(Defaults, AreLeftOutWhereTheyCannotHold) {
  const Read got = read(
      std::string(kRedis) +
      "defaults: {share: {redis: {sync: 200ms}}, on_error: {local: 0.5}}\n"
      "policies:\n"
      "  - {name: rule, watch: request, then: [{if: 'path == \"/x\"', do: deny}]}\n"
      "  - {name: kept, watch: request, key: ip, window: 1m, retain: 1h, then: [{over: 5, do: "
      "deny}]}\n"
      "  - {name: late, watch: request, key: ip, window: 1m, clock: event, then: [{over: 5, do: "
      "deny}]}\n"
      "  - {name: pattern, sequence: [request, request], within: 1s, key: ip, then: [{do: flag}]}\n"
      "  - {name: sync, watch: request, key: ip, window: 1m, then: [{over: 5, do: deny}]}\n");
  ASSERT_EQ(got.problems, "");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(got.model.policies[i].share.has_value()) << i;
  ASSERT_TRUE(got.model.policies[3].share.has_value());
  EXPECT_FALSE(got.model.policies[3].share->sync.has_value());
  ASSERT_TRUE(got.model.policies[4].share.has_value());
  EXPECT_TRUE(got.model.policies[4].share->sync.has_value());
  EXPECT_FALSE(got.model.policies[4].on_error.has_value()) << "a request does not ask Redis";
}

TEST(Defaults, AreCheckedLikeAnythingElse) {
  EXPECT_NE(read("defaults: {share: nobody}\n").problems.find("nobody"), std::string::npos);
  EXPECT_NE(read("defaults: {window: 5m}\n").problems.find("window"), std::string::npos);
  EXPECT_NE(
      read("policies: []\n", "defaults: {mode: shadow}\n").problems.find("only in the main file"),
      std::string::npos);
  EXPECT_NE(
      read("defaults: {share: redis}\npolicies: [{name: a, watch: request, key: ip, window: 1m, "
           "then: [{over: 5, do: deny}]}]\n")
          .problems.find("needs \"redis\""),
      std::string::npos);
}

}  // namespace
}  // namespace weir::config::defaults_test
