#include "gate/gate.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <string>

#include "core/no_memory.h"
#include "gate/judging.h"
#include "tests/policies/world.h"
#include "tests/support/allocations.h"

namespace weir::gate::gate_test {
namespace {

using policies::TestRequest;

struct Nobody final : Waiter {
  void resume(TimePoint) override {}
};

/// A door with sessions that park and resume, as the proxy's do.
class GateTest : public testing::Test {
 protected:
  struct Session final : Waiter {
    explicit Session(GateTest& t, int n) : test(t), number(n) {}
    void resume(TimePoint now) override { test.judge(*this, now < test.gate.waiting_until(*this)); }
    GateTest& test;
    int number;
    TestRequest request{"POST /login"};
    Ticket* ticket = nullptr;
    int status = 0;
    bool passed = false;
  };

  void judge(Session& session, bool may_wait = true) {
    const Decision judgement =
        judge_or_park(gate, session.request.view(now), now, may_wait, session);
    switch (judgement.effect.kind) {
      case Effect::Kind::wait:
        return;
      case Effect::Kind::answer:
        session.status = judgement.effect.status;
        break;
      default:
        session.passed = true;
        session.ticket = judgement.ticket;
        order.push_back(session.number);
    }
    gate.unpark(session);
  }
  void answer(Session& session, int status) {
    Answer answer;
    answer.status = status;
    EXPECT_FALSE(gate.answered(*session.ticket, answer, now));
    gate.finish(*session.ticket, End::complete, now);
    session.ticket = nullptr;
  }
  std::deque<Session>& arrive(int count) {
    for (int i = 0; i < count; ++i)
      judge(sessions.emplace_back(*this, static_cast<int>(sessions.size())));
    return sessions;
  }
  int passed() const {
    return static_cast<int>(
        std::count_if(sessions.begin(), sessions.end(), [](const auto& s) { return s.passed; }));
  }
  int refused(int status) const {
    return static_cast<int>(std::count_if(sessions.begin(), sessions.end(),
                                          [&](const auto& s) { return s.status == status; }));
  }
  /// Everything in flight is answered at once, then the turn ends.
  void answer_all(int status) {
    for (Session& session : sessions) {
      if (session.ticket != nullptr) answer(session, status);
    }
    gate.tick(now);
  }

  policies::World world{R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: p, watch: failed, key: ip, window: 10m, then: [{over: 5, do: deny, for: 1h}]}
)"};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{10, 2'000, milliseconds{1'000}}, metrics.cells(0), nullptr};
  Nobody nobody;
  TimePoint now = world.now;
  std::deque<Session> sessions;
  std::vector<int> order;

  void SetUp() override { gate.use(world.set_); }
};

TEST_F(GateTest, AThousandParallelGuessesGetFiveTries) {
  arrive(1000);
  EXPECT_EQ(passed(), 5);
  EXPECT_TRUE(gate.has_waiters());
  now += milliseconds{200};
  answer_all(401);
  EXPECT_EQ(passed(), 5);
  EXPECT_EQ(refused(429) + refused(403), 995)
      << "settled failures refuse; the ban refuses those after them";
  EXPECT_FALSE(gate.has_waiters());
}

TEST_F(GateTest, TwentyRightLoginsAllPassWithinTheWait) {
  arrive(20);
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(passed(), 5 * (round + 1));
    now += milliseconds{200};
    answer_all(200);
  }
  EXPECT_EQ(passed(), 20);
  EXPECT_FALSE(gate.has_waiters());
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << "first come, first served";
  EXPECT_EQ(world.lists.size(world.set_->lists[0].id), 0u);
}

TEST_F(GateTest, WhoWaitsTooLongIsToldToComeBack) {
  arrive(7);
  now += milliseconds{999};
  gate.tick(now);
  EXPECT_EQ(refused(429), 0);
  now += milliseconds{1};
  gate.tick(now);
  EXPECT_EQ(refused(429), 2);
  EXPECT_EQ(world.lists.size(world.set_->lists[0].id), 0u) << "crowded is not guilty";
}

TEST_F(GateTest, AFullQueueRefusesAtOnce) {
  arrive(5 + 2'000 + 3);
  EXPECT_EQ(refused(429), 3);
  EXPECT_EQ(metrics.sum(telemetry::Metric::requests_waiting), 2'000);
  EXPECT_EQ(metrics.sum(telemetry::Metric::limit_waiting), 3);
}

TEST_F(GateTest, SettlementsOnAnotherWorkerWakeAWaiter) {
  Gate other(shared, 0, GateLimits{}, metrics.cells(0), nullptr);
  other.use(world.set_);
  std::vector<Ticket*> tickets;
  TestRequest request("POST /login");
  for (int i = 0; i < 5; ++i)
    tickets.push_back(other.judge(request.view(now), now, true, nobody).ticket);
  arrive(1);
  EXPECT_EQ(passed(), 0);
  other.finish(*tickets[0], End::upstream_failed, now);
  gate.tick(now);
  EXPECT_EQ(passed(), 1);
}

TEST_F(GateTest, AClientThatLeavesAfterSendingCountsAndOneThatWasNotSentDoesNot) {
  for (int i = 0; i < 3; ++i) {
    Session& session = sessions.emplace_back(*this, i);
    judge(session);
    gate.finish(*session.ticket, End::not_sent, now);
    session.ticket = nullptr;
  }
  arrive(5);
  EXPECT_EQ(passed(), 8);
  for (Session& session : sessions) {
    if (session.ticket != nullptr) gate.finish(*session.ticket, End::aborted, now);
    session.ticket = nullptr;
  }
  arrive(1);
  EXPECT_EQ(refused(429), 1) << "five hang-ups are five tries";
}

TEST_F(GateTest, AReloadSettlesByTheSetThatJudged) {
  arrive(5);
  world.use(
      "policies: [{name: q, watch: request, key: ip, window: 1m, then: [{over: 1000, do: "
      "deny}]}]\n");
  gate.use(world.set_);
  answer_all(401);
  world.use(R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: again, watch: failed, key: ip, window: 10m, then: [{over: 5, do: deny}]}
)");
  gate.use(world.set_);
  arrive(1);
  EXPECT_EQ(refused(429), 1) << "the count outlived both reloads";
}

TEST(GateHold, TheNumberOfHeldRequestsIsCapped) {
  policies::World world(
      "policies: [{name: slow, watch: request, then: [{if: 'true', do: delay, hold: 2s}]}]\n");
  telemetry::Metrics metrics(1);
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate(shared, 0, GateLimits{2, 10, milliseconds{1'000}}, metrics.cells(0), nullptr);
  gate.use(world.set_);
  Nobody nobody;
  TestRequest request("GET /");
  const auto kind = [&] {
    return gate.judge(request.view(world.now), world.now, true, nobody).effect;
  };
  EXPECT_EQ(kind().hold, milliseconds{2'000});
  EXPECT_EQ(kind().kind, Effect::Kind::delay);
  EXPECT_EQ(kind().status, 429);
  EXPECT_EQ(metrics.sum(telemetry::Metric::requests_held), 2);
  gate.end_hold();
  EXPECT_EQ(metrics.sum(telemetry::Metric::requests_held), 1);
  EXPECT_EQ(kind().kind, Effect::Kind::delay);
  EXPECT_EQ(metrics.sum(telemetry::Metric::limit_held), 1);
}

/// The caller of a door would have left before the hold ends: nothing has happened.
TEST(GateHold, AHoldThatOutlastsItsCallerCountsNowhere) {
  policies::World world(R"(
lists: {noted: {of: ip, kind: gray}}
policies:
  - {name: slow, watch: request, when: 'path == "/slow"', key: ip, window: 1h, then: [{over: 0, do: delay, hold: 1500ms}]}
  - {name: quota, watch: request, key: ip, window: 1h, then: [{over: 2, do: deny}]}
  - {name: notes, watch: request, key: ip, window: 1h, then: [{over: 2, do: graylist, list: noted, for: 1h}]}
)");
  telemetry::Metrics metrics(1);
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate(shared, 0, GateLimits{2, 10, milliseconds{1'000}}, metrics.cells(0), nullptr);
  gate.use(world.set_);
  Nobody nobody;
  TestRequest slow("GET /slow");
  TestRequest quick("GET /quick");
  nobody.set_longest_hold(milliseconds{1'499});
  for (int i = 0; i < 5; ++i) {
    const Decision refused = gate.judge(slow.view(world.now), world.now, true, nobody);
    EXPECT_EQ(refused.effect.kind, Effect::Kind::answer);
    EXPECT_EQ(refused.effect.status, 429);
    EXPECT_EQ(refused.effect.response_headers, "Retry-After: 2\r\n");
    EXPECT_EQ(refused.ticket, nullptr);
  }
  EXPECT_EQ(world.lists.size(world.set_->lists[0].id), 0U);
  EXPECT_EQ(metrics.sum(telemetry::Metric::limit_held), 0) << "there is room among the held";
  nobody.set_longest_hold(milliseconds{1'500});
  EXPECT_EQ(gate.judge(slow.view(world.now), world.now, true, nobody).effect.kind,
            Effect::Kind::delay);
  gate.end_hold();
  EXPECT_EQ(gate.judge(quick.view(world.now), world.now, true, nobody).effect.kind,
            Effect::Kind::pass);
  EXPECT_EQ(gate.judge(quick.view(world.now), world.now, true, nobody).effect.status, 429);
}

TEST_F(GateTest, deadlines_of_patterns_fire_with_requests_and_without) {
  world.use(R"(
policies:
  - {name: p, sequence: [request, no request], key: ip, within: 10s, then: [{do: deny, for: 1m}]}
)");
  Shared patterned{world.bank, world.lists, world.secret, world.stats};
  patterned.patterns = &world.patterns;
  Gate door{patterned, 0, GateLimits{10, 2'000, milliseconds{1'000}}, metrics.cells(0), nullptr};
  door.use(world.set_);
  TestRequest request("GET /");
  const auto kind = [&] { return door.judge(request.view(now), now, false, nobody).effect.kind; };
  EXPECT_NE(kind(), Effect::Kind::answer);
  now += milliseconds{10'000};  // in time
  EXPECT_NE(kind(), Effect::Kind::answer);
  now += milliseconds{10'000};
  door.advance_patterns(now);
  EXPECT_EQ(world.patterns.stats().timeouts, 0U);
  now += milliseconds{1};
  EXPECT_EQ(kind(), Effect::Kind::answer) << "its silence was told before it was judged";
  now += milliseconds{60'000};
  EXPECT_NE(kind(), Effect::Kind::answer);
  now += milliseconds{10'001};
  door.advance_patterns(now);
  EXPECT_EQ(world.patterns.stats().timeouts, 2U);
}

/// Has no memory, as long as it fails.
struct Exhausted final : policies::Observer {
  void judged(const policies::PolicySet&, const Request&, const policies::Verdict&) override {
    if (fails) throw std::bad_alloc();
  }
  void listed(const policies::PolicySet&, const Listed&, TimePoint) override {}
  bool fails = false;
};

TEST_F(GateTest, a_judgement_without_memory_gives_its_ticket_back) {
  world.use(R"(
policies:
  - {name: p, watch: request, then: [{if: true, do: flag}]}
)");
  Exhausted observer;
  Gate door{shared, 0, GateLimits{10, 2'000, milliseconds{1'000}}, metrics.cells(0), &observer};
  door.use(world.set_);
  TestRequest request("GET /");
  const auto judge = [&] { return door.judge(request.view(now), now, false, nobody).effect.kind; };
  for (int i = 0; i < 10; ++i) judge();
  observer.fails = true;
  for (int i = 0; i < 10; ++i) EXPECT_THROW(judge(), std::bad_alloc);
  observer.fails = false;
  const std::size_t before = test::allocations();
  EXPECT_EQ(judge(), Effect::Kind::pass);
  EXPECT_EQ(test::allocations(), before) << "no new ticket";
}

/// Judges requests, each by a new gate over the same counts, and lets the first, the second, the
/// third... allocation of each fail.
class GateWithoutMemory : public GateTest {
 protected:
  void use(const char* yaml) {
    world.use(yaml);
    gate.use(world.set_);
  }
  /// None: it had no memory. The answer's status; 0: it did not pass the request.
  static std::optional<int> request(Gate& door, TestRequest& request, TimePoint now,
                                    std::optional<int> answer) {
    Nobody nobody;
    std::optional<Decision> decision;
    if (!survives_no_memory([&] { decision = door.judge(request.view(now), now, false, nobody); }))
      return std::nullopt;
    if (decision->effect.kind == Effect::Kind::answer) return 0;
    if (decision->ticket == nullptr) return 200;
    bool answered = true;
    if (answer) {
      Answer head;
      head.status = *answer;
      answered = survives_no_memory([&] { door.answered(*decision->ticket, head, now); });
    }
    door.finish(*decision->ticket, answer ? End::complete : End::aborted, now);
    return answered ? 200 : 500;
  }
  /// Calls `look` after a request with status 200, or without memory before its answer or after it.
  void sweep(std::optional<int> answer, const std::function<void(std::optional<int>)>& look) {
    TestRequest asked("POST /login");
    asked.header("X-User", "a name that is too long to be kept in place");
    for (std::size_t n = 0;; ++n) {
      SCOPED_TRACE("allocation " + std::to_string(n));
      Gate door(shared, 0, GateLimits{10, 10, milliseconds{1'000}}, metrics.cells(0), nullptr);
      door.use(world.set_);
      now += milliseconds{3'600'000};
      const test::FailingAllocation failing(n);
      const auto status = request(door, asked, now, answer);
      if (!failing.has_failed()) break;
      look(status);
    }
  }
};

constexpr const char* kOnePerMinute = R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: each, watch: request, key: ip, window: 1m, then: [{over: 1, do: deny}]}
  - {name: user, watch: request, key: header.x_user, window: {last: 1m, exact: true}, then: [{over: 5, do: flag}]}
  - {name: texts, watch: request, when: 'size(path) > 1', key: ip, window: 1m, then: [{over: 5, do: flag}]}
  - {name: flying, watch: request, key: ip, metric: in_flight, then: [{over: 1, do: deny}]}
  - {name: failures, watch: failed, key: ip, window: 1m, then: [{over: 1, do: deny, for: 1m}]}
)";

TEST_F(GateWithoutMemory, a_judgement_that_ends_early_counts_nothing) {
  use(kOnePerMinute);
  TestRequest again("POST /login");
  again.header("X-User", "a name that is too long to be kept in place");
  int cut = 0;
  sweep(200, [&](std::optional<int> status) {
    const bool passed = status.has_value();
    cut += passed ? 0 : 1;
    EXPECT_EQ(request(gate, again, now, 200), passed ? 0 : 200) << "the policy `each`";
    now += milliseconds{120'000};
    EXPECT_EQ(request(gate, again, now, 200), 200) << "a place in flight is left";
  });
  EXPECT_GT(cut, 10);
}

TEST_F(GateWithoutMemory, the_short_way_of_events_takes_back_as_well) {
  use("policies: [{name: each, watch: request, key: ip, window: 1m, then: [{over: 1, do: "
      "deny}]}]\n");
  TestRequest again("POST /login");
  sweep(200, [&](std::optional<int> status) {
    EXPECT_EQ(request(gate, again, now, 200), status ? 0 : 200);
  });
}

TEST_F(GateWithoutMemory, an_answer_that_nobody_could_look_at_counts_as_a_match) {
  use(R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: 'status == 401 && response.header.x_reason != "a text that is not short"'}
policies:
  - {name: failures, watch: failed, key: [ip, header.x_user], window: 1m, then: [{over: 1, do: deny}]}
  - {name: flying, watch: request, key: ip, metric: in_flight, then: [{over: 1, do: deny}]}
)");
  TestRequest again("POST /login");
  again.header("X-User", "a name that is too long to be kept in place");
  sweep(401, [&](std::optional<int> status) {
    const bool counted = status.has_value();
    EXPECT_EQ(request(gate, again, now, 401), counted ? 0 : 200);
    now += milliseconds{120'000};
    EXPECT_EQ(request(gate, again, now, 200), 200) << "a place in flight is left";
  });
}

}  // namespace
}  // namespace weir::gate::gate_test
