#include <gtest/gtest.h>

#include "gate/gate.h"
#include "gate/judging.h"
#include "tests/gate/slow_store.h"
#include "tests/policies/world.h"

// Requests that wait for the shared store at once: no other policy counts a refused request.
namespace weir::gate::together_test {
namespace {

struct Session final : Waiter {
  void resume(TimePoint) override { resumed = true; }
  bool resumed = false;
};

std::string yaml(std::string_view quota, std::string_view gate, bool quota_first,
                 std::string_view condition = {}) {
  const std::string first = "  - {name: quota, watch: buy, key: ip, window: 1h, " +
                            std::string(quota) + "then: [{over: 20, do: deny, for: 1h, list: ban" +
                            std::string(condition) + "}]}\n";
  const std::string second =
      "  - {name: gate, watch: buy, key: ip, window: {last: 10m, exact: true}, " +
      std::string(gate) + "then: [{over: 7, do: deny}]}\n";
  return R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events: {buy: {match: GET /buy}}
lists: {ban: {of: ip, kind: deny}}
policies:
)" + (quota_first ? first + second : second + first);
}

struct Together {
  explicit Together(const std::string& policies) : world(policies) {
    gate.use_store(store, {7, "", false, milliseconds{60'000}, milliseconds{60'000}},
                   milliseconds{5});
    gate.use(world.set_);
  }

  /// So many requests at once, until each has been told; how many pass.
  int burst(int requests) {
    std::vector<Session> sessions(static_cast<std::size_t>(requests));
    std::vector<Session*> open;
    for (Session& session : sessions) open.push_back(&session);
    int passed = 0;
    for (int round = 0; !open.empty() && round < 100; ++round) {
      std::vector<Session*> left;
      for (Session* const session : open) {
        const Decision judgement =
            judge_or_park(gate, request.view(world.now), world.now, true, *session);
        session->resumed = false;
        if (judgement.effect.kind == Effect::Kind::wait) {
          left.push_back(session);
          continue;
        }
        gate.unpark(*session);
        passed += judgement.effect.kind == Effect::Kind::pass ? 1 : 0;
        if (judgement.ticket != nullptr) gate.finish(*judgement.ticket, End::complete, world.now);
      }
      open = left;
      store.deliver();
      world.now += milliseconds{25};
      gate.tick(world.now);
      for (const Session* session : open) EXPECT_TRUE(session->resumed) << "nobody waits longer";
    }
    EXPECT_TRUE(open.empty());
    store.deliver();  // the settlements and releases
    return passed;
  }
  /// So many requests one after the other; the numbers of those that are flagged.
  std::vector<int> flagged(int requests) {
    std::vector<int> out;
    for (int i = 1; i <= requests; ++i) {
      Session session;
      Decision judgement;
      for (int round = 0; round < 10; ++round) {
        judgement = judge_or_park(gate, request.view(world.now), world.now, true, session);
        if (judgement.effect.kind != Effect::Kind::wait) break;
        store.deliver();
        gate.tick(world.now);
      }
      const std::string_view said = judgement.effect.upstream_headers;
      if (said.find("flag") != std::string_view::npos) out.push_back(i);
      gate.unpark(session);
      if (judgement.ticket != nullptr) gate.finish(*judgement.ticket, End::complete, world.now);
      store.deliver();
    }
    return out;
  }
  std::size_t banned() const { return world.lists.size(world.set_->find_list("ban")->id); }

  policies::World world;
  SlowStore store{world.now};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  policies::TestRequest request{"GET /buy"};
};

constexpr std::string_view kShared = "share: redis, ";
constexpr std::string_view kLocal = "";

TEST(Together, WhatAnotherPolicyRefusesBansNobody) {
  for (const bool quota_first : {true, false}) {
    for (const auto& [quota, gate] :
         {std::pair{kShared, kShared}, std::pair{kLocal, kShared}, std::pair{kShared, kLocal}}) {
      SCOPED_TRACE(yaml(quota, gate, quota_first));
      Together t(yaml(quota, gate, quota_first));
      EXPECT_EQ(t.burst(60), 7);
      EXPECT_EQ(t.banned(), 0u) << "7 of 20";
      EXPECT_EQ(t.burst(60), 0);
      EXPECT_EQ(t.banned(), 0u);
      t.world.now += milliseconds{660'000};
      EXPECT_EQ(t.burst(60), 7);
      t.world.now += milliseconds{660'000};
      EXPECT_EQ(t.burst(60), 6) << "20 of 20";
      EXPECT_EQ(t.banned(), 1u) << "the 21st is over";
    }
  }
}

TEST(Together, ARungWithAConditionIsNoCeilingAndBansNobodyEither) {
  Together t(yaml(kShared, kShared, true, ", if: 'method == \"GET\"'"));
  EXPECT_EQ(t.burst(60), 7);
  EXPECT_EQ(t.banned(), 0u);
}

TEST(Together, WhatEmptiesACounterEmptiesItOfTheEventThatSetItOff) {
  const char* const empties[] = {
      "window: 1h, then: [{at: 3, do: flag, clear: true}]",
      "window: {last: 1h, exact: true}, then: [{at: 3, do: flag, clear: true}]",
      "window: {every: 1h}, then: [{at: 3, do: flag, clear: true}]",
      "window: {leaky: 2, drain: 1h}, then: [{do: flag}]"};
  for (const char* const policy : empties) {
    for (const std::string_view other : {kShared, kLocal}) {
      for (const std::string_view share : {kShared, kLocal}) {
        const std::string text =
            std::string(R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events: {buy: {match: GET /buy}}
policies:
  - {name: other, watch: buy, key: ip, window: 1h, )") +
            std::string(other) +
            "then: [{over: 1000, do: deny}]}\n  - {name: p, watch: buy, key: ip, " +
            std::string(share) + policy + "}\n";
        SCOPED_TRACE(text);
        Together t(text);
        EXPECT_EQ(t.flagged(9), (std::vector<int>{3, 6, 9}));
      }
    }
  }
}

TEST(Together, WithoutTheStoreAllowRemembersNothingOfAnAnswerEither) {
  Together t(R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events:
  buy: {match: GET /buy}
  failed: {is: buy, when: 'status == 200'}
lists: {ban: {of: ip, kind: deny}}
policies:
  - {name: p, watch: failed, key: ip, window: 1h, share: redis, on_error: allow, then: [{over: 2, do: deny, for: 1h, list: ban}]}
)");
  for (int i = 0; i < 6; ++i) {
    Session session;
    const auto judge = [&] {
      return judge_or_park(t.gate, t.request.view(t.world.now), t.world.now, true, session);
    };
    ASSERT_EQ(judge().effect.kind, Effect::Kind::wait);
    t.store.fail(limiter::SharedError::lost);
    t.gate.tick(t.world.now);
    const Decision judgement = judge();
    ASSERT_EQ(judgement.effect.kind, Effect::Kind::pass);
    t.gate.unpark(session);
    ASSERT_NE(judgement.ticket, nullptr);
    Answer answer;
    answer.status = 200;
    t.gate.answered(*judgement.ticket, answer, t.world.now);
    t.gate.finish(*judgement.ticket, End::complete, t.world.now);
    t.store.fail(limiter::SharedError::lost);
  }
  EXPECT_EQ(t.banned(), 0u);
}

}  // namespace
}  // namespace weir::gate::together_test
