#include "policies/judge/driver.h"

#include "policies/set/sharing.h"
#include "tests/policies/world.h"

namespace weir::policies::driver_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kLogin = R"(
fields: {user: header.x_user_id}
events:
  login:
    match: POST /api/login
    fields:
      user: body.username.lowerAscii()
      device: header.x_device_id
  login_failed: {is: login, when: 'status in [401, 403]'}
  login_ok:     {is: login, when: 'status == 200'}
  ad_reward:
    match: POST /api/ad/reward
    fields: {gold: int(body.gold), ocpc: body.ocpc, os: header.x_os}
lists:
  office:     {of: ip, kind: allow, entries: [10.0.0.0/8]}
  gray_users: {of: user, kind: gray}
tables:
  gold_limit:
    by: [ocpc, os]
    values:
      baidu:   {android: 3000, ios: 2500}
      toutiao: {android: 2000, "*": 1800}
      "*": 1500
policies:
  - name: login-per-ip
    watch: login_failed
    key: ip
    window: 10m
    then:
      - {over: 5,  do: flag}
      - {over: 10, do: graylist, for: 15m}
      - {over: 50, do: deny, for: 1h}
  - name: login-per-user
    watch: login_failed
    key: user
    window: 1h
    reset: login_ok
    then: [{over: 5, do: challenge, for: 10m}]
  - name: accounts-per-device
    watch: login
    key: device
    metric: distinct(user)
    window: 1h
    then: [{over: 3, do: graylist, for: 1h}]
  - name: gold-per-user
    watch: ad_reward
    key: user
    metric: sum(gold)
    window: {last: 30m, exact: true}
    then: [{at: gold_limit, do: graylist, list: gray_users, for: 24h}]
)";

TestRequest login(const std::string& user, const std::string& ip = "203.0.113.7") {
  TestRequest request("POST /api/login", ip);
  request.json("{\"username\": \"" + user + "\", \"password\": \"x\"}");
  return request;
}

TestRequest reward(const std::string& user, int gold, const std::string& ocpc,
                   const std::string& os) {
  TestRequest request("POST /api/ad/reward");
  request.json("{\"gold\": " + std::to_string(gold) + ", \"ocpc\": \"" + ocpc + "\"}");
  request.header("X-User-Id", user).header("X-Os", os);
  return request;
}

TEST(Bans, AnEntryWithoutEndPromisesNoTimeToComeBack) {
  World world(R"(
lists: {out: {of: ip, kind: deny, tell: retry, entries: [203.0.113.7]}}
policies: []
)");
  EXPECT_EQ(world.judge(TestRequest("GET /")).response, "");
}

TEST(Card, WrongLoginsOfOneAddressClimbTheLadder) {
  World world(kLogin);
  for (int i = 1; i <= 60; ++i) {
    world.now += seconds(1);
    const auto judged = world.judge(login("user" + std::to_string(i)));
    const char* expected = i <= 5 ? "pass" : i <= 10 ? "flag" : i <= 50 ? "gray" : "deny";
    EXPECT_EQ(judged.effect, expected) << "wrong login " << i;
    if (i == 6) {
      EXPECT_EQ(judged.upstream,
                "X-Weir-Verdict: flag\r\n"
                "X-Weir-Policy: login-per-ip;value=6;limit=5;window=600;possible\r\n");
    }
    if (i == 51) {
      EXPECT_EQ(judged.status, 429);
      EXPECT_EQ(judged.response, "Retry-After: 3600\r\n");
    }
    if (i == 52) {
      EXPECT_EQ(judged.status, 403) << "a ban gives no hint";
      EXPECT_EQ(judged.response, "");
    }
    if (judged.judgement) world.answer(*judged.judgement, 401);
  }
  EXPECT_EQ(world.send(login("other", "203.0.113.8")), "pass");
  world.now += minutes(59);
  EXPECT_EQ(world.send(login("x")), "deny") << "the ban outlives the window of ten minutes";
  world.now += minutes(2);
  EXPECT_EQ(world.send(login("x")), "pass");
}

TEST(Card, AUserIsChallengedFromAnyAddressAndARightLoginForgives) {
  World world(kLogin);
  const auto from = [](int i) { return "203.0.113." + std::to_string(i); };
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(world.send(login("Anna", from(i)), 401), "pass");
  EXPECT_EQ(world.send(login("anna", from(6)), 200), "challenge");
  EXPECT_EQ(world.send(login("bert", from(6)), 200), "pass");
  world.now += minutes(10);
  EXPECT_EQ(world.send(login("ANNA", from(7)), 200), "challenge") << "settled failures still count";

  World other(kLogin);
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(other.send(login("anna"), 401), "pass");
  EXPECT_EQ(other.send(login("anna"), 200), "pass");
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(other.send(login("anna"), 401), i + 4 <= 5 ? "pass" : "flag")
        << "the address is not forgiven";
  }
  EXPECT_EQ(other.send(login("anna"), 401), "challenge");
}

TEST(Card, AFourthAccountOnADeviceIsGray) {
  World world(kLogin);
  const auto on_device = [](const std::string& user) {
    return login(user).header("X-Device-Id", "d1");
  };
  for (const char* user : {"a", "b", "c", "a", "B"}) EXPECT_EQ(world.send(on_device(user)), "pass");
  EXPECT_EQ(world.send(on_device("d")), "gray");
  EXPECT_EQ(world.send(on_device("a")), "gray") << "the device is on the list now";
  EXPECT_EQ(world.send(login("a")), "pass") << "without a device the policy does not apply";
}

TEST(Card, GoldReachesItsThresholdByChannelAndSystem) {
  const struct {
    const char* ocpc;
    const char* os;
    int limit;
  } cases[] = {{"baidu", "android", 3000},   {"baidu", "ios", 2500},   {"baidu", "windows", 1500},
               {"toutiao", "android", 2000}, {"toutiao", "ios", 1800}, {"other", "android", 1500}};
  for (const auto& c : cases) {
    World world(kLogin);
    EXPECT_EQ(world.send(reward("u", c.limit - 1, c.ocpc, c.os)), "pass") << c.ocpc << "/" << c.os;
    EXPECT_EQ(world.send(reward("u", 1, c.ocpc, c.os)), "gray") << c.ocpc << "/" << c.os;
    TestRequest any("GET /home");
    any.header("X-User-Id", "u");
    EXPECT_EQ(world.send(std::move(any)), "gray")
        << "a named list acts on every request of the user";
    EXPECT_EQ(world.send(reward("v", 1, c.ocpc, c.os)), "pass");
  }
}

TEST(Card, AnOfficeAddressIsNeverTouched) {
  World world(kLogin);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(world.send(login("anna", "10.1.2.3"), 401), "exempt");
  EXPECT_EQ(world.send(login("anna", "203.0.113.9"), 401), "pass")
      << "and nothing of it was counted";
}

TEST(Reservations, ParallelGuessesReachTheAppNoMoreThanTheLimit) {
  World world(R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: p, watch: failed, key: ip, window: 10m, then: [{over: 5, do: deny, for: 1h}]}
)");
  std::vector<World::Judged> passed;
  for (int i = 0; i < 1000; ++i) {
    auto judged = world.judge(TestRequest("POST /login"));
    if (judged.effect == "pass") {
      passed.push_back(std::move(judged));
    } else {
      EXPECT_EQ(judged.effect, "wait");
    }
  }
  ASSERT_EQ(passed.size(), 5u);
  auto late = world.judge(TestRequest("POST /login"), false);
  EXPECT_EQ(late.status, 429);
  EXPECT_EQ(late.response, "Retry-After: 1\r\n") << "crowded: no memory, come back at once";
  for (auto& one : passed) world.answer(*one.judgement, 401);
  auto refused = world.judge(TestRequest("POST /login"));
  EXPECT_EQ(refused.effect, "deny");
  EXPECT_EQ(refused.response, "Retry-After: 3600\r\n");
}

TEST(Reservations, ElevenRightLoginsAtOnceListNobody) {
  World world(kLogin);
  std::vector<World::Judged> flying;
  for (int i = 0; i < 11; ++i) flying.push_back(world.judge(login("user" + std::to_string(i))));
  EXPECT_EQ(flying.back().effect, "gray") << "judged on what is in flight";
  for (auto& one : flying) world.answer(*one.judgement, 200);
  EXPECT_EQ(world.send(login("next"), 200), "pass") << "but remembered is what settled";
}

TEST(Reservations, AnAbortedRequestCountsAndAFailedOneDoesNot) {
  World world(R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: p, watch: failed, key: ip, window: 10m, then: [{over: 2, do: deny}]}
)");
  auto one = world.judge(TestRequest("POST /login"));
  world.driver.release(*one.judgement, world.instant());
  auto two = world.judge(TestRequest("POST /login"));
  world.driver.abort(*two.judgement, world.instant());
  EXPECT_EQ(world.send(TestRequest("POST /login"), 401), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /login"), 401), "deny");
}

TEST(Charge, ARefusedEventIsNotCountedWhoeverRefusedIt) {
  World world(R"(
events: {buy: {match: POST /buy, fields: {item: query.item}}}
policies:
  - {name: per-ip, watch: buy, key: ip, window: {last: 1m, exact: true}, then: [{over: 100, do: deny}]}
  - {name: per-item, watch: buy, key: item, window: {last: 1m, exact: true}, missing: same, then: [{over: 2, do: deny}]}
  - {name: tries, watch: buy, key: ip, window: {last: 1m, exact: true}, charge: always, then: [{over: 100, do: flag}]}
)");
  for (int i = 0; i < 10; ++i) world.send(TestRequest("POST /buy?item=a"));
  const auto reading = [&](const char* policy) {
    const Policy& p = *world.set_->find_policy(policy);
    const Counter& counter = world.set_->counters[p.counters[0]];
    KeyBuilder builder;
    builder.start();
    if (std::string(policy) == "per-item") {
      builder.add_text("a");
    } else {
      builder.add_address(*Address::parse("203.0.113.7"));
    }
    return world.bank.peek(counter.id, builder.hash(world.secret).owned_by(counter.what), world.now)
        .value.integer();
  };
  EXPECT_EQ(reading("per-item"), 2);
  EXPECT_EQ(reading("per-ip"), 2) << "refused by the other policy: not passed, not counted";
  EXPECT_EQ(reading("tries"), 10) << "charge: always counts tries";
}

TEST(Sharing, PoliciesThatAskForTheSameNumberShareItAndAReloadKeepsIt) {
  const std::string yaml = R"(
policies:
  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 3, do: flag}]}
  - {name: b, watch: request, key: ip, window: 1m, then: [{over: 5, do: deny}]}
)";
  World world(yaml);
  EXPECT_EQ(world.set_->counters.size(), 1u);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag");
  world.use(
      "policies: [{name: renamed, watch: request, key: ip, window: 60s, then: [{over: 4, do: "
      "deny}]}]\n");
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny") << "identity is what it counts, not its name";
  world.use(yaml);
  EXPECT_EQ(world.send(TestRequest("GET /")), "flag") << "and the refused one was not counted";
}

TEST(Rungs, SeveralWindowsAreAllOrNothing) {
  World world(R"(
policies:
  - name: burst-and-sustained
    watch: request
    key: ip
    window: {last: 10s, exact: true}
    then:
      - {over: 2, do: deny}
      - {over: 5, in: {last: 1h, exact: true}, do: deny, status: 503}
)");
  int passed = 0;
  for (int i = 0; i < 60; ++i) {
    world.now += seconds(4);
    const auto judged = world.judge(TestRequest("GET /"));
    passed += judged.effect == "pass";
  }
  EXPECT_EQ(passed, 5) << "what the burst refuses does not eat the hour, and the other way round";
}

TEST(Rungs, ConditionsTablesAndExpressionsDecide) {
  World world(R"(
policies:
  - name: plans
    watch: request
    key: ip
    window: 1m
    then: [{over: 'header.x_plan == "pro" ? 3 : 1', do: deny}]
  - {name: rule, watch: request, then: [{if: 'method == "TRACE"', do: deny, status: 405}]}
)");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /")), "deny");
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-Plan", "pro")), "pass");
  EXPECT_EQ(world.judge(TestRequest("TRACE /", "192.0.2.1")).status, 405);
}

TEST(Rungs, ScoresAddUpAcrossPolicies) {
  World world(R"(
policies:
  - {name: a, watch: request, then: [{if: 'header.x_a == "1"', do: flag, score: 30}]}
  - {name: b, watch: request, then: [{if: 'header.x_b == "1"', do: flag, score: 25}]}
)");
  TestRequest request("GET /");
  request.header("X-A", "1").header("X-B", "1");
  EXPECT_EQ(world.judge(request).upstream,
            "X-Weir-Verdict: flag\r\nX-Weir-Policy: a, b\r\nX-Weir-Score: 55\r\n");
}

TEST(Rungs, ClearEmptiesTheCounter) {
  World world(R"(
policies:
  - {name: every-third, watch: request, key: ip, window: 1h, then: [{at: 3, do: flag, clear: true}]}
)");
  std::string effects;
  for (int i = 0; i < 9; ++i) effects += world.send(TestRequest("GET /")) + " ";
  EXPECT_EQ(effects, "pass pass flag pass pass flag pass pass flag ");
}

TEST(Rungs, EscalationLengthensTheBan) {
  World world(R"(
policies:
  - {name: p, watch: request, key: ip, window: {last: 1m, exact: true}, then: [{over: 1, do: deny, for: [1m, 10m], forget: 1d}]}
)");
  world.send(TestRequest("GET /"));
  EXPECT_EQ(world.judge(TestRequest("GET /")).response, "Retry-After: 60\r\n");
  world.now += minutes(2);
  world.send(TestRequest("GET /"));
  EXPECT_EQ(world.judge(TestRequest("GET /")).response, "Retry-After: 600\r\n");
}

TEST(Missing, DecidesWhatAMissingPartDoes) {
  const auto yaml = [](const char* missing) {
    return std::string("policies: [{name: p, watch: request, key: header.x_k, missing: ") +
           missing + ", window: 1m, then: [{over: 1, do: deny}]}]\n";
  };
  World skip(yaml("skip"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(skip.send(TestRequest("GET /")), "pass");
  World same(yaml("same"));
  EXPECT_EQ(same.send(TestRequest("GET /")), "pass");
  EXPECT_EQ(same.send(TestRequest("GET /", "192.0.2.9")), "deny");
  EXPECT_EQ(same.send(TestRequest("GET /").header("X-K", "1")), "pass");
  World deny(yaml("deny"));
  EXPECT_EQ(deny.judge(TestRequest("GET /")).status, 403);
  EXPECT_EQ(deny.send(TestRequest("GET /").header("X-K", "1")), "pass");
}

TEST(Defects, AnEnforcedRefusingPolicyNeedsAReadableBody) {
  const char* yaml = R"(
events: {pay: {match: POST /pay, fields: {card: body.card}}}
policies: [{name: p, watch: pay, key: card, missing: same, window: 1m, then: [{over: 9, do: deny}]}]
)";
  World world(yaml);
  const auto status = [&](BodyState state, const char* body) {
    TestRequest request("POST /pay");
    request.json(body).body_state(state);
    return world.judge(request).status;
  };
  EXPECT_EQ(status(BodyState::too_large, ""), 413);
  EXPECT_EQ(status(BodyState::encoded, ""), 415);
  EXPECT_EQ(status(BodyState::complete, "{\"card\": "), 400);
  EXPECT_EQ(status(BodyState::complete, "{\"card\": 1, \"card\": 2}"), 400);
  EXPECT_EQ(status(BodyState::complete, "{}"), 0);
}

TEST(Amounts, NothingIsPouredOutOfABucket) {
  World world(R"(
events: {pay: {match: POST /pay, fields: {n: int(body.n)}}}
policies: [{name: p, watch: pay, key: ip, metric: sum(n), window: {leaky: 4, drain: 1s}, then: [{over: 3, do: flag}]}]
)");
  const auto pay = [](int n) {
    return TestRequest("POST /pay").json("{\"n\": " + std::to_string(n) + "}");
  };
  EXPECT_EQ(world.send(pay(3)), "pass");
  EXPECT_EQ(world.send(pay(-3)), "pass");
  EXPECT_EQ(world.send(pay(1)), "flag");
  EXPECT_EQ(world.stats.totals("policy", "p").amounts_refused, 1u);
}

TEST(Amounts, ANegativeAmountIsAnErrorOfTheEventUnderARefusingRung) {
  World world(R"(
events: {pay: {match: POST /pay, fields: {n: int(body.n)}}}
policies: [{name: p, watch: pay, key: ip, metric: sum(n), window: 1m, then: [{over: 10, do: deny}]}]
)");
  const auto pay = [](int n) {
    return TestRequest("POST /pay").json("{\"n\": " + std::to_string(n) + "}");
  };
  EXPECT_EQ(world.send(pay(10)), "pass");
  EXPECT_EQ(world.send(pay(-10)), "pass");
  EXPECT_EQ(world.send(pay(1)), "deny") << "the negative amount was not applied";
  EXPECT_EQ(world.stats.totals("policy", "p").amounts_refused, 1u);
}

TEST(Guard, AGuardedRequestReadsWithoutCounting) {
  World world(R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
  checkout: {match: POST /checkout}
policies:
  - {name: p, watch: failed, guard: checkout, key: ip, window: 1h, then: [{over: 2, do: deny}]}
)");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.send(TestRequest("POST /login"), 401), "pass");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(world.send(TestRequest("POST /checkout")), "deny");
  EXPECT_EQ(world.send(TestRequest("POST /login"), 401), "pass")
      << "the verdict is for checkouts only";
}

TEST(InFlight, CountsWhatHasNoAnswerYet) {
  World world(R"(
policies: [{name: p, watch: request, key: ip, metric: in_flight, then: [{over: 2, do: deny}]}]
)");
  auto a = world.judge(TestRequest("GET /"));
  auto b = world.judge(TestRequest("GET /"));
  EXPECT_EQ(world.judge(TestRequest("GET /")).effect, "deny");
  world.answer(*a.judgement, 200);
  EXPECT_EQ(world.judge(TestRequest("GET /")).effect, "pass");
  EXPECT_EQ(world.judge(TestRequest("GET /")).effect, "deny");
}

TEST(Delay, HoldsTheRequestAndTellsTheApp) {
  World world(R"(
policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: 1, do: delay, hold: 2s}]}]
)");
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  const auto judged = world.judge(TestRequest("GET /"));
  EXPECT_EQ(judged.effect, "delay");
  EXPECT_EQ(judged.hold, seconds(2));
  EXPECT_EQ(judged.upstream,
            "X-Weir-Verdict: delay\r\nX-Weir-Policy: p;value=2;limit=1;window=60\r\n");
}

TEST(Shadow, HoldsWithoutAnEffect) {
  World world(R"(
policies:
  - {name: p, mode: shadow, watch: request, key: ip, window: 1m, then: [{over: 1, do: deny, for: 1h}]}
  - {name: q, watch: request, key: ip, window: 1m, then: [{over: 4, do: flag}]}
)");
  std::string effects;
  for (int i = 0; i < 6; ++i) effects += world.send(TestRequest("GET /")) + " ";
  EXPECT_EQ(effects, "pass pass pass pass flag flag ");
  EXPECT_EQ(world.stats.totals("policy", "p").shadows[static_cast<std::size_t>(Action::deny)], 1u);
  EXPECT_GT(
      world.stats.totals("list", "p:deny:shadow").shadows[static_cast<std::size_t>(Action::deny)],
      3u)
      << "what it would have refused by its own list";
}

TEST(Tell, SaysMoreOrLess) {
  const auto refused = [](const std::string& rung) {
    World world(
        "policies: [{name: quota, watch: request, key: ip, window: {every: 1h}, then: [{over: 0, "
        "do: deny" +
        rung + "}]}]\n");
    world.now = from_ms(1'800'000'000'000 + 600'000);
    return world.judge(TestRequest("GET /"));
  };
  const auto retry = refused("");
  EXPECT_EQ(retry.status, 429);
  EXPECT_EQ(retry.response, "Retry-After: 3000\r\n") << "the hour ends in fifty minutes";
  EXPECT_EQ(retry.body, "");
  const auto full = refused(", tell: full");
  EXPECT_EQ(full.response,
            "Retry-After: 3000\r\nRateLimit-Policy: \"quota\";q=0;w=3600\r\nRateLimit: "
            "\"quota\";r=0;t=3000\r\n");
  EXPECT_EQ(full.body,
            "{\"type\":\"https://iana.org/assignments/"
            "http-problem-types#quota-exceeded\",\"title\":\"Too Many "
            "Requests\",\"status\":429,\"violated-policies\":[\"quota\"]}\n");
  const auto nothing = refused(", tell: nothing");
  EXPECT_EQ(nothing.status, 403);
  EXPECT_EQ(nothing.response, "");
}

TEST(Challenge, AnswersAsConfigured) {
  const auto challenged = [](const std::string& challenge, const std::string& rung) {
    World world(challenge +
                "policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: 0, do: "
                "challenge" +
                rung + "}]}]\n");
    return world.judge(TestRequest("GET /"));
  };
  EXPECT_EQ(challenged("", "").status, 403);
  const auto own = challenged("challenge: {status: 401, body: hi}\n", "");
  EXPECT_EQ(own.status, 401);
  EXPECT_EQ(own.body, "hi");
  EXPECT_EQ(challenged("challenge: {status: 401}\n", ", tell: nothing").status, 401);
  EXPECT_EQ(challenged("challenge: {status: 401}\n", ", status: 418").status, 418);
  const auto sent = challenged("challenge: {redirect: /captcha}\n", ", status: 418");
  EXPECT_EQ(sent.status, 302);
  EXPECT_EQ(sent.response, "Location: /captcha\r\nCache-Control: no-store\r\n");
  EXPECT_EQ(challenged("challenge: {redirect: /captcha, status: 307}\n", "").status, 307);
  // Of its own list too.
  World world(
      "challenge: {status: 401}\n"
      "policies: [{name: p, watch: request, key: ip, window: 1m, then: [{over: 0, do: challenge, "
      "for: "
      "1h}]}]\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(world.judge(TestRequest("GET /")).status, 401) << i;
}

TEST(Missing, DenyRefusesANegativeAmountToo) {
  for (const char* mode : {"enforce", "shadow"}) {
    World world(
        "events: {e: {match: POST /e, fields: {n: int(query.n)}}}\n"
        "policies: [{name: p, mode: " +
        std::string(mode) +
        ", watch: e, key: ip, metric: sum(n), window: 1h, missing: deny, then: [{over: 5, do: "
        "deny}]}]\n");
    const int refused = mode == std::string_view("enforce") ? 403 : 0;
    EXPECT_EQ(world.judge(TestRequest("POST /e?n=-5")).status, refused) << mode;
    EXPECT_EQ(world.judge(TestRequest("POST /e")).status, refused) << mode;
    EXPECT_EQ(world.stats.totals("policy", "p").amounts_refused, refused == 403 ? 1U : 0U)
        << "amounts are checked where a rung refuses";
    EXPECT_EQ(world.judge(TestRequest("POST /e?n=5")).status, 0) << mode;
  }
}

TEST(Announce, TellsTheQuotaOnPassingAnswers) {
  World world(
      "policies: [{name: api, announce: true, watch: request, key: ip, window: {every: 1h}, then: "
      "[{over: 5, do: deny}]}]\n");
  world.now = from_ms(1'800'000'000'000);
  world.send(TestRequest("GET /"));
  EXPECT_EQ(world.judge(TestRequest("GET /")).response,
            "RateLimit-Policy: \"api\";q=5;w=3600\r\nRateLimit: \"api\";r=3;t=3600\r\n");
}

TEST(Announce, TellsWhatIsLeftOfANaturalDay) {
  World world(
      "policies: [{name: api, announce: true, watch: request, key: ip, window: {calendar: day, tz: "
      "Europe/Berlin}, then: [{over: 1, do: deny, tell: full}]}]\n");
  world.now = from_ms(1'792'879'200'000);  // 2026-10-25 00:00 there: the day has 25 hours
  world.wall_offset = hours(-1);           // the day before, an hour to go
  EXPECT_EQ(world.judge(TestRequest("GET /")).response,
            "RateLimit-Policy: \"api\";q=1;w=86400\r\nRateLimit: \"api\";r=0;t=3600\r\n");
  world.wall_offset = hours(1);
  EXPECT_EQ(world.judge(TestRequest("GET /")).response,
            "RateLimit-Policy: \"api\";q=1;w=90000\r\nRateLimit: \"api\";r=0;t=86400\r\n");
  EXPECT_EQ(world.judge(TestRequest("GET /")).response,
            "Retry-After: 86400\r\nRateLimit-Policy: \"api\";q=1;w=90000\r\nRateLimit: "
            "\"api\";r=0;t=86400\r\n");
}

TEST(Announce, PromisesNothingThatIsRefused) {
  World world(
      "tables: {most: {by: k, values: {a: unlimited}}}\n"
      "events: {e: {match: POST /e, fields: {n: double(query.n), k: query.k}}}\n"
      "policies: [{name: api, announce: true, watch: e, key: ip, metric: sum(n), window: {every: "
      "1h}, then: [{over: 2, do: deny}]},\n"
      "  {name: free, announce: true, watch: e, key: ip, window: 1h, then: [{over: most, do: "
      "deny}]}]\n");
  world.now = from_ms(1'800'000'000'000);
  EXPECT_EQ(world.judge(TestRequest("POST /e?n=0.25&k=a")).response,
            "RateLimit-Policy: \"api\";q=2;w=3600\r\nRateLimit: \"api\";r=1;t=3600\r\n")
      << "0.25 of 2 leaves one whole; what is unlimited has no quota";
}

TEST(Windows, EveryFollowsTheWallClockAndLastDoesNot) {
  World world(R"(
policies:
  - {name: fixed, watch: request, key: ip, window: {every: 1h}, then: [{over: 1, do: flag}]}
  - {name: sliding, watch: request, key: header.x_s, window: 1h, then: [{over: 1, do: flag}]}
)");
  EXPECT_EQ(world.send(TestRequest("GET /").header("X-S", "1")), "pass");
  world.wall_offset = hours(1);  // the clock is set forward
  EXPECT_EQ(world.send(TestRequest("GET /")), "pass") << "a new hour by the wall";
  EXPECT_EQ(world.send(TestRequest("GET /", "192.0.2.1").header("X-S", "1")), "flag")
      << "but the trailing hour has not passed";
}

TEST(ResponseBody, OutcomesReadTheAnswersBody) {
  World world(R"(
events:
  pay: {match: POST /pay}
  declined: {is: pay, when: 'response.body.result == "declined"'}
policies: [{name: p, watch: declined, key: ip, window: 1h, then: [{over: 1, do: deny}]}]
)");
  for (int i = 0; i < 3; ++i) {
    auto judged = world.judge(TestRequest("POST /pay"));
    EXPECT_EQ(judged.effect, "pass");
    EXPECT_TRUE(judged.judgement->needs_answer_body());
    world.answer(*judged.judgement, 200, R"({"result": "fine"})");
  }
  auto judged = world.judge(TestRequest("POST /pay"));
  world.answer(*judged.judgement, 200, R"({"result": "declined"})");
  EXPECT_EQ(world.judge(TestRequest("POST /pay")).effect, "deny");
}

}  // namespace
}  // namespace weir::policies::driver_test
