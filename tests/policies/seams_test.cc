#include <gtest/gtest.h>

#include <algorithm>

#include "tests/policies/world.h"

// Two features of one policy at a time: each works beside the other.
namespace weir::policies::seams_test {
namespace {

TEST(Seams, AResetWithoutItsKeyPartEmptiesTheKeyOfAllThatLackIt) {
  World world(R"(
events: {try: {match: POST /try}, back: {match: POST /back}}
policies: [{name: p, watch: try, key: [ip, header.x_user], missing: same, window: 1h, reset: back, then: [{over: 2, do: flag}]}]
)");
  for (const bool named : {false, true}) {
    const auto send = [&](const char* line) {
      TestRequest request(line);
      return world.send(named ? std::move(request.header("X-User", "ann")) : std::move(request));
    };
    EXPECT_EQ(send("POST /try"), "pass") << named;
    EXPECT_EQ(send("POST /try"), "pass") << named;
    EXPECT_EQ(send("POST /back"), "pass") << named;
    EXPECT_EQ(send("POST /try"), "pass") << named << ": the reset has emptied the count";
    EXPECT_EQ(send("POST /try"), "pass") << named;
    EXPECT_EQ(send("POST /try"), "flag") << named;
  }
}

/// A caller over a limit does not escape by omitting the amount.
TEST(Seams, WithMissingSameTheRungsReadWhatIsCountedWithoutTheAmount) {
  for (const std::string metric : {"sum(gold)", "max(gold)", "avg(gold)", "last(gold)"}) {
    for (const std::string more :
         {"", ", {do: flag, if: 'value > 1000'}"}) {       // short form, and not
      const bool looks_back = metric.starts_with("last");  // the value before this event
      const std::string rung = looks_back ? "{if: 'value > 3', do: deny}" : "{over: 3, do: deny}";
      World world(R"(
events: {buy: {match: POST /buy, fields: {user: body.user, gold: int(body.gold)}}}
policies: [{name: p, watch: buy, key: user, metric: )" +
                  metric + ", missing: same, charge: always, window: 1h, then: [" + rung + more +
                  "]}]\n");
      const auto buy = [&](const char* body) {
        return world.send(std::move(TestRequest("POST /buy").json(body)));
      };
      EXPECT_EQ(buy(R"({"user":"a","gold":2})"), "pass") << metric;
      EXPECT_EQ(buy(R"({"user":"a"})"), "pass") << metric;
      EXPECT_EQ(buy(R"({"user":"a","gold":9})"), looks_back ? "pass" : "deny") << metric;
      EXPECT_EQ(buy(R"({"user":"a"})"), "deny") << metric;
      EXPECT_EQ(buy(R"({"user":"b"})"), "pass") << metric;
    }
  }
}

TEST(Seams, WithMissingSameAllThatLackAMemberAreOne) {
  World world(R"(
events: {login: {match: POST /login, fields: {user: body.user, device: body.device}}}
policies: [{name: p, watch: login, key: user, metric: distinct(device), missing: same, window: 1h, then: [{over: 2, do: deny}]}]
)");
  const auto login = [&](const char* body) {
    return world.send(std::move(TestRequest("POST /login").json(body)));
  };
  EXPECT_EQ(login(R"({"user":"a","device":"x"})"), "pass");
  EXPECT_EQ(login(R"({"user":"a"})"), "pass");
  EXPECT_EQ(login(R"({"user":"a"})"), "pass") << "the same member";
  EXPECT_EQ(login(R"({"user":"a","device":"y"})"), "deny") << "the third member";
  EXPECT_EQ(login(R"({"user":"b","device":"x"})"), "pass");
  EXPECT_EQ(login(R"({"user":"b","device":"y"})"), "pass");
  EXPECT_EQ(login(R"({"user":"b"})"), "deny") << "the third member";
}

TEST(Seams, OfSeveralWatchedEventsTheOneCountsForWhichWhenHolds) {
  for (const char* watch : {"[api, search]", "[search, api]"}) {
    World world(std::string(R"(
events: {api: {match: "* /api/{what}"}, search: {is: api, when: 'path == "/api/search"'}}
policies: [{name: p, watch: )") +
                watch +
                R"(, when: 'event == "search"', key: ip, window: 1h, then: [{over: 1, do: flag}]}]
)");
    EXPECT_EQ(world.send(TestRequest("GET /api/search")), "pass") << watch;
    EXPECT_EQ(world.send(TestRequest("GET /api/other")), "pass") << watch;
    EXPECT_EQ(world.send(TestRequest("GET /api/search")), "flag") << watch;
  }
}

TEST(Seams, MetersCountTheEventForWhichTheirWhenHolds) {
  for (const char* watch : {"[api, search]", "[search, api]"}) {
    World world(std::string(R"(
events: {api: {match: "* /api/{what}"}, search: {is: api, when: 'path == "/api/search"'}}
policies:
  - name: p
    watch: api
    key: ip
    metrics: {searches: {watch: )") +
                watch + R"(, when: 'event == "search"', window: 1h}}
    then: [{if: 'searches > 1', do: flag}]
)");
    EXPECT_EQ(world.send(TestRequest("GET /api/search")), "pass") << watch;
    EXPECT_EQ(world.send(TestRequest("GET /api/other")), "pass") << watch;
    EXPECT_EQ(world.send(TestRequest("GET /api/search")), "flag") << watch;
  }
}

TEST(Seams, RungsOfOneWindowReadOneCounterAndClearItForAll) {
  World world(R"(
policies:
  - {name: own, watch: request, key: ip, window: 10m, then: [{over: 2, in: 1m, clear: true, do: flag}, {at: 100, do: flag}]}
  - {name: same, watch: request, key: ip, window: 1m, then: [{over: 2, in: 1m, clear: true, do: flag}, {over: 3, do: deny}]}
  - {name: twice, watch: request, key: ip, window: 10m, then: [{over: 2, in: 1m, clear: true, do: flag}, {over: 3, in: 1m, do: deny}]}
)");
  std::string effects;
  for (int i = 0; i < 9; ++i) {
    world.now += milliseconds{1000};
    effects += world.send(TestRequest("GET /")) + " ";
  }
  EXPECT_EQ(effects, "pass pass flag pass pass flag pass pass flag ");
  const auto counters = [&](std::string_view name) {
    auto all = world.set_->find_policy(name)->counters;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all.size();
  };
  EXPECT_EQ(counters("own"), 2U);
  EXPECT_EQ(counters("same"), 1U);
  EXPECT_EQ(counters("twice"), 2U);
}

/// Policies that count the same thing share one counter: the effects of one must not be
/// visible to another.
TEST(Seams, APolicyRefusesTheSameRequestsBesideOneThatCountsTheSame) {
  const std::string windows[] = {"{leaky: 3, drain: 1h}", "1h", "{last: 1h, exact: true}",
                                 "{every: 1h}", "{rate: 1/h, burst: 3}"};
  const std::string neighbours[] = {"then: [{do: flag}]",
                                    "then: [{do: flag, if: 'value > 1'}]",
                                    "then: [{do: flag, mode: shadow}]",
                                    "mode: shadow, then: [{do: deny}]",
                                    "then: [{over: 1, do: flag, clear: true}]",
                                    "then: [{over: 1, do: flag}], charge: always",
                                    "then: [{under: 2, do: flag}]"};
  for (const std::string& window : windows) {
    const std::string strict = "- {name: strict, watch: request, key: ip, window: " + window +
                               ", then: [{over: 2, do: challenge}]}\n";
    const auto refused = [&](const std::string& policies) {
      World world("policies:\n" + policies);
      std::string out;
      for (int i = 0; i < 9; ++i) {
        world.now += milliseconds{1'000};
        out += world.send(TestRequest("GET /")) == "challenge" ? "x" : ".";
      }
      return out;
    };
    const std::string alone = refused(strict);
    EXPECT_EQ(alone.substr(0, 2), "..") << window;
    EXPECT_NE(alone.find('x'), std::string::npos) << window;
    for (const std::string& neighbour : neighbours) {
      const bool needs_bucket =
          neighbour.starts_with("then: [{do:") || neighbour.starts_with("mode: shadow");
      if (needs_bucket && window.find("leaky") == std::string::npos) continue;
      if (window.find("rate") != std::string::npos && neighbour.find("under") != std::string::npos)
        continue;
      const std::string other =
          "- {name: other, watch: request, key: ip, window: " + window + ", " + neighbour + "}\n";
      EXPECT_EQ(refused(strict + other), alone) << other;
      EXPECT_EQ(refused(other + strict), alone) << other;
    }
  }
}

TEST(Seams, AShadowRungOnANamedListThatDeniesIsCountedAsDenying) {
  World world(R"(
lists: {bans: {kind: deny, of: ip}}
policies: [{name: p, watch: request, key: ip, window: 1h, mode: shadow, then: [{over: 2, do: graylist, list: bans, for: 1h}]}]
)");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
  const auto counts = [&](Action action) {
    std::uint64_t sum = 0;
    for (const char* kind : {"policy", "list"}) {
      world.stats.each(kind, [&](const std::string&, const StatsBank::Totals& totals) {
        sum += totals.shadows[static_cast<std::size_t>(action)];
      });
    }
    return sum;
  };
  EXPECT_EQ(counts(Action::graylist), 0u);
  EXPECT_GE(counts(Action::deny), 3u);
}

TEST(Seams, WhatNobodyCanReadIsNotEvenATry) {
  World world(R"(
events: {buy: {match: POST /buy, fields: {user: body.user}}}
policies:
  - {name: tries, watch: buy, key: ip, window: 1h, charge: always, then: [{over: 1, do: flag}]}
  - {name: buyers, watch: buy, key: user, missing: deny, window: 1h, then: [{over: 2, do: deny}]}
)");
  const auto send = [&](const char* body) {
    return world.send(TestRequest("POST /buy").json(body));
  };
  for (const char* body : {"{}", "{\"user\":", "{\"user\":1,\"User\":2}"}) {
    EXPECT_EQ(send(body), "defect") << body;
    EXPECT_EQ(send(body), "defect") << body;
  }
  EXPECT_EQ(send(R"({"user":"ann"})"), "pass");
  EXPECT_EQ(send(R"({"user":"ann"})"), "flag");
  EXPECT_EQ(send(R"({"user":"ann"})"), "deny") << "refused by a limit: a try";
}

TEST(Seams, APolicyAndItsOwnListAreNamedOnce) {
  World world(R"(
lists: {grays: {of: ip, kind: gray, entries: [203.0.113.7]}}
policies:
  - {name: a, watch: request, key: ip, window: 1h, then: [{over: 1, do: flag}, {over: 2, do: graylist, for: 1h}]}
  - {name: b, watch: request, key: ip, window: 1h, then: [{at: 4, do: flag}]}
)");
  const auto policies_of = [&] {
    TestRequest request("GET /");
    const std::string told = world.judge(request).upstream;
    const auto from = told.find("X-Weir-Policy: ") + 15;
    return told.substr(from, told.find('\r', from) - from);
  };
  EXPECT_EQ(policies_of(), "grays");
  EXPECT_EQ(policies_of(), "grays, a;value=2;limit=1;window=3600");
  EXPECT_EQ(policies_of(), "grays, a;value=3;limit=2;window=3600");
  EXPECT_EQ(policies_of(), "grays, a;value=4;limit=2;window=3600, b;value=4;limit=4;window=3600");
}

}  // namespace
}  // namespace weir::policies::seams_test
