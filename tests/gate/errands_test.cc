#include <gtest/gtest.h>

#include "gate/gate.h"
#include "gate/judging.h"
#include "tests/gate/slow_store.h"
#include "tests/policies/world.h"

namespace weir::gate::errands_test {
namespace {

struct Session final : Waiter {
  void resume(TimePoint) override { resumed = true; }
  bool resumed = false;
};

constexpr char kPolicies[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events:
  login: {match: POST /login}
policies:
  - {name: p, watch: login, metric: in_flight, key: ip, share: redis, then: [{over: 5, do: deny}]}
)";

TEST(Errands, KeepThePoliciesTheyAreOfUntilTheStoreHasReplied) {
  policies::World world(kPolicies);
  SlowStore store(world.now);
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  gate.use_store(store, {7, "", false, milliseconds{60'000}, milliseconds{60'000}},
                 milliseconds{5});
  gate.use(world.set_);
  Session session;
  policies::TestRequest request("POST /login");

  const auto judge = [&] {
    return judge_or_park(gate, request.view(world.now), world.now, true, session);
  };
  ASSERT_EQ(judge().effect.kind, Effect::Kind::wait);
  ASSERT_EQ(store.asked.size(), 1u);

  const std::weak_ptr<const policies::PolicySet> old = world.set_;
  world.use(kPolicies);
  gate.use(world.set_);
  store.deliver();
  gate.tick(world.now);
  ASSERT_TRUE(session.resumed);
  // Judged again by the new policies; the place that the old ones took is given up, with a counter
  // of theirs.
  ASSERT_EQ(judge().effect.kind, Effect::Kind::wait);
  ASSERT_EQ(store.asked.size(), 2u);
  EXPECT_FALSE(old.expired()) << "the store may still read the counter's name";

  store.deliver();
  gate.tick(world.now);
  EXPECT_TRUE(old.expired()) << "nothing needs the old policies any more";
  const Decision judgement = judge();
  gate.unpark(session);
  ASSERT_NE(judgement.ticket, nullptr);
  gate.finish(*judgement.ticket, End::complete, world.now);
}

struct Reloaded {
  Reloaded() {
    gate.use_store(store, {7, "", false, milliseconds{60'000}, milliseconds{60'000}},
                   milliseconds{5});
    gate.use(world.set_);
  }
  /// Judged, and waiting for the store when other policies come.
  void ask_and_reload() {
    ASSERT_EQ(judge(), Effect::Kind::wait);
    world.use(std::string(kCount) +
              "  - {name: q, watch: other, key: ip, window: 1m, then: [{over: 9, do: flag}]}\n");
    gate.use(world.set_);
  }
  /// Parks the session if it has to wait.
  Effect::Kind judge() {
    const Decision judgement =
        judge_or_park(gate, request.view(world.now), world.now, true, session);
    if (judgement.ticket != nullptr) gate.finish(*judgement.ticket, End::complete, world.now);
    return judgement.effect.kind;
  }

  static constexpr char kCount[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events:
  login: {match: POST /login}
  other: {match: POST /other}
policies:
  - {name: p, watch: login, key: ip, window: 1h, share: redis, on_error: deny, then: [{over: 1, do: deny, for: 1h}]}
)";
  policies::World world{kCount};
  SlowStore store{world.now};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  Session session;
  policies::TestRequest request{"POST /login"};
};

TEST(Errands, WhoWaitsDuringAReloadIsNotRefusedByItsOwnCount) {
  Reloaded r;
  r.ask_and_reload();
  r.store.deliver();
  r.gate.tick(r.world.now);
  ASSERT_TRUE(r.session.resumed);
  ASSERT_EQ(r.judge(), Effect::Kind::wait) << "the new policies ask for themselves";
  r.store.deliver();
  r.gate.tick(r.world.now);
  EXPECT_EQ(r.judge(), Effect::Kind::pass) << "one of one";
  r.gate.unpark(r.session);
}

TEST(Errands, TwoThatAreJudgedBeforeEitherIsParkedGetTheirOwnVerdicts) {
  Reloaded r;
  Session other;
  const auto judge = [&](Session& session) {
    return r.gate.judge(r.request.view(r.world.now), r.world.now, true, session);
  };
  const auto resume = [&](Session& session) {
    return r.gate.resume(r.request.view(r.world.now), r.world.now, true, session);
  };
  const Decision first = judge(r.session);
  const Decision second = judge(other);
  ASSERT_EQ(first.effect.kind, Effect::Kind::wait);
  ASSERT_EQ(second.effect.kind, Effect::Kind::wait);
  EXPECT_TRUE(r.gate.park(other, second, r.world.now));
  EXPECT_TRUE(r.gate.park(r.session, first, r.world.now));
  r.store.deliver();
  r.gate.tick(r.world.now);
  ASSERT_TRUE(r.session.resumed);
  ASSERT_TRUE(other.resumed);
  EXPECT_EQ(resume(other).effect.kind, Effect::Kind::answer) << "the store counted it second";
  EXPECT_EQ(r.judge(), Effect::Kind::pass);
  r.gate.unpark(other);
  r.gate.unpark(r.session);
}

TEST(Errands, WhoHasWaitedItsBudgetIsNotAskedForAgain) {
  Reloaded r;
  r.ask_and_reload();
  r.store.fail(limiter::SharedError::timed_out);
  r.gate.tick(r.world.now);
  EXPECT_EQ(r.judge(), Effect::Kind::answer) << "as on_error says";
  EXPECT_TRUE(r.store.asked.empty());
}

}  // namespace
}  // namespace weir::gate::errands_test
