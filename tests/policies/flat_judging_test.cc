// The short way of events whose policies need nothing but their keys (FlatJudging) says and counts
// the same as the general way, event by event; and it is taken.
#include <gtest/gtest.h>

#include <random>

#include "core/words.h"
#include "tests/policies/row_lines.h"
#include "tests/policies/world.h"

namespace weir::policies::flat_judging_test {
namespace {

constexpr const char* kFlat = R"(
events:
  login: {match: POST /login, fields: {user: query.user}}
  failed: {is: login, when: 'status in [401, 403]'}
  item: {match: "GET /items/{id}"}
  missed: {is: request, when: status == 404}
policies:
  - {name: requests, watch: request, key: ip, window: 1m, then: [{over: 9, do: flag}, {over: 14, do: deny}]}
  - {name: all, watch: request, window: {every: 1m}, then: [{over: 100, do: flag}]}
  - {name: networks, watch: request, key: ip/24, window: {last: 1m, exact: true}, then: [{at: 12, do: deny}]}
  - {name: users, watch: login, key: user, window: 1m, then: [{over: 3, do: flag}]}
  - {name: members, watch: login, key: ip, window: 1m, metric: distinct(user), then: [{over: 3, do: deny}]}
  - {name: always, watch: login, key: ip, window: 1m, charge: always, then: [{over: 7, do: deny}]}
  - {name: shadow, watch: item, key: id, window: 1m, mode: shadow, then: [{over: 2, do: deny}]}
  - {name: items, watch: item, key: [ip, id], window: 1m, then: [{over: 2, do: flag}]}
  - {name: missed, watch: missed, key: ip, window: 1m, then: [{over: 2, do: flag}, {over: 3, do: deny}]}
  - {name: failed, watch: failed, key: ip, window: 1m, then: [{over: 0, do: flag}, {over: 2, do: deny}]}
  - {name: bans, watch: failed, key: [ip, user], window: 1m, then: [{over: 1, do: graylist, for: 10s}]}
  - {name: tries, watch: login, key: [user, ip], window: 1m, then: [{over: 2, do: deny, for: 20s}]}
  - {name: shadow-tries, watch: login, key: [user, ip/24], window: 1m, mode: shadow, then: [{over: 2, do: deny, for: 20s}]}
  - {name: guesses, watch: failed, key: ip/24, window: 1m, metric: distinct(user), then: [{over: 2, do: flag}]}
)";

/// The result of one event: its verdict and its rows.
std::string send(World& world, TestRequest& request, int status, PlanOf plan_of) {
  RowLines lines;
  Answer answer;
  answer.status = status;
  JudgeOptions options;
  options.may_wait = false;
  options.rows = &lines;
  options.plan_of = plan_of;
  options.answer = &answer;
  const Verdict& verdict = world.start(request.view(world.now), options);
  std::string said(row_of(verdict.effect).name);
  said += " " + std::to_string(verdict.status) + " " + std::to_string(verdict.decider) + " " +
          std::to_string(verdict.hold.count()) + " " + std::to_string(verdict.retry_after.count());
  for (const Standing& standing : verdict.standings) {
    said += "\n";
    said += row_of(standing.effect).name;
    if (standing.policy) said += " " + world.set_->policies[*standing.policy].name;
    said += " " + std::to_string(standing.rung) + " " + std::to_string(standing.window.count());
    if (standing.shadow) said += " shadow";
    if (standing.has_value) append_canonical(said, Value::number(standing.value));
    if (standing.limit) append_canonical(said += " of ", Value::number(*standing.limit));
  }
  if (!world.last->is_open()) return lines.all + said;
  world.driver.answer(*world.last, answer, world.instant());
  world.driver.end(*world.last, world.instant());
  return lines.all + said;
}

/// Events of few callers, of whom some are over their limits, and some lack a part of a key.
struct Events {
  explicit Events(unsigned seed) : random(seed) {}
  int pick(unsigned n) { return static_cast<int>(random() % n); }
  TestRequest next() {
    constexpr int kStatus[] = {200, 200, 200, 200, 401, 403, 404, 500, 0};
    status = kStatus[pick(9)];
    pause = milliseconds{pick(6000)};
    const int what = pick(4);
    line = what == 0   ? "POST /login?user=u" + std::to_string(pick(6))
           : what == 1 ? "GET /items/" + std::to_string(pick(4))
           : what == 2 ? "POST /login"
                       : "GET /" + std::to_string(pick(3));
    return TestRequest(line, "10.0." + std::to_string(pick(3)) + "." + std::to_string(1 + pick(3)));
  }
  std::mt19937 random;
  std::string line;
  int status = 0;
  milliseconds pause{};
};

TEST(FlatJudging, SaysWhatTheGeneralWaySays) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World general(kFlat), flat(kFlat), unread(kFlat);
    flat.driver.count_alone();
    unread.driver.count_alone();
    Events events(seed);
    for (int i = 0; i < 3000; ++i) {
      TestRequest request = events.next();
      general.now = unread.now = flat.now += events.pause;
      const std::string said = send(general, request, events.status, PlanOf::all);
      ASSERT_EQ(send(flat, request, events.status, PlanOf::loud), said)
          << "event " << i << ": " << events.line << ", " << events.status;
      ASSERT_EQ(send(unread, request, events.status, PlanOf::none), said)
          << "event " << i << ": " << events.line << ", " << events.status;
    }
    for (const Policy& policy : general.set_->policies) {
      const auto one = general.stats.totals("policy", policy.name);
      for (const World* const world : {&flat, &unread}) {
        const auto other = world->stats.totals("policy", policy.name);
        EXPECT_EQ(one.events, other.events) << policy.name;
        EXPECT_EQ(one.missing, other.missing) << policy.name;
        EXPECT_EQ(one.verdicts, other.verdicts) << policy.name;
        EXPECT_EQ(one.shadows, other.shadows) << policy.name;
      }
    }
  }
}

TEST(FlatJudging, WritesNoPlanForACalmEvent) {
  World world(kFlat);
  world.driver.count_alone();
  TestRequest request("GET /items/7");
  EXPECT_EQ(send(world, request, 200, PlanOf::loud).substr(0, 38),
            "requests request reading 203.0.113.7 1");
  EXPECT_TRUE(world.plan().policies.empty()) << "no policy asks for more than its key";
  EXPECT_EQ(world.plan().events.size(), 2U);
  EXPECT_NE(send(world, request, 404, PlanOf::loud).find("missed missed reading 203.0.113.7 1"),
            std::string::npos);
  EXPECT_TRUE(world.plan().policies.empty()) << "an outcome has come true, and is settled at once";
  send(world, request, 200, PlanOf::all);
  EXPECT_FALSE(world.plan().policies.empty()) << "somebody reads it";
}

TEST(FlatJudging, WritesNoPlanForAFlagIfNobodyReadsIt) {
  World world(kFlat);
  world.driver.count_alone();
  TestRequest request("GET /");
  for (int i = 0; i < 9; ++i) send(world, request, 200, PlanOf::none);
  EXPECT_NE(send(world, request, 200, PlanOf::none).find("flag requests 0"), std::string::npos);
  EXPECT_TRUE(world.plan().policies.empty());
  EXPECT_NE(send(world, request, 200, PlanOf::loud).find("flag requests 0"), std::string::npos);
  EXPECT_FALSE(world.plan().policies.empty()) << "somebody reads it";
}

TEST(FlatJudging, TrustsNoSilenceWhereOthersCountToo) {
  World world(kFlat);  // not count_alone(): another worker may have raised a reading
  TestRequest request("GET /items/7");
  send(world, request, 200, PlanOf::loud);
  EXPECT_FALSE(world.plan().policies.empty()) << "the outcomes are looked up";
}

TEST(FlatJudging, SeesANewSet) {
  World world(kFlat);
  world.driver.count_alone();
  TestRequest request("GET /items/7");
  send(world, request, 200, PlanOf::loud);
  world.use(R"(policies:
  - {name: other, watch: request, key: ip/8, window: 1m, then: [{over: 1, do: deny}]})");
  EXPECT_EQ(send(world, request, 200, PlanOf::loud),
            "other request reading 203.0.0.0 1\nnone 0 -1 0 0");
  EXPECT_NE(send(world, request, 200, PlanOf::loud).find("deny"), std::string::npos);
}

}  // namespace
}  // namespace weir::policies::flat_judging_test
