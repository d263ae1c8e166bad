// The requests that wait for reservations, and those that are judged again when one settles.
#include "gate/wait_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "gate/gate.h"
#include "gate/judging.h"
#include "tests/policies/world.h"
#include "tests/support/seed.h"

namespace weir::gate::wait_queue_test {
namespace {

/// Many accounts, each with one try in flight at most.
struct Accounts {
  struct Session final : Waiter {
    Session(Accounts& t, int n) : test(t) { request.header("X-User", "user" + std::to_string(n)); }
    void resume(TimePoint now) override {
      ++test.resumed;
      test.judge(*this, now < test.gate.waiting_until(*this));
    }
    Accounts& test;
    policies::TestRequest request{"POST /login"};
    Ticket* ticket = nullptr;
    bool refused = false;
  };

  void judge(Session& session, bool may_wait = true) {
    const Decision judgement =
        judge_or_park(gate, session.request.view(now), now, may_wait, session);
    if (judgement.effect.kind == Effect::Kind::wait) return;
    session.ticket = judgement.ticket;
    session.refused = judgement.effect.kind == Effect::Kind::answer;
    gate.unpark(session);
  }
  Session& arrive(int account) {
    judge(sessions.emplace_back(*this, account));
    return sessions.back();
  }

  policies::World world{R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: p, watch: failed, key: header.x_user, window: 10m, then: [{over: 1, do: deny}]}
)"};
  telemetry::Metrics metrics{1};
  Shared shared{world.bank, world.lists, world.secret, world.stats};
  Gate gate{shared, 0, GateLimits{10, 5'000, milliseconds{1'000}}, metrics.cells(0), nullptr};
  TimePoint now = world.now;
  std::deque<Session> sessions;
  int resumed = 0;

  Accounts() { gate.use(world.set_); }
};

TEST(WaitQueue, a_settlement_wakes_nobody_who_waits_for_another_key) {
  Accounts t;
  std::vector<Ticket*> tickets;
  for (int i = 0; i < 500; ++i) tickets.push_back(t.arrive(i).ticket);
  for (int i = 0; i < 500; ++i) t.arrive(i);
  ASSERT_TRUE(t.gate.has_waiters());
  t.gate.tick(t.now + milliseconds{25});  // the first one looks once whether it came too late
  t.resumed = 0;
  for (int i = 0; i < 100; ++i) {
    t.gate.finish(*tickets[static_cast<std::size_t>(i)], End::upstream_failed, t.now);
    t.gate.tick(t.now + milliseconds{26});
  }
  EXPECT_EQ(t.resumed, 100) << "one judgement for each settlement";
  for (int i = 0; i < 100; ++i) {
    auto& session = t.sessions[500 + static_cast<std::size_t>(i)];
    EXPECT_NE(session.ticket, nullptr) << i;
  }
}

TEST(WaitQueue, a_settlement_on_another_worker_wakes_few_others) {
  Accounts t;
  Gate other(t.shared, 0, GateLimits{}, t.metrics.cells(0), nullptr);
  other.use(t.world.set_);
  std::vector<Ticket*> tickets;
  std::deque<Accounts::Session> there;
  for (int i = 0; i < 500; ++i) {
    auto& session = there.emplace_back(t, i);
    tickets.push_back(other.judge(session.request.view(t.now), t.now, true, session).ticket);
  }
  for (int i = 0; i < 500; ++i) t.arrive(i);
  t.gate.tick(t.now + milliseconds{25});
  t.resumed = 0;
  for (int i = 0; i < 100; ++i) {
    other.finish(*tickets[static_cast<std::size_t>(i)], End::upstream_failed, t.now);
    t.gate.tick(t.now + milliseconds{26});
    EXPECT_NE(t.sessions[static_cast<std::size_t>(i)].ticket, nullptr) << i;
  }
  // Its own, and by chance one in 1,024 of the others each time: 49 in all, give or take.
  EXPECT_GE(t.resumed, 100);
  EXPECT_LE(t.resumed, 250);
}

/// A waiter that parks again or is done, as the test's dice say.
struct Dice final : Waiter {
  void resume(TimePoint now) override;
  WaitQueue* queue = nullptr;
  std::vector<Dice*>* log = nullptr;
  Hash128 key;
  TimePoint until{};
  bool again = false;
};
void Dice::resume(TimePoint now) {
  log->push_back(this);
  if (again && now < until) {
    queue->park(*this, key, now, milliseconds{100});
  } else {
    queue->unpark(*this);
  }
}

TEST(WaitQueue, agrees_with_a_plain_list_over_random_calls) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  WaitQueue queue(50);
  std::deque<Dice> all(80);
  std::vector<Dice*> log;
  std::vector<Dice*> waiting;  // the naive queue
  TimePoint now = from_ms(1'000'000);
  for (Dice& dice : all) {
    dice.queue = &queue;
    dice.log = &log;
  }
  const auto forget = [&](Dice* dice) { std::erase(waiting, dice); };
  const auto first_of = [&](const Hash128& key) -> Dice* {
    for (Dice* dice : waiting) {
      if (dice->key == key) return dice;
    }
    return nullptr;
  };
  // One that parks again goes to the front of its key.
  const auto woken = [&](Dice* dice) {
    forget(dice);
    if (dice->again && now < dice->until) waiting.insert(waiting.begin(), dice);
  };
  for (int step = 0; step < 20'000; ++step) {
    now += milliseconds{static_cast<int>(random() % 5)};
    log.clear();
    for (Dice& dice : all) dice.again = random() % 2 == 0;
    Hash128 key;
    key.hi = random() % 6;
    key.lo = random() % 2;
    switch (random() % 5) {
      case 0: {
        Dice& dice = all[random() % all.size()];
        if (std::find(waiting.begin(), waiting.end(), &dice) != waiting.end()) break;
        dice.key = key;
        dice.until = now + milliseconds{100};
        const bool room = waiting.size() < 50;
        ASSERT_EQ(queue.park(dice, key, now, milliseconds{100}), room);
        if (room) waiting.push_back(&dice);
        break;
      }
      case 1: {
        Dice* const expected = first_of(key);
        queue.wake(key, now);
        ASSERT_EQ(log.empty() ? nullptr : log.front(), expected);
        if (expected != nullptr) woken(expected);
        break;
      }
      case 2: {
        if (waiting.empty()) break;
        Dice* const gone = waiting[random() % waiting.size()];
        queue.unpark(*gone);
        forget(gone);
        break;
      }
      case 3: {
        SettledGroups groups;
        groups.set(Settlements::group_of(key));
        std::vector<Dice*> expected;
        for (const std::uint64_t lo : {0U, 1U}) {
          Hash128 of = key;
          of.lo = lo;
          if (Dice* const first = first_of(of)) expected.push_back(first);
        }
        queue.wake_groups(groups, now);
        ASSERT_EQ(log.size(), expected.size());
        for (Dice* dice : expected) {
          ASSERT_NE(std::find(log.begin(), log.end(), dice), log.end());
          woken(dice);
        }
        break;
      }
      default: {
        std::vector<Dice*> expected;
        for (Dice* dice : waiting) {
          if (dice->until <= now) expected.push_back(dice);
        }
        queue.expire(now);
        ASSERT_EQ(log.size(), expected.size());
        for (Dice* dice : expected) woken(dice);
      }
    }
    ASSERT_EQ(queue.size(), waiting.size());
  }
  queue.wake_all(now);
  for (Dice& dice : all) queue.unpark(dice);
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace weir::gate::wait_queue_test
