// The doors over HTTP, on real sockets.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "authz/door_context.h"
#include "authz/door_server.h"
#include "core/clock.h"
#include "gate/judge.h"
#include "gate/unsettled.h"
#include "net/socket.h"
#include "net/turn.h"
#include "net/worker_pool.h"
#include "telemetry/metrics.h"
#include "tests/support/http_client.h"
#include "tests/support/own_header_spellings.h"

namespace weir::authz::door_test {
namespace {

using namespace weir::test;
/// The body of `/body` is read; `/hold/N` is held for N ms; `/refused` gets an answer of 1.5 KB;
/// the rest passes. No tickets.
class PathJudge final : public gate::Judge {
 public:
  bool wants_body(const Request& request) override { return request.path == "/body"; }
  gate::Decision judge(const Request& request, TimePoint /*now*/, bool /*may_wait*/,
                       gate::Waiter& /*waiter*/) override {
    gate::Decision decision;
    Effect& effect = decision.effect;
    if (request.path == "/refused") {
      effect.kind = Effect::Kind::answer;
      effect.status = 403;
      effect.response_headers = lines_;
    } else if (request.path.starts_with("/hold/")) {
      effect.kind = Effect::Kind::delay;
      effect.hold = milliseconds(std::stoi(std::string(request.path.substr(6))));
    }
    return decision;
  }
  gate::Decision resume(const Request& /*request*/, TimePoint /*now*/, bool /*may_wait*/,
                        gate::Waiter& /*waiter*/) override {
    throw std::logic_error("no judgement is suspended");
  }
  bool park(gate::Waiter& /*waiter*/, const gate::Decision& /*decision*/,
            TimePoint /*now*/) override {
    return false;
  }
  TimePoint waiting_until(const gate::Waiter& /*waiter*/) const override { return {}; }
  void unpark(gate::Waiter& /*waiter*/) override {}
  void end_hold() override {}
  bool answered(gate::Ticket& /*t*/, const Answer& /*a*/, TimePoint /*now*/) override {
    return false;
  }
  void answered_body(gate::Ticket& /*t*/, const Answer& /*a*/, TimePoint /*now*/) override {}
  void finish(gate::Ticket& /*t*/, gate::End /*end*/, TimePoint /*now*/) override {}
  bool has_waiters() const override { return false; }
  void tick(TimePoint /*now*/) override {}

 private:
  std::string lines_ = "X-Long: " + std::string(1'500, 'x') + "\r\n";
};

std::string check(std::string_view path) {
  return "GET /ext_authz" + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n";
}

class DoorTest : public ::testing::Test {
 protected:
  DoorTest() { settings.doors.push_back({&ext_authz_caller(), "/ext_authz", {}}); }
  void start() {
    auto fds = net::open_listeners(net::SocketAddress::tcp(Address::loopback(), 0), 1);
    ASSERT_TRUE(fds);
    const net::Fd& fd = fds->front();
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    port = net::SocketAddress::of_socket(fd.get())->port();
    net::Worker& worker = pool[0];
    unsettled.emplace(judge, worker.wheel(), 0, milliseconds(1'000), metrics.cells(0));
    server = std::make_unique<DoorServer>(worker, settings, judge, *unsettled, metrics.cells(0));
    ASSERT_TRUE(server->listen(std::move(fds->front())));
    pool.start();
  }
  void TearDown() override {
    pool.stop();
    server.reset();
  }
  void on_worker(std::function<void()> function) {
    std::promise<void> done;
    pool[0].post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  HttpClient client() { return HttpClient(port); }
  std::uint64_t turn() {
    std::uint64_t number = 0;
    on_worker([&] { number = pool[0].reactor().turn(); });
    return number;
  }
  /// Asks on the worker until it is so, for at most 20 s.
  bool comes_true(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (bool is = false; !is;) {
      if (std::chrono::steady_clock::now() > until) return false;
      on_worker([&] { is = condition(); });
    }
    return true;
  }
  bool all_closed() {
    return comes_true([this] { return server->open_connections() == 0; });
  }
  /// Another caller's check takes so long.
  void pass(milliseconds time) {
    EXPECT_EQ(client().ask(check("/hold/" + std::to_string(time.count()))).status, 200);
  }

  DoorSettings settings;
  int send_buffer = 16 << 10;
  std::uint16_t port = 0;
  PathJudge judge;
  telemetry::Metrics metrics{2};
  net::WorkerPool pool{1};
  std::optional<gate::Unsettled> unsettled;
  std::unique_ptr<DoorServer> server;
};

// Of a head that has begun, and of the bytes behind a check that is held.
TEST_F(DoorTest, what_it_keeps_is_a_part_of_what_the_worker_may_keep) {
  start();
  const auto keeps = [this](bool some) {
    return comes_true([this, some] {
      const std::size_t bytes = pool[0].blocks().in_use();
      return some ? bytes >= 5'000 : bytes == 0;
    });
  };
  const std::string begun_head = "GET /ext_authz/a HTTP/1.1\r\nX-Long: " + std::string(5'000, 'x');
  EXPECT_TRUE(keeps(false));
  for (const std::string& before : {std::string(), check("/hold/3600000")}) {
    {
      auto begun = client();
      ASSERT_TRUE(begun.send(before + begun_head));
      EXPECT_TRUE(keeps(true)) << before;
    }
    EXPECT_TRUE(keeps(false)) << before;
  }
}

// Also of a check that is held: its head is read once more.
TEST_F(DoorTest, envoy_removes_every_spelling_of_our_own_headers_that_it_passes_on) {
  start();
  auto c = client();
  for (const std::string path : {"/a", "/hold/5"}) {
    for (const std::string& name : own_header_spellings()) {
      const std::string text = check(path);
      const std::string gone =
          c.ask(text.substr(0, text.size() - 2) + name + ": flag\r\nX-Weird: 1\r\n\r\n")
              .header("x-envoy-auth-headers-to-remove");
      EXPECT_NE((", " + gone + ",").find(", " + name + ","), std::string::npos) << path << name;
      EXPECT_EQ(gone.find("X-Weird"), std::string::npos);
    }
  }
  const std::string text = check("/a");
  const std::string gone =
      c.ask(text.substr(0, text.size() - 2) + "X-Weir-Else: 1\r\nX-WEIR-SCORE: 1\r\n\r\n")
          .header("x-envoy-auth-headers-to-remove");
  EXPECT_TRUE(gone.ends_with("x-weir-request-id, X-Weir-Else")) << gone;
}

// The caller has sent all its checks before it reads. Each held one ends a batch of answers, so one
// of them is held when the caller's window is full.
TEST_F(DoorTest, a_held_check_is_released_after_a_stall) {
  constexpr int kBatches = 24, kRefused = 30;
  settings.write = std::chrono::seconds(20);
  start();
  auto c = client();
  for (int batch = 0; batch < kBatches; ++batch) {
    std::string text;
    for (int i = 0; i < kRefused; ++i) text += check("/refused");
    ASSERT_TRUE(c.send(text + check("/hold/5")));
  }
  pass(milliseconds(300));
  const auto before = std::chrono::steady_clock::now();
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int i = 0; i < kRefused; ++i) ASSERT_EQ(c.read().status, 403) << batch;
    ASSERT_EQ(c.read().status, 200) << batch;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - before, settings.write)
      << "the deadline of the stall is not the end of the hold";
}

// Another check waits for 32 checks of each caller, however many that caller has sent at once.
TEST_F(DoorTest, pipelined_checks_leave_the_others_their_turn) {
  constexpr std::uint64_t kChecks = 1'000;
  start();
  auto c = client();
  const std::uint64_t before = turn();
  std::string text;
  for (std::uint64_t i = 0; i < kChecks; ++i) text += check("/");
  ASSERT_TRUE(c.send(text));
  for (std::uint64_t i = 0; i < kChecks; ++i) ASSERT_EQ(c.read().status, 200) << i;
  EXPECT_GE(turn() - before, kChecks / net::kTurnSteps);
}

// The same of a body that is thrown away behind the answer.
TEST_F(DoorTest, an_unread_body_leaves_the_others_their_turn) {
  constexpr std::size_t kBytes = 4 << 20;
  start();
  auto c = client();
  const std::uint64_t before = turn();
  ASSERT_TRUE(c.send("POST /ext_authz/ HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                     std::to_string(kBytes) + "\r\n\r\n" + std::string(kBytes, 'b')));
  EXPECT_EQ(c.read().status, 200);
  EXPECT_EQ(c.ask(check("/")).status, 200) << "the connection goes on behind the body";
  EXPECT_GE(turn() - before, kBytes / net::Worker::kScratchBytes);
}

// The same of bytes behind an answer that closes.
TEST_F(DoorTest, bytes_behind_the_last_answer_leave_the_others_their_turn) {
  constexpr std::size_t kBytes = 32 << 20;
  settings.linger = std::chrono::seconds(60);
  start();
  auto c = client();
  const std::uint64_t before = turn();
  ASSERT_TRUE(c.send("no head\r\n\r\n"));
  EXPECT_EQ(c.read().status, 400);
  ASSERT_TRUE(c.send(std::string(kBytes, 'b')));
  c.stream().shutdown_write();
  EXPECT_TRUE(all_closed());
  EXPECT_GE(turn() - before, kBytes / net::Worker::kScratchBytes);
}

TEST_F(DoorTest, what_is_malformed_is_counted_by_its_reason) {
  using telemetry::Metric;
  settings.head.start_line = 100;
  start();
  const auto asked = [&](const std::string& bytes) {
    auto c = client();
    EXPECT_TRUE(c.send(bytes));
    return c.read().status;
  };
  EXPECT_EQ(asked("no head\r\n\r\n"), 400);
  EXPECT_EQ(asked(check("/" + std::string(200, 'x'))), 414);
  EXPECT_EQ(metrics.sum(Metric::limit_target), 1);
  EXPECT_EQ(asked("POST /ext_authz/body HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.7\r\n"
                  "Transfer-Encoding: chunked\r\n\r\nno size\r\n"),
            400);
  EXPECT_EQ(metrics.sum(Metric::requests_malformed), 3);
}

// Its last bytes and its end are one event.
TEST_F(DoorTest, a_caller_that_ends_behind_the_last_answer_is_closed_at_once) {
  settings.linger = std::chrono::seconds(60);
  start();
  auto c = client();
  ASSERT_TRUE(c.send("no head\r\n\r\n"));
  EXPECT_EQ(c.read().status, 400);
  on_worker([&] {
    c.send("more");
    c.stream().shutdown_write();
  });
  EXPECT_TRUE(all_closed());
}

TEST_F(DoorTest, a_drain_waits_a_moment_for_heads_that_are_not_whole) {
  settings.head_time = std::chrono::hours(1);
  settings.silence = milliseconds(100);
  settings.drain_head = milliseconds(100);
  start();
  auto silent = client(), first = client(), second = client(), soon = client();
  first.send("GET /ext_authz/ HT");
  EXPECT_EQ(second.ask(check("/")).status, 200);
  second.send("GET /ext_authz/ HT");
  const std::string whole = check("/");
  soon.send(whole.substr(0, 20));
  ASSERT_TRUE(comes_true([this] { return server->open_connections() == 4; }));
  std::promise<void> stopped;
  on_worker([&] {
    server->stop_accepting();
    server->finish_by(pool[0].now() + std::chrono::hours(1), [&] { stopped.set_value(); });
    soon.send(whole.substr(20));
  });
  EXPECT_EQ(soon.read().status, 200);
  EXPECT_EQ(first.read().status, 408);
  EXPECT_EQ(second.read().status, 408);
  EXPECT_TRUE(silent.at_end());
  stopped.get_future().wait();
}

// The newcomer and the check are events of one batch, in either order: the check is received ahead
// of the newcomer, or its answer is put off to the end of the batch.
TEST_F(DoorTest, a_caller_that_has_just_asked_makes_no_room) {
  settings.connections_max = 1;
  start();
  auto caller = client();
  EXPECT_EQ(caller.ask(check("/")).status, 200);
  for (const bool asks_first : {false, true}) {
    std::optional<HttpClient> newcomer;
    on_worker([&] {
      if (asks_first) caller.send(check("/"));
      newcomer.emplace(client());
      if (!asks_first) caller.send(check("/"));
    });
    EXPECT_EQ(caller.read().status, 200) << asks_first;
    EXPECT_TRUE(newcomer->at_end()) << asks_first;
  }
  auto newcomer = client();
  EXPECT_EQ(newcomer.ask(check("/")).status, 200);
  EXPECT_TRUE(caller.at_end()) << "it was idle";
}

}  // namespace
}  // namespace weir::authz::door_test
