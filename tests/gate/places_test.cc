#include <gtest/gtest.h>

#include "gate/gate.h"
#include "store/memory_store.h"
#include "tests/policies/world.h"

// Places of a shared `in_flight` counter: kept while their request is under way, however long that
// takes, and free again once no replica renews them.
namespace weir::gate::places_test {
namespace {

constexpr milliseconds kFlight{60'000};
constexpr milliseconds kRenew{15'000};
constexpr char kPolicies[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
policies:
  - {name: p, watch: request, metric: in_flight, key: ip, share: redis, then: [{over: 1, do: deny}]}
)";

struct Session final : Waiter {
  void resume(TimePoint) override {}
};

/// A replica with one worker.
struct Replica {
  Replica(store::SharedStore& store, std::uint64_t origin) {
    gate.use_store(store, {origin, "", false, kFlight, kFlight}, milliseconds{5});
    gate.use(world.set_);
  }
  /// The ticket of a request that is under way now; null: refused.
  Ticket* begin(TimePoint now) {
    const Decision judgement = gate.judge(request.view(now), now, true, session);
    EXPECT_EQ(judgement.effect.kind == Effect::Kind::answer, judgement.ticket == nullptr);
    return judgement.ticket;
  }
  policies::World world{kPolicies};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  policies::TestRequest request{"GET /"};
  Session session;
};

struct Places : testing::Test {
  TimePoint now = from_ms(1'700'000'000'000);
  store::MemoryStore store{{std::uint64_t{1} << 20, 1'000}, [this] { return now; }};
  Replica first{store, 7}, second{store, 8};

  /// The first replica says as often as it does that its requests are under way.
  void renew_for(milliseconds length) {
    for (const TimePoint end = now + length; now < end;) {
      now += kRenew;
      first.gate.renew_places(now);
    }
  }
};

TEST_F(Places, AreKeptWhileTheirRequestIsUnderWay) {
  Ticket* const ticket = first.begin(now);
  ASSERT_NE(ticket, nullptr);
  EXPECT_EQ(second.begin(now), nullptr);
  renew_for(10 * kFlight);
  EXPECT_EQ(second.begin(now), nullptr) << "ten lifetimes later";

  // Also by policies that were replaced meanwhile.
  first.world.use(kPolicies);
  first.gate.use(first.world.set_);
  renew_for(2 * kFlight);
  EXPECT_EQ(second.begin(now), nullptr);

  first.gate.finish(*ticket, End::complete, now);
  Ticket* const next = second.begin(now);
  ASSERT_NE(next, nullptr) << "free at once";
  first.gate.renew_places(now);
  second.gate.finish(*next, End::complete, now);
  Ticket* const last = first.begin(now);
  ASSERT_NE(last, nullptr) << "nothing renews what has ended";
  first.gate.finish(*last, End::complete, now);
}

TEST_F(Places, OfAReplicaThatDiedAreFreeAfterTheirLifetime) {
  Ticket* const ticket = first.begin(now);
  ASSERT_NE(ticket, nullptr);
  renew_for(kFlight);
  const TimePoint died = now;  // it has renewed for the last time
  now = died + kFlight - milliseconds{1};
  EXPECT_EQ(second.begin(now), nullptr);
  now = died + kFlight;
  Ticket* const next = second.begin(now);
  ASSERT_NE(next, nullptr);
  second.gate.finish(*next, End::complete, now);

  // It was only stopped, and its request ends now: that takes no other request's place.
  first.gate.finish(*ticket, End::complete, now);
  Ticket* const last = second.begin(now);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(first.begin(now), nullptr);
  second.gate.finish(*last, End::complete, now);
}

constexpr char kOutcomes[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events:
  login: {match: POST /login}
  failed: {is: login, when: 'status == 401'}
policies:
  - {name: p, watch: failed, key: ip, window: 24h, share: redis, then: [{over: 1, do: deny}]}
)";

/// Slow requests whose answers are counted.
struct Reservations : Places {
  Reservations() {
    for (Replica* const replica : {&first, &second}) {
      replica->world.use(kOutcomes);
      replica->gate.use(replica->world.set_);
      replica->request = policies::TestRequest("POST /login");
    }
  }
  static bool passes(Replica& replica, TimePoint now) {
    const Decision judgement =
        replica.gate.judge(replica.request.view(now), now, false, replica.session);
    if (judgement.ticket != nullptr) replica.gate.finish(*judgement.ticket, End::not_sent, now);
    return judgement.effect.kind == Effect::Kind::pass;
  }
};

TEST_F(Reservations, AreKeptWhileTheirRequestIsUnderWay) {
  Ticket* const ticket = first.begin(now);
  ASSERT_NE(ticket, nullptr);
  renew_for(10 * kFlight);
  EXPECT_FALSE(passes(second, now)) << "an upload that takes ten lifetimes";
  first.world.use(kPolicies);  // and longer than its policies are in force
  first.gate.use(first.world.set_);
  renew_for(2 * kFlight);
  EXPECT_FALSE(passes(second, now));
  Answer answer;
  answer.status = 401;
  first.gate.answered(*ticket, answer, now);
  renew_for(2 * kFlight);  // a settled request is not reserved again
  first.gate.finish(*ticket, End::complete, now);
  EXPECT_FALSE(passes(second, now)) << "counted: one of one";
}

TEST_F(Reservations, OfAReplicaThatDiedEndAfterTheirLifetime) {
  ASSERT_NE(first.begin(now), nullptr);
  renew_for(kFlight);
  const TimePoint died = now;
  now = died + kFlight - milliseconds{1};
  EXPECT_FALSE(passes(second, now));
  now = died + kFlight;
  EXPECT_TRUE(passes(second, now));
}

TEST_F(Places, AreTakenAgainWhenAStoppedReplicaGoesOn) {
  Ticket* const ticket = first.begin(now);
  ASSERT_NE(ticket, nullptr);
  now += 3 * kFlight;
  first.gate.renew_places(now);
  EXPECT_EQ(second.begin(now), nullptr) << "its request is still under way";
  first.gate.finish(*ticket, End::complete, now);
  Ticket* const next = second.begin(now);
  ASSERT_NE(next, nullptr);
  second.gate.finish(*next, End::complete, now);
}

}  // namespace
}  // namespace weir::gate::places_test
