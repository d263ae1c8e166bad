#include <gtest/gtest.h>

#include "config/load.h"
#include "policies/set/compile.h"

/// The problems at load of policies over calls of the rate limit service.
namespace weir::policies::call_checks_test {
namespace {

/// `LINE:COLUMN: error: message`, of all problems.
std::string told(const std::string& yaml) {
  config::Loaded loaded = config::load_text("t.yaml", "weir: 1\n" + yaml);
  if (loaded.model) {
    const auto set = compile(*loaded.model, loaded.problems);
    EXPECT_EQ(set == nullptr, loaded.problems.has_errors()) << yaml;
  }
  return config::render_human(loaded.problems, loaded.views(), false);
}
bool tells(const std::string& yaml, const std::string& level, const std::string& what) {
  const std::string all = told(yaml);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string line = all.substr(at, end - at);
    if (line.find(": " + level + ": ") != std::string::npos && line.find(what) != std::string::npos)
      return true;
    at = end + 1;
  }
  return false;
}

std::string policy(const std::string& rest, const std::string& watch = "{domain: d}") {
  return "policies: [{name: p, watch: " + watch + ", " + rest + "}]\n";
}
const std::string kDeny = "then: [{over: 1, do: deny}]";
const std::string kRequests = "[request, {domain: d}]";

TEST(CallChecks, ACallIsNeverInFlight) {
  const std::string flies = "metric: in_flight, key: ip, " + kDeny;
  EXPECT_TRUE(tells(policy(flies), "error", "never in flight"));
  EXPECT_TRUE(tells(policy(flies, kRequests), "warning", "never in flight"));
  EXPECT_FALSE(tells(policy(flies, kRequests), "error", ""));
  EXPECT_EQ(told(policy(flies, "request")), "");
  EXPECT_NE(told(policy(flies)).find("watch `request` at ext_authz"), std::string::npos);
  EXPECT_TRUE(
      tells("policies: [{name: p, watch: {domain: d}, key: ip, metrics: {open: {watch: {domain: "
            "d}, metric: "
            "in_flight}}, then: [{if: open > 1, do: deny}]}]\n",
            "error", "never in flight"));
}

TEST(CallChecks, NoAnswerDecidesAboutACall) {
  const std::string failed = "when: status == 401, key: ip, window: 1m, " + kDeny;
  EXPECT_TRUE(tells(policy(failed), "error", "depends on an answer"));
  EXPECT_TRUE(tells(policy(failed, kRequests), "warning", "depends on an answer"));
  EXPECT_FALSE(tells(policy(failed, "request"), "error", "depends on an answer"));
  EXPECT_TRUE(tells(policy("metric: sum(response.body.tokens), window: 1m, " + kDeny), "error",
                    "depends on an answer"));
  // As an event, and as an event that is one.
  const std::string call = "events:\n  call: {domain: d, descriptors: {user: '*'}";
  const std::string watched = policy("window: 1m, " + kDeny, "failed");
  EXPECT_TRUE(tells(call + "}\n  failed: {is: call, when: status == 401}\n" + watched, "error",
                    "event \"failed\" depends on an answer"));
  EXPECT_TRUE(
      tells(call + ", when: status == 401}\n", "error", "event \"call\" depends on an answer"));
  EXPECT_TRUE(
      tells("views: [{name: v, watch: {domain: d}, when: status == 401, window: {every: "
            "1h}}]\n",
            "error", "view \"v\" depends on an answer"));
  EXPECT_TRUE(tells(call + "}\n  page: {match: GET /a}\npolicies: [{name: p, sequence: [{event: "
                           "call, when: status == 401}, page], within: 1m, key: ip, then: [{do: "
                           "flag}]}]\n",
                    "warning", "depends on an answer"));
}

TEST(CallChecks, HitsThatComeAfterTheAnswerNeedChargeAlways) {
  const std::string late = "apply_on_stream_done";
  const std::string sum = "window: 1m, metric: sum(hits_addend), ";
  EXPECT_TRUE(tells(policy(sum + kDeny), "warning", late));
  EXPECT_EQ(told(policy(sum + "charge: always, " + kDeny)), "");
  EXPECT_EQ(told(policy(sum + "then: [{over: 1, do: flag}]")), "") << "it refuses nothing";
  EXPECT_EQ(told(policy("window: 1m, " + kDeny)), "") << "a count of calls";
  EXPECT_EQ(told(policy("window: 1m, metric: count, " + kDeny)), "");
  EXPECT_TRUE(tells(
      "fields: {tokens: hits_addend * 2}\n" + policy("window: 1m, metric: sum(tokens), " + kDeny),
      "warning", late));
  EXPECT_TRUE(tells(
      "policies: [{name: p, watch: {domain: d}, metrics: {spent: {watch: {domain: d}, metric: "
      "sum(hits_addend), window: 1m}}, then: [{if: spent > 9, do: deny}]}]\n",
      "warning", late));
  EXPECT_FALSE(tells(policy(sum + kDeny, "request"), "warning", late));
}

TEST(CallChecks, RungsThatMeanSomethingElse) {
  const std::string window = "key: ip, window: 1m, ";
  const auto rung = [&](const std::string& what) {
    return window + "then: [{over: 1, " + what + "}]";
  };
  const std::pair<const char*, const char*> kOther[] = {{"do: delay, hold: 1s", "holds requests"},
                                                        {"do: challenge", "challenges"},
                                                        {"do: deny, status: 403", "has a status"}};
  for (const auto& [what, why] : kOther) {
    EXPECT_TRUE(tells(policy(rung(what)), "warning", why)) << what;
    EXPECT_TRUE(tells(policy(rung(what), kRequests), "warning", why)) << what;
    EXPECT_FALSE(tells(policy(rung(what), "request"), "warning", why)) << what;
  }
  EXPECT_EQ(told(policy(rung("do: deny, status: 429"))), "");
}

TEST(CallChecks, AKeyThatIsAnExpressionGetsItsName) {
  const std::string yaml =
      policy("key: 'envoy.metadata[\"envoy.filters.http.jwt_authn\"].sub', window: 1m, " + kDeny,
             "request");
  EXPECT_NE(
      told(yaml).find("fields: {mine: 'envoy.metadata[\"envoy.filters.http.jwt_authn\"].sub'}"),
      std::string::npos)
      << told(yaml);
  EXPECT_FALSE(
      tells(policy("key: envoy.metadata.ns.sub, window: 1m, missing: same, " + kDeny, "request"),
            "error", ""));
}

}  // namespace
}  // namespace weir::policies::call_checks_test
