// Waiting requests are resumed by the worker's loop alone, with any set of doors.
#include "gate/gate_turn.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>

#include "gate/gate.h"
#include "gate/judging.h"
#include "net/worker_pool.h"
#include "tests/policies/world.h"

namespace weir::gate::gate_turn_test {
namespace {

/// A login at a worker; one try at a time may be under way.
struct Login final : Waiter {
  Login(Gate& in, net::Worker& on) : gate(in), worker(on) {}
  void judge(bool may_wait) {
    const Decision decision =
        judge_or_park(gate, request.view(worker.now()), worker.now(), may_wait, *this);
    kind = decision.effect.kind;
    ticket = decision.ticket;
  }
  void resume(TimePoint now) override {
    judge_resumed(gate, *this, now, [this](bool may_wait) {
      judge(may_wait);
      return kind == Effect::Kind::wait;
    });
    if (kind == Effect::Kind::wait) return;
    turn = worker.reactor().turn();
    done.set_value();
  }
  Gate& gate;
  net::Worker& worker;
  policies::TestRequest request{"POST /login"};
  Effect::Kind kind = Effect::Kind::pass;
  Ticket* ticket = nullptr;
  std::uint64_t turn = 0;  ///< in which it was resumed
  std::promise<void> done;
};

class GateTurnTest : public testing::Test {
 protected:
  /// The first login is under way, and the second waits for it, for `wait` at most.
  explicit GateTurnTest(milliseconds wait = milliseconds{60'000})
      : gate{shared, 0, GateLimits{10, 10, wait}, metrics.cells(0), nullptr} {
    gate.use(world.set_);
    pool.start();
    on_worker([this] {
      first.judge(true);
      second.judge(true);
      EXPECT_NE(first.ticket, nullptr);
      EXPECT_EQ(second.kind, Effect::Kind::wait);
    });
  }
  ~GateTurnTest() override { pool.stop(); }
  void on_worker(std::function<void()> function) {
    std::promise<void> done;
    pool[0].post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  bool is_resumed() {
    return second.done.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }

  policies::World world{R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: p, watch: failed, key: ip, window: 10m, then: [{over: 1, do: deny}]}
)"};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate;
  net::WorkerPool pool{1};
  GateTurn turn{pool[0], gate};
  Login first{gate, pool[0]}, second{gate, pool[0]};
};

class ShortWaitTest : public GateTurnTest {
 protected:
  ShortWaitTest() : GateTurnTest(milliseconds{60}) {}
};

TEST_F(ShortWaitTest, WhoWaitsIsRefusedAtItsDeadlineThoughNothingHappens) {
  ASSERT_TRUE(is_resumed());
  EXPECT_EQ(second.kind, Effect::Kind::answer);
  on_worker([this] { gate.finish(*first.ticket, End::not_sent, pool[0].now()); });
}

TEST_F(GateTurnTest, WhoseTurnItIsIsResumedBeforeTheDoorsOfTheSameTurn) {
  struct Door final : net::TurnHook {
    explicit Door(const Login& of) : login(of) {}
    void end_of_turn(TimePoint) override {
      if (login.ticket != nullptr && seen == 0) seen = login.worker.reactor().turn();
    }
    const Login& login;
    std::uint64_t seen = 0;
  } door(second);
  on_worker([&] {
    pool[0].reactor().add_hook(door);
    gate.finish(*first.ticket, End::not_sent, pool[0].now());
  });
  ASSERT_TRUE(is_resumed());
  on_worker([&] {
    EXPECT_EQ(second.kind, Effect::Kind::pass);
    EXPECT_EQ(door.seen, second.turn);
    pool[0].reactor().remove_hook(door);
    gate.finish(*second.ticket, End::not_sent, pool[0].now());
  });
}

}  // namespace
}  // namespace weir::gate::gate_turn_test
