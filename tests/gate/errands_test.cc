#include <gtest/gtest.h>

#include "gate/gate.h"
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
  gate.share(store, {7, "", false, milliseconds{60'000}, milliseconds{60'000}}, milliseconds{5});
  gate.use(world.set_);
  Session session;
  policies::TestRequest request("POST /login");

  ASSERT_EQ(gate.judge(request.view(world.now), world.now, true, session).effect.kind,
            Effect::Kind::wait);
  ASSERT_TRUE(gate.park(session, world.now));
  ASSERT_EQ(store.asked.size(), 1u);

  const std::weak_ptr<const policies::PolicySet> old = world.set_;
  world.use(kPolicies);
  gate.use(world.set_);
  store.deliver();
  gate.tick(world.now);
  ASSERT_TRUE(session.resumed);
  // Judged again by the new policies; the place that the old ones took is given up, with a counter
  // of theirs.
  ASSERT_EQ(gate.judge(request.view(world.now), world.now, true, session).effect.kind,
            Effect::Kind::wait);
  ASSERT_TRUE(gate.park(session, world.now));
  ASSERT_EQ(store.asked.size(), 2u);
  EXPECT_FALSE(old.expired()) << "the store may still read the counter's name";

  store.deliver();
  gate.tick(world.now);
  EXPECT_TRUE(old.expired()) << "nothing needs the old policies any more";
  const Judgement judgement = gate.judge(request.view(world.now), world.now, true, session);
  gate.unpark(session);
  ASSERT_NE(judgement.ticket, nullptr);
  gate.finish(*judgement.ticket, End::complete, world.now);
}

}  // namespace
}  // namespace weir::gate::errands_test
