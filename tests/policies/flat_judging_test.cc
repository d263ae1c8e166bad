// The short way of events whose policies need nothing but their keys (FlatJudging) says and counts
// what the general way does, event by event; and it is taken.
#include <gtest/gtest.h>

#include <random>

#include "core/words.h"
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

/// Rows as text.
class Lines final : public RowSink {
 public:
  std::string all;
  void reading(const Row& row) override { line(row, "reading"); }
  void verdict(const Row& row, const Rung& rung, std::size_t, std::optional<Number>) override {
    line(row, row_of(rung.action).name);
  }

 private:
  void line(const Row& row, std::string_view what) {
    all += row.policy->name + " " + row.event->name + " " + std::string(what) + " ";
    for (const Value& part : row.key->parts()) append_canonical(all, part);
    all += ' ';
    if (!append_canonical(all, row.value)) all += "null";
    all += '\n';
  }
};

/// What one event comes to: its verdict and its rows.
std::string send(World& world, TestRequest& request, int status, bool needs_plan) {
  Lines lines;
  Answer answer;
  answer.status = status;
  JudgeOptions options;
  options.may_wait = false;
  options.rows = &lines;
  options.needs_plan = needs_plan;
  options.answer = &answer;
  const Verdict& verdict = world.start(request.view(world.now), options);
  lines.all += row_of(verdict.effect).name;
  lines.all +=
      " " + std::to_string(verdict.status) + " " + std::to_string(verdict.standings.size());
  if (!world.last->is_open()) return lines.all;
  world.driver.answer(*world.last, answer, world.instant());
  world.driver.end(*world.last, world.instant());
  return lines.all;
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
    World general(kFlat), flat(kFlat);
    flat.driver.count_alone();
    Events events(seed);
    for (int i = 0; i < 3000; ++i) {
      TestRequest request = events.next();
      general.now = flat.now += events.pause;
      ASSERT_EQ(send(flat, request, events.status, false),
                send(general, request, events.status, true))
          << "event " << i << ": " << events.line << ", " << events.status;
    }
    for (const Policy& policy : general.set_->policies) {
      const auto one = general.stats.totals("policy", policy.name);
      const auto other = flat.stats.totals("policy", policy.name);
      EXPECT_EQ(one.events, other.events) << policy.name;
      EXPECT_EQ(one.missing, other.missing) << policy.name;
    }
  }
}

TEST(FlatJudging, WritesNoPlanForACalmEvent) {
  World world(kFlat);
  world.driver.count_alone();
  TestRequest request("GET /items/7");
  EXPECT_EQ(send(world, request, 200, false).substr(0, 38),
            "requests request reading 203.0.113.7 1");
  EXPECT_TRUE(world.plan().policies.empty()) << "no policy asks for more than its key";
  EXPECT_EQ(world.plan().events.size(), 2U);
  send(world, request, 404, false);
  EXPECT_FALSE(world.plan().policies.empty()) << "an outcome has come true, and is settled";
  send(world, request, 200, true);
  EXPECT_FALSE(world.plan().policies.empty()) << "somebody reads it";
}

TEST(FlatJudging, TrustsNoSilenceWhereOthersCountToo) {
  World world(kFlat);  // not count_alone(): another worker may have raised a reading
  TestRequest request("GET /items/7");
  send(world, request, 200, false);
  EXPECT_FALSE(world.plan().policies.empty()) << "the outcomes are looked up";
}

TEST(FlatJudging, SeesANewSet) {
  World world(kFlat);
  world.driver.count_alone();
  TestRequest request("GET /items/7");
  send(world, request, 200, false);
  world.use(R"(policies:
  - {name: other, watch: request, key: ip/8, window: 1m, then: [{over: 1, do: deny}]})");
  EXPECT_EQ(send(world, request, 200, false), "other request reading 203.0.0.0 1\nnone 0 0");
  EXPECT_NE(send(world, request, 200, false).find("deny"), std::string::npos);
}

}  // namespace
}  // namespace weir::policies::flat_judging_test
