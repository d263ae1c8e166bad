#include "policies/explain/explain.h"

#include "tests/policies/world.h"
#include "tests/support/golden.h"

namespace weir::policies::explain_test {
namespace {

/// One policy for every reason there is to be skipped, and some that judge.
constexpr const char* kEverything = R"(
fields: {user: header.x_user}
events:
  login:
    match: POST /api/{what}
    fields: {name: body.name.lowerAscii(), amount: int(body.amount)}
  failed: {is: login, when: status == 401}
  by_bot: {is: login, when: 'header.user_agent.startsWith("bot")'}
  other:  {match: GET /other}
lists:
  office:  {of: ip, kind: allow, entries: [{key: 10.0.0.0/8, why: headquarters}]}
  banned:  {of: user, kind: deny, entries: [{key: mallory, why: fraud}]}
  watched: {of: user, kind: gray, entries: [bob]}
tables:
  by_what: {by: [what], values: {login: 0, "*": unlimited}}
policies:
  - {name: judges, watch: login, key: [ip/24, what], window: 10m, then: [{over: 5, do: flag}, {over: 10, in: 1h, do: deny, for: [1h, 1d]}]}
  - {name: outcome, watch: failed, key: name, window: 1h, then: [{over: 0, do: flag, score: 20}]}
  - {name: by-table, watch: login, key: ip, window: 1m, then: [{over: by_what, do: graylist, for: 15m}]}
  - {name: by-rule, watch: login, then: [{if: 'what == "login"', do: flag}]}
  - {name: in-shadow, mode: shadow, watch: login, key: ip, window: 1m, then: [{at: 1, do: deny}]}
  - {name: switched-off, mode: disabled, watch: login, key: ip, window: 1m, then: [{at: 1, do: deny}]}
  - {name: elsewhere, watch: other, key: ip, window: 1m, then: [{at: 1, do: flag}]}
  - {name: not-when, watch: login, when: 'method == "PUT"', key: ip, window: 1m, then: [{at: 1, do: flag}]}
  - {name: when-missing, watch: login, when: 'header.x_absent.contains("a")', key: ip, window: 1m, then: [{at: 1, do: flag}]}
  - {name: no-key, watch: login, key: header.x_absent, window: 1m, then: [{at: 1, do: flag}]}
  - {name: twice, watch: login, key: query.q, window: 1m, then: [{at: 1, do: flag}]}
  - {name: no-amount, watch: login, key: ip, metric: sum(int(body.absent)), window: 1m, then: [{at: 1, do: flag}]}
  - {name: bad-amount, watch: login, key: ip, metric: sum(amount), window: 1m, then: [{over: 100, do: graylist, for: 1m}]}
  - {name: own-ban, watch: login, key: name, window: 1m, then: [{over: 0, do: challenge, for: 10m}]}
)";

class ExplainTest : public testing::Test {
 protected:
  std::string golden(const std::string& name, TestRequest request) {
    Explanation explanation = explain(world.driver, request.view(world.now), world.instant());
    const std::string text = weir::test::compare_golden(WEIR_SOURCE_DIR, "explain/" + name + ".txt",
                                                        explanation.to_text(false));
    const std::string json = weir::test::compare_golden(
        WEIR_SOURCE_DIR, "explain/" + name + ".json", explanation.to_json());
    return text + json;
  }
  static TestRequest login(const std::string& ip = "203.0.113.7") {
    TestRequest request("POST /api/login?q=1&q=2", ip);
    request.json(R"({"name": "Anna", "amount": -3})");
    return request;
  }
  World world{kEverything};
};

TEST_F(ExplainTest, EveryReasonToBeSkipped) { EXPECT_EQ(golden("skips", login()), ""); }

TEST_F(ExplainTest, AnAllowListEndsJudging) { EXPECT_EQ(golden("exempt", login("10.1.2.3")), ""); }

TEST_F(ExplainTest, ADenyListRefuses) {
  EXPECT_EQ(golden("denied", login().header("X-User", "mallory")), "");
}

TEST_F(ExplainTest, AGrayListFlags) {
  EXPECT_EQ(golden("gray", login().header("X-User", "bob")), "");
}

TEST_F(ExplainTest, AnOwnListRefusesUncounted) {
  world.send(login());  // challenged, and so listed
  EXPECT_EQ(golden("own_ban", login()), "");
}

TEST_F(ExplainTest, ABodyThatCannotBeRead) {
  EXPECT_EQ(golden("defect", TestRequest("POST /api/login").json("{\"name\": ")), "");
}

TEST_F(ExplainTest, NothingMatches) { EXPECT_EQ(golden("nothing", TestRequest("GET /home")), ""); }

/// A value of `last` belongs to the thread until its next operation; explain reads all first.
TEST(ExplainLast, EachCounterHasItsOwnValue) {
  World world(R"(
events:
  e: {match: GET /e, fields: {a: int(query.a), b: query.b}}
policies:
  - {name: number, watch: e, key: ip, metric: last(a), window: 10m, then: [{over: 100, do: flag}]}
  - {name: text, watch: e, key: ip, metric: last(b), window: 10m, then: [{if: 'value != b', do: flag}]}
  - {name: other, watch: e, key: ip, metric: last(a), window: 5m, then: [{over: 100, do: flag}]}
)");
  TestRequest first("GET /e?a=111&b=seven");
  world.judge(first);
  TestRequest second("GET /e?a=1&b=1");
  const Explanation out = explain(world.driver, second.view(world.now), world.instant());
  ASSERT_EQ(out.policies.size(), 3U);
  EXPECT_EQ(out.policies[0].counters.at(0).value, "111");
  EXPECT_EQ(out.policies[1].counters.at(0).value, "\"seven\"");
  EXPECT_EQ(out.policies[1].counters.at(0).settled, "\"seven\"");
  EXPECT_EQ(out.policies[2].counters.at(0).value, "111");
}

/// The window of a rung, where it has no length.
TEST(ExplainRungs, TheirWindowsAreNamed) {
  World world(R"(
policies:
  - name: p
    watch: request
    key: ip
    window: 1m
    then:
      - {over: 1, do: flag}
      - {over: 2, in: 2h, do: flag}
      - {over: 3, in: {events: 9}, do: flag}
      - {over: 4, in: {calendar: day}, do: flag}
)");
  TestRequest request("GET /");
  const Explanation out = explain(world.driver, request.view(world.now), world.instant());
  std::vector<std::string> texts;
  for (const auto& rung : out.policies.at(0).rungs) texts.push_back(rung.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"over 1: flag", "over 2 in 2h: flag",
                                             "over 3 in the last 9 events: flag",
                                             "over 4 in each day of UTC: flag"}));
}

TEST_F(ExplainTest, ChangesNothing) {
  for (int i = 0; i < 50; ++i) {
    TestRequest request = login();
    explain(world.driver, request.view(world.now), world.instant());
  }
  EXPECT_EQ(world.bank.stats().keys, 0u);
  for (const List& list : world.set_->lists) EXPECT_EQ(world.lists.size(list.id), 0u) << list.name;
}

}  // namespace
}  // namespace weir::policies::explain_test
