// SIGTERM, as the server sees it: nothing in flight is lost.
#include "tests/proxy/proxy_fixture.h"

namespace weir::test::drain_test {
namespace {

using telemetry::Metric;

class Drain : public ProxyFixture {
 protected:
  void finish_by(milliseconds within) {
    on_worker([&] {
      servers[0]->finish_by((*pool)[0].now() + within, [this] { stopped_.set_value(); });
    });
  }
  std::promise<void> stopped_;
};

TEST_F(Drain, a_draining_server_accepts_and_says_close_on_every_response) {
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  judge().decide = [](const Request& r, bool) {
    Effect effect;
    if (r.path == "/deny") {
      effect.kind = Effect::Kind::answer;
      effect.status = 429;
    }
    return effect;
  };
  start();
  auto early = client();
  EXPECT_EQ(early.get("/").header("connection"), "");
  on_worker([&] { servers[0]->begin_drain(); });
  EXPECT_EQ(early.get("/").header("connection"), "close");
  EXPECT_TRUE(early.at_end());
  auto late = client();
  EXPECT_EQ(late.get("/deny").header("connection"), "close");
  EXPECT_TRUE(late.at_end());
}

TEST_F(Drain, what_is_in_flight_ends_then_the_server_has_stopped) {
  std::promise<void> arrived, go;
  origin([&](Stream& s, int) {
    if (!s.read_head()) return;
    arrived.set_value();
    go.get_future().wait();
    s.write(ok("done"));
  });
  start();
  auto c = client();
  auto fresh = client();  // accepted, has not spoken yet
  c.send(request_text("GET", "/"));
  arrived.get_future().wait();
  ASSERT_TRUE(metric_becomes(Metric::connections_open, 2));
  on_worker([&] { servers[0]->stop_accepting(); });
  finish_by(std::chrono::hours(1));
  EXPECT_FALSE(client().stream().is_open());  // refused
  go.set_value();
  const auto got = c.read();
  EXPECT_EQ(got.body, "done");
  EXPECT_EQ(got.header("connection"), "close");
  fresh.stream().close();
  stopped_.get_future().wait();
  EXPECT_EQ(metric(Metric::connections_open), 0);
}

TEST_F(Drain, an_idle_client_does_not_hold_the_server) {
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start();
  auto idle = client();
  EXPECT_EQ(idle.get("/").status, 200);
  on_worker([&] { servers[0]->stop_accepting(); });
  EXPECT_TRUE(idle.at_end());
  finish_by(std::chrono::hours(1));
  stopped_.get_future().wait();
}

TEST_F(Drain, a_client_that_never_sent_a_byte_does_not_hold_the_server) {
  settings.head_time = std::chrono::hours(1);
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start();
  auto silent = client();
  ASSERT_TRUE(metric_becomes(Metric::connections_open, 1));
  on_worker([&] { servers[0]->stop_accepting(); });
  EXPECT_TRUE(silent.at_end());
  finish_by(std::chrono::hours(1));
  stopped_.get_future().wait();
}

TEST_F(Drain, a_client_that_has_just_come_is_answered) {
  settings.silence = std::chrono::hours(1);
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start();
  auto fresh = client();
  ASSERT_TRUE(metric_becomes(Metric::connections_open, 1));
  on_worker([&] { servers[0]->stop_accepting(); });
  const auto got = fresh.get("/");
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.header("connection"), "close");
  finish_by(std::chrono::hours(1));
  stopped_.get_future().wait();
}

TEST_F(Drain, half_a_head_holds_the_server_for_a_moment_only) {
  settings.head_time = std::chrono::hours(1);
  settings.silence = std::chrono::hours(1);
  settings.drain_head = milliseconds(100);
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start();
  auto first = client(), second = client(), late = client();
  first.send("GET / HTTP/1.1\r\nHo");
  EXPECT_EQ(second.get("/").status, 200);
  second.send("GET / HTTP/1.1\r\nHost: a\r\n");
  ASSERT_TRUE(metric_becomes(Metric::connections_open, 3));
  on_worker([&] { servers[0]->stop_accepting(); });
  late.send("G");  // it had sent nothing
  finish_by(std::chrono::hours(1));
  for (HttpClient* c : {&first, &second, &late}) {
    EXPECT_EQ(c->read().status, 408);
    EXPECT_TRUE(c->at_end());
  }
  stopped_.get_future().wait();
  EXPECT_EQ(metric(Metric::timeout_head), 3);
}

TEST_F(Drain, the_rest_of_a_head_that_comes_soon_is_answered) {
  settings.drain_head = std::chrono::hours(1);
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start();
  auto half = client();
  half.send("GET / HTTP/1.1\r\nHo");
  ASSERT_TRUE(metric_becomes(Metric::connections_open, 1));
  on_worker([&] { servers[0]->stop_accepting(); });
  half.send("st: a\r\n\r\n");
  const auto got = half.read();
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.header("connection"), "close");
  finish_by(std::chrono::hours(1));
  stopped_.get_future().wait();
}

TEST_F(Drain, a_drain_leaves_a_head_no_longer_than_its_own_time) {
  settings.head_time = milliseconds(100);
  settings.drain_head = std::chrono::hours(1);
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start();
  auto half = client();
  half.send("GET / HTTP/1.1\r\nHo");
  ASSERT_TRUE(metric_becomes(Metric::connections_open, 1));
  on_worker([&] { servers[0]->stop_accepting(); });
  finish_by(std::chrono::hours(1));
  EXPECT_EQ(half.read().status, 408);
  stopped_.get_future().wait();
}

TEST_F(Drain, at_the_deadline_the_rest_is_cut_and_every_ticket_is_finished) {
  std::promise<void> arrived;
  origin([&](Stream& s, int) {
    if (!s.read_head()) return;
    arrived.set_value();
    s.read_to_end();
  });
  judge().decide = [](const Request& r, bool may_wait) {
    Effect effect;
    if (r.path == "/held") {
      effect.kind = Effect::Kind::delay;
      effect.hold = std::chrono::hours(1);
    }
    if (r.path == "/parked" && may_wait) effect.kind = Effect::Kind::wait;
    return effect;
  };
  start();
  auto silent = client(), held = client(), parked = client();
  silent.send(request_text("GET", "/silent"));
  arrived.get_future().wait();
  held.send(request_text("GET", "/held"));
  ASSERT_TRUE(judge().wait_for("judge /held"));
  parked.send(request_text("GET", "/parked"));
  ASSERT_TRUE(judge().wait_for("park"));
  on_worker([&] { servers[0]->stop_accepting(); });
  finish_by(milliseconds(50));
  stopped_.get_future().wait();
  EXPECT_TRUE(silent.at_end());
  EXPECT_TRUE(held.at_end());
  EXPECT_TRUE(parked.at_end());
  EXPECT_EQ(judge().open_tickets(), 0u);
  EXPECT_TRUE(judge().wait_for("finish /silent upstream_failed"));
  EXPECT_TRUE(judge().wait_for("finish /held not_sent"));
}

TEST_F(Drain, nothing_is_lost_when_two_workers_stop_under_load) {
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start(2);
  std::atomic<bool> draining{false};
  std::atomic<int> failed{0}, served{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (bool closed = true;;) {
        if (closed && draining) return;
        auto c = client();
        closed = false;
        while (!closed) {
          const auto got = c.get("/");
          if (got.status != 200) {
            ++failed;
            return;
          }
          ++served;
          closed = got.header("connection") == "close";
        }
      }
    });
  }
  while (served < 500) std::this_thread::yield();
  for (unsigned w = 0; w < 2; ++w) on_worker([&] { servers[w]->begin_drain(); }, w);
  draining = true;
  for (auto& thread : threads) thread.join();  // each ends at a response that said close
  for (unsigned w = 0; w < 2; ++w) {
    std::promise<void> stopped;
    on_worker(
        [&] {
          servers[w]->stop_accepting();
          servers[w]->finish_by((*pool)[w].now() + std::chrono::hours(1),
                                [&] { stopped.set_value(); });
        },
        w);
    stopped.get_future().wait();
  }
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace weir::test::drain_test
