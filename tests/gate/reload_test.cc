#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gate/gate.h"
#include "gate/judging.h"
#include "store/memory_store.h"
#include "tests/policies/world.h"

// Requests that are under way while the policies are replaced. Whatever ends such a request later
// uses the policies that judged it, and keeps them until the store has answered.
namespace weir::gate::reload_test {
namespace {

struct Session final : Waiter {
  void resume(TimePoint) override { resumed = true; }
  bool resumed = false;
};

/// The policy sets of a test, and which counters and patterns belong to those that still live.
class Alive {
 public:
  void add(const std::shared_ptr<const policies::PolicySet>& set) { sets_.push_back(set); }
  bool has(const limiter::SharedOp& op) const {
    return std::any_of(sets_.begin(), sets_.end(), [&](const auto& weak) {
      const auto set = weak.lock();
      return set != nullptr && belongs(*set, op);
    });
  }
  bool any_older() const {
    return std::any_of(sets_.begin(), sets_.end() - 1,
                       [](const auto& set) { return !set.expired(); });
  }

 private:
  static bool belongs(const policies::PolicySet& set, const limiter::SharedOp& op) {
    if (op.pattern != nullptr) {
      return std::any_of(set.patterns.begin(), set.patterns.end(), [&](const auto& pattern) {
        return pattern.shared.get() == op.pattern->pattern;
      });
    }
    return std::all_of(op.parts.begin(), op.parts.end(), [&](const limiter::SharedPart& part) {
      return std::any_of(set.counters.begin(), set.counters.end(), [&](const auto& counter) {
        return part.counter != nullptr && (counter.shared.get() == part.counter ||
                                           counter.synced.shared.get() == part.counter);
      });
    });
  }
  std::vector<std::weak_ptr<const policies::PolicySet>> sets_;
};

/// Keeps what it is asked until deliver(), and never touches an operation whose policies are gone.
class WatchedStore final : public store::SharedStore {
 public:
  WatchedStore(const Alive& alive, const TimePoint& now)
      : alive_(alive), memory_({std::uint64_t{4} << 20, 1'000}, [&now] { return now; }) {}
  bool submit(store::Batch& batch, TimePoint) override {
    asked.push_back(&batch);
    return false;
  }
  void cancel(store::Batch&) noexcept override {}
  /// The number of operations whose counter or pattern is gone.
  int dangling() const {
    int out = 0;
    for (const store::Batch* const batch : asked) {
      for (const limiter::SharedOp& op : batch->ops) out += alive_.has(op) ? 0 : 1;
    }
    return out;
  }
  void deliver() {
    for (store::Batch* const batch : std::exchange(asked, {})) {
      memory_.submit(*batch, {});
      batch->on_replies();
    }
  }
  std::vector<store::Batch*> asked;

 private:
  const Alive& alive_;
  store::MemoryStore memory_;
};

constexpr char kHead[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events:
  login: {match: POST /login, fields: {user: header.x_user, lon: double(header.x_lon), lat: double(header.x_lat)}}
  failed: {is: login, when: 'status == 401'}
  ok: {is: login, when: 'status == 200'}
lists:
  office: {of: ip, kind: allow, entries: [10.0.0.0/8]}
policies:
)";

/// Every kind of judgement that leaves something to end. All of them share.
constexpr const char* kPolicies[] = {
    "{name: p, watch: login, metric: in_flight, key: ip, share: redis, then: [{over: 5, do: "
    "deny}]}",
    "{name: p, watch: failed, key: ip, window: 1h, share: redis, then: [{over: 5, do: deny, for: "
    "1h}]}",
    "{name: p, watch: failed, key: ip, window: {last: 1h, exact: true}, share: redis, "
    "then: [{over: 5, in: 1m, do: deny}, {over: 9, do: deny, for: 1h}]}",
    "{name: p, watch: failed, metric: distinct(user), key: ip, window: 1h, share: redis, "
    "then: [{over: 5, do: graylist, for: 1h}]}",
    "{name: p, watch: failed, metric: 'sum(int(header.x_n))', key: ip, window: {every: 1h}, share: "
    "redis, "
    "then: [{over: 5, do: graylist, for: 1h}]}",
    "{name: p, watch: login, metric: 'sum(int(response.header.x_cost))', reserve: 1, key: ip, "
    "window: 1h, "
    "share: redis, then: [{over: 50, do: deny}]}",
    "{name: p, watch: failed, metric: last(user), key: ip, window: 1h, share: redis, "
    "then: [{if: 'value == \"alice\"', do: flag}]}",
    "{name: p, watch: failed, key: ip, window: {leaky: 5, drain: 10s}, share: redis, then: [{do: "
    "flag}]}",
    "{name: p, watch: failed, key: ip, window: 1h, reset: ok, share: redis, then: [{over: 5, do: "
    "flag}]}",
    "{name: p, watch: login, metrics: {n: {watch: failed, key: ip, window: 1h}}, share: redis, "
    "then: [{if: 'n > 5', do: deny}]}",
    "{name: p, watch: failed, key: [ip, {near: {lon: lon, lat: lat, radius: 1000m}}], window: 1h, "
    "share: redis, then: [{over: 5, do: deny}]}",
    "{name: p, watch: failed, key: ip, window: 1h, share: {redis: {sync: 200ms}}, "
    "then: [{over: 5, do: deny, for: 1h}]}",
    "{name: p, sequence: [failed, ok], within: 1m, key: ip, share: redis, then: [{do: flag}]}",
    "{name: p, sequence: [failed, no ok], within: 1m, key: ip, share: redis, "
    "then: [{do: graylist, for: 1h}]}",
    "{name: p, pair: [failed, ok], within: 1m, key: ip, share: redis, then: [{do: graylist, for: "
    "1h}]}",
};
/// Their replacement: it has none of their counters, events, lists or patterns.
constexpr char kOthers[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
)";

enum class How { matched, unmatched, aborted, failed, not_sent };
constexpr How kEnds[] = {How::matched, How::unmatched, How::aborted, How::failed, How::not_sent};

struct Reloaded {
  explicit Reloaded(const std::string& policy)
      : world(std::string(kHead) + "  - " + policy + "\n") {
    gate.use_store(store, {7, "", false, milliseconds{60'000}, milliseconds{60'000}},
                   milliseconds{5});
    put_in_use();
  }
  void put_in_use() {
    alive.add(world.set_);
    gate.use(world.set_);
  }
  /// Passes the store's answers back to the gate, until there are no more.
  void settle_down() {
    for (int round = 0; round < 10; ++round) {
      EXPECT_EQ(store.dangling(), 0) << "the store is asked with a counter that is gone";
      if (store.dangling() != 0) store.asked.clear();
      store.deliver();
      gate.tick(world.now);
    }
    EXPECT_TRUE(store.asked.empty());
  }
  Ticket* begin() {
    for (int round = 0; round < 10; ++round) {
      const Decision judgement =
          judge_or_park(gate, request.view(world.now), world.now, true, session);
      if (judgement.effect.kind != Effect::Kind::wait) {
        gate.unpark(session);
        return judgement.ticket;
      }
      store.deliver();
      gate.tick(world.now);
    }
    ADD_FAILURE() << "still waiting";
    return nullptr;
  }
  void end(Ticket& ticket, How how) {
    if (how == How::matched || how == How::unmatched) {
      Answer answer;
      answer.status = how == How::matched ? 401 : 200;
      gate.answered(ticket, answer, world.now);
    }
    gate.finish(ticket,
                how == How::aborted    ? End::aborted
                : how == How::failed   ? End::upstream_failed
                : how == How::not_sent ? End::not_sent
                                       : End::complete,
                world.now);
  }

  Alive alive;
  policies::World world;
  WatchedStore store{alive, world.now};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{}, metrics.cells(0), nullptr};
  Session session;
  policies::TestRequest request = std::move(policies::TestRequest("POST /login")
                                                .header("x-user", "alice")
                                                .header("x-n", "2")
                                                .header("x-lon", "8.5")
                                                .header("x-lat", "47.4"));
};

class Reload : public testing::TestWithParam<std::tuple<const char*, How>> {};

TEST_P(Reload, EndsWhatItBeganWithThePoliciesThatBeganIt) {
  const auto& [policy, how] = GetParam();
  SCOPED_TRACE(policy);
  Reloaded r(policy);
  Ticket* const ticket = r.begin();
  ASSERT_NE(ticket, nullptr);
  r.store.deliver();
  r.world.use(kOthers);
  r.put_in_use();
  EXPECT_TRUE(r.alive.any_older()) << "its request is still under way";
  r.world.now += milliseconds{20'000};
  r.gate.renew_places(r.world.now);
  r.settle_down();
  EXPECT_TRUE(r.alive.any_older());
  r.end(*ticket, how);
  r.settle_down();
  EXPECT_FALSE(r.alive.any_older()) << "nothing needs the former policies any more";
}

INSTANTIATE_TEST_SUITE_P(All, Reload,
                         testing::Combine(testing::ValuesIn(kPolicies), testing::ValuesIn(kEnds)));

}  // namespace
}  // namespace weir::gate::reload_test
