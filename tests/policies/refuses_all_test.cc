#include <gtest/gtest.h>

#include "config/load.h"
#include "policies/set/compile.h"

/// Which policies are warned of since they refuse every request.
namespace weir::policies::refuses_all_test {
namespace {

std::string said_of(const std::string& yaml) {
  config::Loaded loaded = config::load_text("t.yaml", "weir: 1\n" + yaml);
  EXPECT_TRUE(loaded.model) << yaml;
  if (!loaded.model) return {};
  EXPECT_NE(compile(*loaded.model, loaded.problems), nullptr) << yaml;
  for (const config::Problem& problem : loaded.problems.all()) {
    if (problem.message.find(" refuses every request") != std::string::npos)
      return problem.message + " | " + problem.hint;
  }
  return {};
}

const std::string kEvents =
    "events:\n  trap: {match: GET /wp-login.php}\n  page: {is: request}\n  all: {match: '* /*'}\n"
    "  gets: {is: request, when: 'method == \"GET\"'}\n";

std::string policy(const std::string& lines) {
  return kEvents + "policies: [{name: p, " + lines + "}]\n";
}

TEST(RefusesAll, AHoneypotThatGuardsEveryRequest) {
  EXPECT_EQ(said_of(policy("watch: trap, guard: request, key: ip, then: [{if: 'true', do: deny, "
                           "for: 1h}]")),
            "policy \"p\" refuses every request, the first one of a key too | a guarded request is "
            "judged by the same rungs: with window: 1h and over: 0 only those keys are refused for "
            "which an event was counted");
  EXPECT_EQ(said_of(policy("watch: trap, guard: request, key: ip, window: 1h, then: [{over: 0, do: "
                           "deny, for: 1h}]")),
            "");
  EXPECT_NE(said_of(policy("watch: trap, guard: request, key: ip, window: 1h, then: [{at: 0, do: "
                           "deny}]")),
            "");
  EXPECT_EQ(said_of(policy("watch: trap, key: ip, then: [{if: 'true', do: deny, for: 1h}]")), "");
}

TEST(RefusesAll, SaysWhichRequestsAConditionLeaves) {
  const std::string said = said_of(
      "events: {login: {match: POST /login}, failed: {is: login, when: 'status == 401'}}\n"
      "policies: [{name: p, watch: failed, when: 'header.x_app == \"a\"', key: ip, window: 1m, "
      "then: [{over: 0, do: deny}]}]\n");
  EXPECT_EQ(said.substr(0, said.find(':')),
            "policy \"p\" refuses every request for which header.x_app == \"a\" holds and that may "
            "turn out to be \"failed\"");
}

TEST(RefusesAll, SaysWhatARequestMustHaveToBeCounted) {
  const auto said = [](const std::string& lines) {
    const std::string all = said_of(
        "events: {login: {match: POST /login}, failed: {is: login, when: 'status == 401'}}\n"
        "policies: [{name: p, watch: failed, window: 1m, then: [{over: 0, do: deny}], " +
        lines + "}]\n");
    return all.substr(0, all.find(':'));
  };
  const std::string start = "policy \"p\" refuses every request ";
  const std::string end = "that may turn out to be \"failed\"";
  EXPECT_EQ(said("key: body.user"), start + "for which body.user has a value and " + end);
  EXPECT_EQ(said("key: body.user, missing: same"), start + end);
  EXPECT_EQ(said("key: ip, metric: distinct(body.user), when: 'path == \"/a\"'"),
            start + "for which body.user has a value and path == \"/a\" holds and " + end);
}

TEST(RefusesAll, WhereOneRequestPassesTheThreshold) {
  const std::string wide[] = {
      "watch: request, key: ip, then: [{if: 'true', do: deny}]",
      "watch: request, key: ip, window: 1m, then: [{over: 0, do: deny}]",
      "watch: request, window: 1m, then: [{at: 1, do: challenge}]",
      "watch: page, key: [ip, path], window: 1m, then: [{over: 0, do: deny, for: 1h}]",
      "watch: all, key: ip, window: 1m, then: [{over: 0.5, do: deny}]",
      "watch: request, when: 'true', key: ip, window: 1m, then: [{over: 0, if: 'true', do: deny}]",
      "watch: request, key: ip, metric: distinct(path), window: 1m, then: [{over: 0, do: deny}]",
      "watch: request, key: ip, metric: in_flight, then: [{over: 0, do: deny}]",
      "watch: request, key: ip, window: 1m, then: [{under: 5, do: deny}]",
      "watch: request, key: header.x_user, missing: deny, window: 1m, then: [{over: 0, do: deny}]",
      "watch: request, key: ip, metric: distinct(header.x_user), missing: same, window: 1m, then: "
      "[{over: 0, do: deny}]",
      "watch: request, guard: request, key: ip, window: 1m, then: [{over: 0, do: deny}]"};
  for (const std::string& lines : wide) EXPECT_NE(said_of(policy(lines)), "") << lines;
}

TEST(RefusesAll, NotWhereSomeRequestsPass) {
  const std::string narrow[] = {
      "watch: request, key: ip, window: 1m, then: [{over: 1, do: deny}]",
      "watch: request, key: ip, window: 1m, then: [{at: 2, do: deny}]",
      "watch: request, key: ip, window: 1m, then: [{over: 0, do: flag}]",
      "watch: request, key: ip, window: 1m, mode: shadow, then: [{over: 0, do: deny}]",
      "watch: request, key: ip, window: 1m, then: [{over: 0, do: deny, mode: shadow}]",
      "watch: request, key: ip, window: 1m, then: [{over: 0, if: 'path == \"/a\"', do: deny}]",
      "watch: request, when: 'path == \"/a\"', key: ip, window: 1m, then: [{over: 0, do: deny}]",
      "watch: gets, key: ip, window: 1m, then: [{over: 0, do: deny}]",
      "watch: request, key: header.x_user, window: 1m, then: [{over: 0, do: deny}]",
      "watch: request, key: ip, metric: distinct(header.x_user), window: 1m, then: [{over: 0, do: "
      "deny}]",
      "watch: request, key: ip, metric: distinct(int(path)), window: 1m, then: [{over: 0, do: "
      "deny}]",
      "watch: request, guard: trap, key: ip, window: 1m, then: [{over: 0, do: deny}]",
      "watch: request, key: ip, charge: always, window: 1m, then: [{under: 5, do: deny}]",
      "watch: trap, guard: request, key: ip, window: 1m, then: [{under: 1, do: deny}]"};
  for (const std::string& lines : narrow) EXPECT_EQ(said_of(policy(lines)), "") << lines;
}

TEST(RefusesAll, WhereTheAnswerTellsWhatIsCounted) {
  const std::string login =
      "events:\n  login: {match: POST /login}\n  failed: {is: login, when: status == 401}\n"
      "  other: {match: GET /}\n";
  const auto said = [&](const std::string& lines) {
    return said_of(login + "policies: [{name: p, key: ip, window: 1h, " + lines + "}]\n");
  };
  EXPECT_EQ(said("watch: failed, then: [{over: 0, do: deny}]"),
            "policy \"p\" refuses every request that may turn out to be \"failed\": each counts as "
            "one until its answer, the first one too | write over: 1, which refuses once one has "
            "been counted and leaves room for the request itself");
  EXPECT_NE(said("watch: failed, then: [{at: 1, do: deny, for: 1h}]"), "");
  EXPECT_NE(said("watch: failed, guard: login, then: [{over: 0, do: deny}]"), "");
  EXPECT_NE(said("watch: login, when: status == 401, then: [{over: 0, do: deny}]"), "");
  EXPECT_NE(said("watch: failed, metric: distinct(path), then: [{over: 0, do: deny}]"), "");
  EXPECT_EQ(said("watch: failed, then: [{over: 1, do: deny}]"), "");
  EXPECT_EQ(said("watch: failed, then: [{over: 0, do: flag}]"), "");
  EXPECT_EQ(said("watch: failed, guard: other, then: [{over: 0, do: deny}]"), "");
  EXPECT_EQ(said("watch: failed, then: [{if: 'path == \"/x\"', over: 0, do: deny}]"), "");
}

TEST(RefusesAll, NotWhereAnAllowListLetsSomeThrough) {
  EXPECT_EQ(said_of("lists: {office: {of: ip, kind: allow, entries: [10.0.0.0/8]}}\n" +
                    policy("watch: request, key: ip, then: [{if: 'true', do: deny}]")),
            "");
}

}  // namespace
}  // namespace weir::policies::refuses_all_test
