// Requests whose answers a door does not see.
#include "gate/unsettled.h"

#include <gtest/gtest.h>

#include <string>

#include "gate/gate.h"
#include "tests/policies/world.h"

namespace weir::gate::unsettled_test {
namespace {

using std::chrono::seconds;

struct Logins {
  struct Nobody final : Waiter {
    void resume(TimePoint) override {}
  };

  /// The id of a login that passes; empty: it was refused.
  std::string login() {
    const Decision judgement = gate.judge(request.view(now), now, false, nobody);
    if (judgement.effect.kind == Effect::Kind::answer) return {};
    EXPECT_NE(judgement.ticket, nullptr);
    const Unsettled::Id id = unsettled.next_id();
    unsettled.keep(*judgement.ticket, now);
    return {id.data(), id.size()};
  }
  bool settle(const std::string& id, int status) {
    Answer answer;
    answer.status = status;
    return unsettled.settle(id, answer, now);
  }
  int admitted(int tries) {
    int count = 0;
    for (int i = 0; i < tries; ++i) count += login().empty() ? 0 : 1;
    return count;
  }
  void advance(milliseconds by) {
    now += by;
    wheel.advance(now);
  }
  std::int64_t metric(telemetry::Metric m) { return metrics.sum(m); }

  policies::World world{R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: p, watch: failed, key: ip, window: 10m, then: [{over: 3, do: deny}]}
)"};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  telemetry::Metrics metrics{2};
  TimePoint now = world.now;
  net::Wheel wheel{now};
  Gate gate{shared, 0, {}, metrics.cells(0), nullptr};
  Unsettled unsettled{gate, wheel, 3, seconds(60), metrics.cells(0), 8};
  Nobody nobody;
  policies::TestRequest request{"POST /login"};

  Logins() { gate.use(world.set_); }
  ~Logins() { unsettled.release_all(now); }
};

TEST(Unsettled, WhatTheAppTellsOfIsCounted) {
  Logins t;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(t.settle(t.login(), 401));
  EXPECT_EQ(t.admitted(5), 0);
}

TEST(Unsettled, AnAnswerThatDoesNotMatchIsNotCounted) {
  Logins t;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(t.settle(t.login(), 200));
  EXPECT_EQ(t.admitted(3), 3);
}

TEST(Unsettled, OfParallelTriesNoMoreThanTheLimitPass) {
  Logins t;
  EXPECT_EQ(t.admitted(20), 3);
  EXPECT_EQ(t.metric(telemetry::Metric::unsettled_open), 3);
}

TEST(Unsettled, WhatNobodyTellsOfExpiresUncounted) {
  Logins t;
  EXPECT_EQ(t.admitted(5), 3);
  t.advance(seconds(59));
  EXPECT_EQ(t.admitted(5), 0);
  t.advance(seconds(2));
  EXPECT_EQ(t.metric(telemetry::Metric::unsettled_expired), 3);
  EXPECT_EQ(t.admitted(5), 3);
}

TEST(Unsettled, AnAnswerIsToldOnce) {
  Logins t;
  const std::string id = t.login();
  EXPECT_TRUE(t.settle(id, 401));
  EXPECT_FALSE(t.settle(id, 401));
  const std::string late = t.login();
  t.advance(seconds(61));
  EXPECT_FALSE(t.settle(late, 401));
}

TEST(Unsettled, NobodyGuessesAnId) {
  Logins t;
  std::string id = t.login();
  EXPECT_EQ(Unsettled::worker_of(id), 3u);
  for (const std::size_t at : {std::size_t{0}, std::size_t{15}, std::size_t{16}, std::size_t{31}}) {
    std::string other = id;
    other[at] = other[at] == '0' ? '1' : '0';
    EXPECT_FALSE(t.settle(other, 401)) << at;
  }
  for (const char* garbage :
       {"", "1", "zz", "00000000000000000000000000000003", "0000000000000003x000000000000000",
        "-0000000000000030000000000000000"}) {
    EXPECT_FALSE(t.settle(garbage, 401)) << garbage;
  }
  EXPECT_TRUE(t.settle(id, 401));
}

TEST(Unsettled, TheOldestGivesWay) {
  Logins t;
  const std::string first = t.login();
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(t.settle(t.login(), 200));
  EXPECT_EQ(t.unsettled.size(), 1u);
  const std::string ninth =
      t.login();  // eight numbers are taken by the first one and what came later
  EXPECT_FALSE(t.settle(first, 401));
  EXPECT_TRUE(t.settle(ninth, 200));
  EXPECT_EQ(t.metric(telemetry::Metric::unsettled_full), 1);
}

}  // namespace
}  // namespace weir::gate::unsettled_test
