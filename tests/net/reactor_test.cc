#include "net/reactor.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "net/worker_pool.h"

namespace weir::net::reactor_test {
namespace {

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    ours = Fd(fds[0]);
    theirs = Fd(fds[1]);
  }
  Fd ours, theirs;
};

struct Handler final : EventHandler {
  void on_events(std::uint32_t events) override { function(events); }
  std::function<void(std::uint32_t)> function;
};

struct Ring final : Timer {
  void on_timer(TimePoint now) override { function(now); }
  std::function<void(TimePoint)> function;
};

class ReactorTest : public ::testing::Test {
 protected:
  ReactorTest() { pool.start(); }
  void on_worker(std::function<void()> function) {
    std::promise<void> done;
    worker.post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  WorkerPool pool{1};
  Worker& worker = pool[0];
};

TEST_F(ReactorTest, who_goes_on_later_comes_behind_what_others_have) {
  Pair first, second;
  Handler greedy, small;
  std::string order;
  std::promise<void> done;
  greedy.function = [&](std::uint32_t events) {
    order += events == 0 ? 'g' : 'G';
    if (order.size() < 8) return worker.reactor().go_on_later(greedy);
    done.set_value();
  };
  small.function = [&](std::uint32_t) { order += 's'; };
  on_worker([&] {
    ASSERT_TRUE(worker.reactor().add(first.ours.get(), EPOLLIN | EPOLLET, greedy));
    ASSERT_TRUE(worker.reactor().add(second.ours.get(), EPOLLIN | EPOLLET, small));
    ASSERT_EQ(::write(first.theirs.get(), "x", 1), 1);
    ASSERT_EQ(::write(second.theirs.get(), "x", 1), 1);
  });
  done.get_future().wait();
  on_worker([&] {
    EXPECT_EQ(order.substr(0, 3), "Gsg") << "a round each, not one turn for all of it: " << order;
    worker.reactor().remove(first.ours.get());
    worker.reactor().remove(second.ours.get());
  });
}

TEST_F(ReactorTest, who_has_events_of_its_own_goes_on_once_a_round) {
  Pair pair;
  Handler greedy;
  std::vector<std::uint64_t> turns;
  std::promise<void> done;
  greedy.function = [&](std::uint32_t) {
    turns.push_back(worker.reactor().turn());
    if (turns.size() == 20) return done.set_value();
    if (turns.size() > 20) return;
    worker.reactor().go_on_later(greedy);
    EXPECT_EQ(::write(pair.theirs.get(), "x", 1), 1);
  };
  on_worker([&] {
    ASSERT_TRUE(worker.reactor().add(pair.ours.get(), EPOLLIN | EPOLLET, greedy));
    ASSERT_EQ(::write(pair.theirs.get(), "x", 1), 1);
  });
  done.get_future().wait();
  on_worker([&] {
    for (std::size_t i = 1; i < 20; ++i) EXPECT_GT(turns[i], turns[i - 1]);
    worker.reactor().remove(pair.ours.get());
  });
  on_worker([] {});
}

TEST_F(ReactorTest, who_asks_outside_a_round_goes_on_too) {
  Handler late;
  std::promise<std::uint32_t> done;
  late.function = [&](std::uint32_t events) { done.set_value(events); };
  on_worker([&] { worker.reactor().go_on_later(late); });
  EXPECT_EQ(done.get_future().get(), 0u);
}

TEST_F(ReactorTest, tells_of_readability_once_per_edge) {
  Pair pair;
  Handler handler;
  std::atomic<int> calls{0};
  std::promise<void> first, second;
  handler.function = [&](std::uint32_t events) {
    EXPECT_NE(events & EPOLLIN, 0u);
    (++calls == 1 ? first : second).set_value();
  };
  on_worker(
      [&] { ASSERT_TRUE(worker.reactor().add(pair.ours.get(), EPOLLIN | EPOLLET, handler)); });
  ASSERT_EQ(::send(pair.theirs.get(), "a", 1, 0), 1);
  first.get_future().wait();
  on_worker([] {});
  EXPECT_EQ(calls, 1);  // unread, yet no second event
  ASSERT_EQ(::send(pair.theirs.get(), "b", 1, 0), 1);
  second.get_future().wait();
  on_worker([&] { pair.ours.close(); });
}

/// Reads ahead, answers by way of the outbox, and says when it did what.
struct Staged final : EventHandler, Sender {
  Staged(Worker& w, std::vector<std::string>& said) : worker(w), log(said) {}
  int reads_ahead() const noexcept override { return pair.ours.get(); }
  void on_events(std::uint32_t) override {
    char byte;
    const bool drained = ::recv(pair.ours.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
    const std::span<char> room = worker.scratch_in(*this);
    const IoResult read = worker.reactor().receive(*this, pair.ours.get(), room);
    log.push_back("handled " + std::string(room.data(), read.bytes) + (drained ? "" : " late"));
    const iovec part{room.data(), read.bytes};
    EXPECT_TRUE(worker.reactor().outbox().put(*this, {&part, 1}, read.bytes));
  }
  void send_now(std::string_view bytes) override {
    log.push_back("sent " + std::string(bytes));
    EXPECT_EQ(transmit(pair.ours.get(), bytes).bytes, bytes.size());
    if (--*left == 0) done.set_value();
  }
  Worker& worker;
  std::vector<std::string>& log;
  Pair pair;
  std::shared_ptr<int> left;
  std::promise<void> done;
};

TEST_F(ReactorTest, receives_all_before_it_handles_any_and_sends_when_all_are_handled) {
  std::vector<std::string> log;
  Staged a(worker, log), b(worker, log);
  a.left = b.left = std::make_shared<int>(2);
  on_worker([&] {
    for (Staged* one : {&a, &b}) {
      ASSERT_TRUE(worker.reactor().add(one->pair.ours.get(), EPOLLIN | EPOLLET, *one));
      ASSERT_EQ(::send(one->pair.theirs.get(), one == &a ? "a" : "b", 1, 0), 1);
    }
  });
  b.done.get_future().wait();
  on_worker([] {});
  EXPECT_EQ(log, (std::vector<std::string>{"handled a", "handled b", "sent a", "sent b"}));
  on_worker([&] { a.pair.ours.close(), b.pair.ours.close(); });
}

TEST_F(ReactorTest, rings_timers_without_anything_else_happening) {
  Ring ring;
  std::promise<TimePoint> rung;
  ring.function = [&](TimePoint now) { rung.set_value(now); };
  TimePoint deadline{};
  on_worker([&] {
    deadline = worker.now() + milliseconds(30);
    worker.wheel().arm(ring, deadline);
  });
  EXPECT_GE(rung.get_future().get(), deadline);
}

TEST_F(ReactorTest, an_idle_worker_uses_no_cpu) {
  Ring ring;  // rings after 300 ms, in which nothing else happens
  std::promise<void> rung;
  rusage before{}, after{};
  ring.function = [&](TimePoint) {
    ::getrusage(RUSAGE_THREAD, &after);
    rung.set_value();
  };
  on_worker([&] {
    worker.wheel().arm(ring, worker.now() + milliseconds(300));
    ::getrusage(RUSAGE_THREAD, &before);
  });
  rung.get_future().wait();
  EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 5);  // asleep all the time, not ticking
}

TEST_F(ReactorTest, hooks_run_at_the_end_of_each_turn) {
  struct Hook final : TurnHook {
    void end_of_turn(TimePoint) override { ++turns; }
    std::atomic<int> turns{0};
  } hook;
  on_worker([&] { worker.reactor().add_hook(hook); });
  on_worker([] {});
  on_worker([] {});
  EXPECT_GE(hook.turns, 2);
  on_worker([&] { worker.reactor().remove_hook(hook); });
}

TEST_F(ReactorTest, a_busy_socket_does_not_starve_posted_work) {
  Pair pair;
  Handler handler;
  handler.function = [&](std::uint32_t) {
    worker.reactor().modify(pair.ours.get(), EPOLLIN | EPOLLET, handler);  // ready again at once
  };
  on_worker([&] {
    ASSERT_TRUE(worker.reactor().add(pair.ours.get(), EPOLLIN | EPOLLET, handler));
    EXPECT_EQ(::send(pair.theirs.get(), "x", 1, 0), 1);
  });
  for (int i = 0; i < 100; ++i) on_worker([] {});
  on_worker([&] { pair.ours.close(); });
}

TEST_F(ReactorTest, a_pool_stops_twice_and_runs_what_was_posted_before) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) worker.post([&] { ++ran; });
  pool.stop();
  pool.stop();
  EXPECT_EQ(ran, 100);
}

}  // namespace
}  // namespace weir::net::reactor_test
