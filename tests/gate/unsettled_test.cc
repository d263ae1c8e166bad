// Requests whose answers a door does not see.
#include "gate/unsettled.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

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
  std::vector<std::string> ids;
  for (int i = 0; i < 9; ++i) {
    t.request = policies::TestRequest("POST /login", "192.0.2." + std::to_string(i / 3));
    ids.push_back(t.login());
  }
  EXPECT_EQ(t.unsettled.size(), 8u);
  EXPECT_EQ(t.metric(telemetry::Metric::unsettled_full), 1);
  EXPECT_FALSE(t.settle(ids.front(), 401));
  for (std::size_t i = 1; i < ids.size(); ++i) EXPECT_TRUE(t.settle(ids[i], 401)) << i;
}

TEST(Unsettled, ASlowRequestKeepsItsPlaceHoweverManySettleBehindIt) {
  Logins t;
  const std::string slow = t.login();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(t.settle(t.login(), 200)) << i;
  const std::string slower = t.login();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(t.settle(t.login(), 200)) << i;
  EXPECT_EQ(t.unsettled.size(), 2u);
  EXPECT_EQ(t.metric(telemetry::Metric::unsettled_full), 0);
  EXPECT_TRUE(t.settle(slower, 401));
  EXPECT_TRUE(t.settle(slow, 401));
  EXPECT_EQ(t.admitted(3), 1) << "both have counted";
}

TEST(Unsettled, WhatIsPackedExpiresInItsTime) {
  Logins t;
  t.login();
  t.advance(seconds(20));
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(t.settle(t.login(), 200));
  const std::string later = t.login();
  t.advance(seconds(41));
  EXPECT_EQ(t.metric(telemetry::Metric::unsettled_expired), 1);
  EXPECT_TRUE(t.settle(later, 200));
  t.advance(seconds(60));
  EXPECT_EQ(t.metric(telemetry::Metric::unsettled_expired), 1);
}

// In any order of logins, answers and time: a model of what is open says what is known.
TEST(Unsettled, KnowsExactlyWhatIsOpen) {
  std::mt19937 random{7};
  Logins t;
  std::vector<std::pair<std::string, TimePoint>> open;
  for (int i = 0; i < 5'000; ++i) {
    const auto pick = [&](std::size_t below) { return random() % below; };
    if (open.empty() || pick(2) == 0) {
      t.request = policies::TestRequest("POST /login", "192.0.2." + std::to_string(pick(200)));
      if (open.size() == 8) open.erase(open.begin());
      open.emplace_back(t.login(), t.now);
      ASSERT_FALSE(open.back().first.empty());
    } else {
      const std::size_t which = pick(4) == 0 ? pick(open.size()) : open.size() - 1;
      EXPECT_TRUE(t.settle(open[which].first, 200));
      EXPECT_FALSE(t.settle(open[which].first, 200));
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
    }
    t.advance(seconds(pick(8) == 0 ? 7 : 0));
    std::erase_if(open, [&](const auto& one) { return one.second + seconds(60) <= t.now; });
    ASSERT_EQ(t.unsettled.size(), open.size()) << i;
  }
}

}  // namespace
}  // namespace weir::gate::unsettled_test
