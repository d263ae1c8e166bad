#include "tests/policies/world.h"

/// Odd but plausible policies: their meaning, and the words of `check` about those without one.
namespace weir::policies::meaning_test {
namespace {

using std::chrono::hours;
using Effects = std::vector<std::string>;

Effects send(World& world, const std::string& line, std::initializer_list<int> statuses) {
  Effects out;
  for (const int status : statuses) out.push_back(world.send(TestRequest(line), status));
  return out;
}

/// Errors and warnings of a file.
std::vector<std::string> problems_of(const std::string& yaml) {
  config::Problems problems;
  const config::Model model = config::parse({{"test.yaml", "weir: 1\n" + yaml}}, {}, problems);
  if (!problems.has_errors()) compile(model, problems);
  std::vector<std::string> out;
  for (const config::Problem& problem : problems.all()) out.push_back(problem.message);
  return out;
}

/// The contents of the views' windows: `bad=3`.
std::vector<std::string> rows_of(World& world, std::size_t view) {
  std::vector<std::string> out;
  world.set_->views[view].live->flush([&](const limiter::ViewWindow& window) {
    for (const limiter::ViewRow& row : window.rows) {
      std::string text;
      limiter::for_each_part(row.parts, [&](std::string_view part) { text += part; });
      out.push_back(text + "=" + row.value.to_string());
    }
  });
  return out;
}

const std::string kAnswers =
    "events:\n"
    "  a: {match: '* /a'}\n"
    "  bad: {is: a, when: 'status >= 400'}\n"
    "  ok: {is: a, when: 'status < 400'}\n";

TEST(EventName, IsThatOfTheEventWhoeverElseReadsIt) {
  World world(
      kAnswers +
      "policies:\n"
      "  - {name: b, watch: bad, when: 'event == \"bad\" && status != 418', key: ip, window: "
      "2h, then: [{over: 2, do: deny, for: 1h}]}\n"
      "  - {name: c, watch: bad, key: [ip, event], window: 3h, then: [{over: 100, do: flag}]}\n"
      "  - {name: r, watch: request, when: 'event != \"x\"', then: [{if: 'method == "
      "\"DELETE\"', do: deny}]}\n"
      "views: [{name: v, watch: [bad, ok], by: event, window: {every: 1h}}]\n");
  EXPECT_EQ(send(world, "GET /a", {404, 200, 404, 200}), (Effects{"pass", "pass", "pass", "deny"}));
  EXPECT_EQ(rows_of(world, 0), (std::vector<std::string>{"bad=2", "ok=1"}));
}

TEST(ToldApart, WhatTheAnswerTellsApartMustBeReadAlike) {
  const std::string events =
      "events:\n"
      "  a: {match: '* /a', fields: {user: query.u}}\n"
      "  ok: {is: a, when: 'status < 400', fields: {w: '1'}}\n"
      "  bad: {is: a, when: 'status >= 400', fields: {w: '5'}}\n";
  const auto policy = [&](const std::string& rest) {
    return problems_of(events + "policies: [{name: p, watch: [ok, bad], " + rest +
                       ", window: 1h, then: [{over: 9, do: flag}]}]\n");
  };
  EXPECT_TRUE(policy("key: ip").empty());
  EXPECT_TRUE(policy("key: user, when: 'status != 304'").empty());
  EXPECT_TRUE(policy("key: user, when: 'event == \"ok\" || status == 404'").empty())
      << "asked when the answer is here";
  for (const char* apart : {"key: ip, metric: sum(w)", "key: [ip, event]", "key: w",
                            "key: ip, when: 'w > 2'", "key: ip, when: 'event == \"ok\"'"}) {
    const auto problems = policy(apart);
    ASSERT_EQ(problems.size(), 1U) << apart;
    EXPECT_NE(problems[0].find("the answer tells \"bad\" from \"ok\""), std::string::npos);
  }
}

TEST(ShadowRungs, EmptyNothingThatOthersRead) {
  World world(
      "policies: [{name: p, watch: request, key: ip, window: 1h, then: [{at: 3, do: flag, clear: "
      "true, "
      "mode: shadow}, {over: 5, do: deny}]}]\n");
  EXPECT_EQ(send(world, "GET /", {200, 200, 200, 200, 200, 200}),
            (Effects{"pass", "pass", "pass", "pass", "pass", "deny"}));
}

TEST(Clear, EmptiesTheNumberOfItsPolicyOnly) {
  World world(
      "policies:\n"
      "  - {name: clears, watch: request, key: ip, window: 1h, then: [{at: 3, do: flag, clear: "
      "true}]}\n"
      "  - {name: denies, watch: request, key: ip, window: 1h, then: [{over: 5, do: deny}]}\n");
  EXPECT_EQ(send(world, "GET /", {200, 200, 200, 200, 200, 200}),
            (Effects{"pass", "pass", "flag", "pass", "pass", "deny"}));
}

TEST(Extremes, OfTheAmountsInTheWindowAreWhatARungCompares) {
  const auto effects = [](const std::string& metric, const std::string& rung) {
    World world(
        "events: {pay: {match: GET /pay, fields: {n: int(query.n)}}}\n"
        "policies: [{name: p, watch: pay, key: ip, " +
        metric + ", window: 1m, then: [{" + rung + ", do: flag}]}]\n");
    Effects out;
    for (const int n : {5, 9, 2}) {
      world.now += milliseconds{1'000};
      out.push_back(world.send(TestRequest("GET /pay?n=" + std::to_string(n)), 200));
    }
    world.now += milliseconds{62'000};
    out.push_back(world.send(TestRequest("GET /pay?n=5"), 200));
    return out;
  };
  EXPECT_EQ(effects("metric: max(n)", "over: 8"), (Effects{"pass", "flag", "flag", "pass"}));
  EXPECT_EQ(effects("metric: min(n)", "under: 3"), (Effects{"pass", "pass", "flag", "pass"}));
}

TEST(Clear, NeedsACounter) {
  EXPECT_EQ(
      problems_of("policies: [{name: p, watch: request, key: ip, metrics: {x: {watch: request, "
                  "metric: count, window: 1h}}, then: [{if: 'x > 2', do: flag, clear: true}]}]\n")
          .size(),
      1U);
  EXPECT_EQ(
      problems_of("policies: [{name: p, watch: request, key: ip, then: [{if: 'true', do: flag, "
                  "clear: true}]}]\n")
          .size(),
      1U);
}

TEST(Reset, EmptiesEachOfTheMetrics) {
  World world(
      "events: {login: {match: 'POST /login'}, right: {is: login, when: 'status == 200'}}\n"
      "policies: [{name: p, watch: login, key: ip, reset: right, metrics: {x: {watch: login, "
      "metric: "
      "count, window: 1h}}, then: [{if: 'x > 2', do: flag}]}]\n");
  EXPECT_EQ(send(world, "POST /login", {401, 401, 401}), (Effects{"pass", "pass", "flag"}));
  EXPECT_EQ(send(world, "POST /login", {200}), (Effects{"flag"}));
  EXPECT_EQ(send(world, "POST /login", {401, 401, 401}), (Effects{"pass", "pass", "flag"}));
}

TEST(NegativeAmounts, AreNotTakenThroughAnotherPolicyOfTheSameNumber) {
  const auto pay = [](World& world, int n) {
    return world.send(TestRequest("GET /?n=" + std::to_string(n)));
  };
  World shared(
      "fields: {n: int(query.n)}\n"
      "policies:\n"
      "  - {name: a, watch: request, key: ip, metric: sum(n), window: 1h, then: [{over: 500, do: "
      "flag}]}\n"
      "  - {name: b, watch: request, key: ip, metric: sum(n), window: 1h, then: [{over: 100, do: "
      "deny}]}\n");
  EXPECT_EQ(pay(shared, 60), "pass");
  EXPECT_EQ(pay(shared, -500), "pass");
  EXPECT_EQ(pay(shared, 60), "deny");
  World named(
      "fields: {n: int(query.n)}\n"
      "policies: [{name: p, watch: request, key: ip, metrics: {s: {watch: request, metric: sum(n), "
      "window: "
      "1h}}, then: [{if: 's > 100', do: deny}]}]\n");
  EXPECT_EQ(pay(named, 60), "pass");
  EXPECT_EQ(pay(named, -500), "pass");
  EXPECT_EQ(pay(named, 60), "deny");
}

TEST(LeakyBucket, ARungWithoutThresholdNeedsTheOverflowAndItsIf) {
  World world(
      "policies: [{name: p, watch: request, key: ip, window: {leaky: 2, drain: 1h}, then: [{if: "
      "'path == "
      "\"/b\"', do: flag}]}]\n");
  EXPECT_EQ(send(world, "GET /b", {200, 200}), (Effects{"pass", "pass"}));
  EXPECT_EQ(send(world, "GET /a", {200}), (Effects{"pass"}));
  EXPECT_EQ(send(world, "GET /b", {200}), (Effects{"flag"}));
  EXPECT_EQ(send(world, "GET /b", {200, 200, 200}), (Effects{"pass", "pass", "flag"})) << "emptied";
}

TEST(FromFirst, AWindowBeginsWithItsFirstEventAlsoIfThatCountedNothing) {
  World world(
      "fields: {n: int(query.n)}\n"
      "policies:\n"
      "  - {name: s, watch: request, key: ip, metric: sum(n), window: {every: 7s, from: first}, "
      "then: [{over: "
      "5, do: flag}]}\n"
      "  - {name: d, watch: request, when: 'query.deny == \"1\"', then: [{if: 'true', do: "
      "deny}]}\n");
  const auto at = [&](int second, const char* query) {
    world.now = from_ms(1'800'000'000'000) + milliseconds{second * 1'000};
    return world.send(TestRequest(std::string("GET /?") + query));
  };
  EXPECT_EQ(at(1, "n=0"), "pass");
  EXPECT_EQ(at(3, "n=1&deny=1"), "deny") << "and is taken back";
  EXPECT_EQ(at(6, "n=5"), "pass");
  EXPECT_EQ(at(9, "n=1"), "pass") << "the window that began at 1 is over";
}

TEST(Guard, NeedsNoAmountOfTheGuardedEvent) {
  World world(
      "events: {reward: {match: 'POST /reward', fields: {gold: int(query.g)}}, withdraw: {match: "
      "'POST "
      "/withdraw'}}\n"
      "policies: [{name: p, watch: reward, guard: withdraw, key: ip, metric: sum(gold), window: "
      "1h, then: "
      "[{over: 5, do: deny}]}]\n");
  EXPECT_EQ(send(world, "POST /reward?g=6", {200}), (Effects{"pass"}));
  EXPECT_EQ(send(world, "POST /withdraw", {200}), (Effects{"deny"}));
}

TEST(Last, IsJudgedForTextsThatAreTooLongToRemember) {
  World world(
      "policies: [{name: p, watch: request, key: ip, metric: 'last(header.user_agent)', window: "
      "1h, then: "
      "[{if: 'value != header.user_agent', do: flag}]}]\n");
  const auto with = [&](const std::string& agent) {
    return world.send(TestRequest("GET /").header("User-Agent", agent));
  };
  EXPECT_EQ(with("a"), "flag") << "nothing was before it";
  EXPECT_EQ(with("a"), "pass");
  EXPECT_EQ(with(std::string(300, 'b')), "flag");
}

TEST(Tables, UnlimitedNeverHoldsAnUnderRung) {
  World world(
      "fields: {app: query.app}\n"
      "tables: {least: {by: app, values: {free: unlimited, '*': 3}}}\n"
      "policies: [{name: p, watch: request, key: app, window: 1h, then: [{under: least, do: "
      "flag}]}]\n");
  EXPECT_EQ(world.send(TestRequest("GET /?app=free")), "pass");
  EXPECT_EQ(world.send(TestRequest("GET /?app=paid")), "flag");
}

TEST(Tables, KeysThatAreNeverLookedUpAreErrors) {
  const auto table = [](const std::string& by, const std::string& key) {
    return problems_of(
        "fields: {n: int(query.n), d: double(query.d), b: bool(query.b), t: query.t}\n"
        "tables: {t: {by: " +
        by + ", values: {" + key +
        ": 3, '*': 4}}}\n"
        "policies:\n"
        "  - {name: p, watch: request, key: ip, window: 1h, then: [{over: t, do: flag}]}\n"
        "  - {name: q, watch: request, key: ip, window: 2h, then: [{over: t, do: flag}]}\n");
  };
  for (const auto& [by, key] : {std::pair{"n", "'008'"},
                                {"n", "1e3"},
                                {"n", "abc"},
                                {"d", "2.0"},
                                {"d", "'1.50'"},
                                {"b", "'True'"},
                                {"ip", "10.0.0.0/8"},
                                {"ip", "'2001:DB8::1'"}}) {
    ASSERT_EQ(table(by, key).size(), 1U) << by << " " << key;
    EXPECT_NE(table(by, key)[0].find("is never looked up"), std::string::npos);
  }
  for (const auto& [by, key] : {std::pair{"n", "'8'"},
                                {"d", "1.5"},
                                {"d", "2"},
                                {"b", "'true'"},
                                {"t", "'2.0'"},
                                {"ip", "'2001:db8::1'"}}) {
    EXPECT_TRUE(table(by, key).empty()) << by << " " << key;
  }
}

TEST(Segments, AreReadDecodedAsApplicationsReadThem) {
  World world(
      "events:\n"
      "  by_path: {match: 'POST /api/{user}'}\n"
      "  by_body: {match: POST /api, fields: {user: body.user}}\n"
      "  by_number: {match: 'POST /n/{id}', fields: {number: int(id)}}\n"
      "  by_name: {match: 'POST /t/{id}', fields: {trimmed: id.trim()}}\n"
      "policies:\n"
      "  - {name: p, watch: [by_path, by_body], key: user, window: 1h, then: [{over: 1, do: "
      "deny}]}\n"
      "  - {name: n, watch: by_number, key: number, window: 1h, missing: skip, then: [{over: 9, "
      "do: deny}]}\n"
      "  - {name: t, watch: by_name, key: trimmed, window: 1h, then: [{over: 1, do: deny}]}\n");
  EXPECT_EQ(world.send(TestRequest("POST /api/ali%C3%A9")), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /api").json("{\"user\":\"ali\xc3\xa9\"}")), "deny")
      << "one key";
  EXPECT_EQ(world.send(TestRequest("POST /api/a%2541")), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /api").json(R"({"user":"a%41"})")), "deny") << "once";
  EXPECT_EQ(world.send(TestRequest("POST /api/x+y")), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /api").json(R"({"user":"x+y"})")), "deny");
  EXPECT_EQ(world.send(TestRequest("POST /api/%FF%E9")), "pass") << "bytes that are not UTF-8";
  EXPECT_EQ(world.send(TestRequest("POST /api/%FF%E9")), "deny");
  EXPECT_EQ(world.send(TestRequest("POST /n/%207")), "defect") << "some read 7";
  EXPECT_EQ(world.send(TestRequest("POST /n/7")), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /t/bob")), "pass");
  EXPECT_EQ(world.send(TestRequest("POST /t/bob%20")), "deny");
  EXPECT_EQ(world.send(TestRequest("POST /t/%C2%A0bob")), "deny");
}

TEST(Headers, AreOneWhateverStandsBetweenTheirLettersAndDigits) {
  for (const char mark : std::string_view("!#$%&'*+.^_`|~")) {
    World world(
        "policies: [{name: p, watch: request, key: header.x_user_id, missing: deny, window: 1h, "
        "then: [{over: 1, do: deny}]}]\n");
    const std::string alias = std::string("X") + mark + "User" + mark + "Id";
    EXPECT_EQ(world.send(TestRequest("GET /").header("X-User-Id", "alice")), "pass");
    EXPECT_EQ(world.send(TestRequest("GET /").header(alias, "alice")), "deny") << mark;
    TestRequest both("GET /");
    both.header("X-User-Id", "r1").header(alias, "alice");
    EXPECT_EQ(world.send(both), "defect") << mark;
  }
}

// A policy that names an odd spelling itself reads the same lines as one that names the plain one.
TEST(Headers, AreOneAlsoForAPolicyThatNamesAnOddSpelling) {
  for (const std::string name : {"x_device", "x.device", "x~device"}) {
    const std::string yaml =
        "fields: {device: 'header[\"" + name +
        "\"]'}\npolicies: [{name: p, watch: request, key: device, missing: deny, window: 1h, "
        "then: [{over: 2, do: deny}]}]\n";
    World world(yaml);
    const auto with = [](const std::string& spelling) {
      return TestRequest("GET /").header(spelling, "d1");
    };
    EXPECT_EQ(world.send(with("X-Device")), "pass") << name;
    EXPECT_EQ(world.send(with("x.device")), "pass") << name;
    EXPECT_EQ(world.send(with("X_Device")), "deny") << name << ": the same key";
    for (const char* other : {"X-Device", "X_Device", "X.DEVICE", "x~device"}) {
      EXPECT_EQ(World(yaml).send(with("X.Device").header(other, "d2")), "defect") << name << other;
    }
    EXPECT_EQ(world.send(TestRequest("GET /")), "defect") << name << ": missing: deny";
  }
}

}  // namespace
}  // namespace weir::policies::meaning_test
