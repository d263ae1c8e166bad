// Failures: apps that are down, silent, cut, lie; clients that are slow, rude or too many.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include "tests/proxy/proxy_fixture.h"

#ifdef __SANITIZE_ADDRESS__
// UBSan's check of virtual calls opens a pipe, and ends the process without descriptors. So here
// accepting alone finds none: weir calls this one, instead of the C library's.
namespace {
std::atomic<bool> g_no_descriptors{false};
}
extern "C" int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  if (g_no_descriptors) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_accept4, fd, address, size, flags));
}
#endif

namespace weir::test::faults_test {
namespace {

/// While it lives, the process gets no new descriptor.
class NoDescriptors {
 public:
#ifdef __SANITIZE_ADDRESS__
  NoDescriptors() { g_no_descriptors = true; }
  ~NoDescriptors() { g_no_descriptors = false; }
#else
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 3;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
#endif
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  [[maybe_unused]] rlimit before_{};
};

using telemetry::Metric;

class Faults : public ProxyFixture {};

TEST_F(Faults, an_app_that_is_down_is_a_503_at_once_and_recovery_is_too) {
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("back"); }));
  app().stop();
  start();
  auto c = client();
  for (int i = 0; i < 3; ++i) {
    const auto got = c.get("/down");
    EXPECT_EQ(got.status, 503);
    EXPECT_EQ(got.header("content-type"), "application/problem+json");
    EXPECT_EQ(got.header("retry-after"), "1");
  }
  EXPECT_TRUE(judge().wait_for("finish /down not_sent", 3));
  EXPECT_EQ(c.post("/down", "body").status, 503);
  app().restart();
  EXPECT_EQ(c.get("/up").body, "back");
}

TEST_F(Faults, a_missing_unix_socket_is_a_503) {
  origin_unix(OriginServer::answering([](std::string_view, std::string) { return ok("u"); }));
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").body, "u");
  app().stop();
  EXPECT_EQ(c.get("/").status, 503);
  app().restart();
  EXPECT_EQ(c.get("/").body, "u");
}

TEST_F(Faults, a_silent_app_is_a_504_at_the_answer_timeout) {
  settings.answer = milliseconds(60);
  origin([](Stream& s, int) {
    while (const auto head = s.read_head()) {
      if (!head->starts_with("GET /silent")) s.write(ok("ok"));
    }
  });
  start();
  auto c = client();
  auto other = client();
  c.send(request_text("GET", "/silent"));
  EXPECT_EQ(other.get("/").body, "ok");
  EXPECT_EQ(c.read().status, 504);
  EXPECT_EQ(c.get("/").body, "ok");
  EXPECT_TRUE(judge().wait_for("finish /silent upstream_failed"));
  EXPECT_EQ(metric(Metric::timeout_answer), 1);
  EXPECT_EQ(metric(Metric::upstream_silent), 1);
  EXPECT_EQ(metric(Metric::upstream_failures), 0);
}

TEST_F(Faults, an_app_that_does_not_take_connections_is_a_504_at_the_connect_timeout) {
  // A listener with a full backlog: the kernel drops further SYNs.
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = net::SocketAddress::tcp(Address::loopback(), 0);
  ASSERT_EQ(::bind(fd, address.raw(), address.size()), 0);
  ASSERT_EQ(::listen(fd, 0), 0);
  fixed_upstream_port = net::SocketAddress::of_socket(fd)->port();
  address = net::SocketAddress::tcp(Address::loopback(), fixed_upstream_port);
  std::vector<net::Fd> filling;
  for (int i = 0; i < 8; ++i) {
    filling.push_back(*net::make_socket(address));
    net::begin_connect(filling.back().get(), address);
  }
  settings.connect = milliseconds(60);
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").status, 504);
  EXPECT_EQ(metric(Metric::timeout_connect), 1);
  EXPECT_EQ(metric(Metric::upstream_failures), 1);
  EXPECT_TRUE(judge().wait_for("finish / not_sent"));
  ::close(fd);
}

/// Before an app whose Unix socket has a full backlog.
class FullBacklog : public Faults {
 protected:
  FullBacklog() {
    upstream_path = ::testing::TempDir() + "weir-backlog-" + std::to_string(::getpid());
    const auto address = *net::SocketAddress::unix_path(upstream_path);
    ::unlink(upstream_path.c_str());
    EXPECT_EQ(::bind(listener_.get(), address.raw(), address.size()), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    int error = 0;
    while (error == 0) {
      filling_.push_back(*net::make_socket(address));
      error = net::begin_connect(filling_.back().get(), address);
    }
    EXPECT_EQ(error, EAGAIN);
  }
  ~FullBacklog() override { ::unlink(upstream_path.c_str()); }

  /// A request that waits for room there.
  HttpClient waiting() {
    start();
    HttpClient c = client();
    c.send(request_text("POST", "/", {}, "hello"));
    EXPECT_TRUE(judge().wait_for("judge /"));
    return c;
  }

  net::Fd listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::vector<net::Fd> filling_;
};

TEST_F(FullBacklog, an_app_that_dies_meanwhile_is_a_503) {
  auto c = waiting();
  listener_.close();
  const auto answer = c.read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.header("retry-after"), "1");
  EXPECT_EQ(metric(Metric::upstream_failures), 1);
}

TEST_F(FullBacklog, is_waited_for) {
  auto c = waiting();
  for (std::size_t i = 0; i + 1 < filling_.size(); ++i) {
    Stream(::accept(listener_.get(), nullptr, nullptr)).close();
  }
  Stream app(::accept(listener_.get(), nullptr, nullptr));
  const auto head = app.read_head();
  ASSERT_TRUE(head);
  EXPECT_EQ(app.read_exactly(5), "hello");
  app.write(ok("patient"));
  EXPECT_EQ(c.read().body, "patient");
}

TEST_F(Faults, a_final_answer_to_a_client_that_waits_for_100_closes) {
  origin([](Stream& s, int) {
    if (!s.read_head()) return;
    s.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno");
    s.read_to_end();
  });
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  const auto got = c.read();
  EXPECT_EQ(got.status, 401);
  EXPECT_EQ(got.header("connection"), "close");
  EXPECT_TRUE(c.at_end());
}

TEST_F(Faults, an_early_answer_of_an_app_that_has_closed_is_not_lost) {
  std::promise<void> received, sent, closed;
  origin_unix([&](Stream& s, int) {
    if (!s.read_head() || s.read_exactly(4) != "some") return;
    received.set_value();
    sent.get_future().wait();
    s.write("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    s.close();
    closed.set_value();
  });
  start();
  auto c = client();
  c.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome");
  received.get_future().wait();
  // One turn of the loop finds more of the body first, then the answer and the end behind it.
  on_worker([&] {
    c.send(std::string(10'000, 'x'));
    sent.set_value();
    closed.get_future().wait();
  });
  const auto answer = c.read();
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(answer.body, "no");
}

TEST_F(Faults, malformed_answers_are_502_and_end_the_connection_to_the_app) {
  static const std::vector<std::string> bad = {
      // outlives the app's threads

      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
      "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
      "nonsense\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nX: a" + std::string(1, '\0') + "b\r\n\r\n",
  };
  origin([&](Stream& s, int) {
    while (const auto head = s.read_head()) {
      s.write(bad[static_cast<std::size_t>(std::stoi(head->substr(5)))]);
    }
  });
  start();
  auto c = client();
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(c.get("/" + std::to_string(i)).status, 502) << bad[i];
  }
  EXPECT_EQ(app().connections(), static_cast<int>(bad.size()));
  EXPECT_EQ(metric(Metric::upstream_malformed), static_cast<int>(bad.size()));
}

TEST_F(Faults, an_answer_that_is_cut_never_looks_complete) {
  origin([](Stream& s, int) {
    const auto head = s.read_head();
    if (!head) return;
    if (head->starts_with("GET /length")) {
      s.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
    } else if (head->starts_with("GET /chunked")) {
      s.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n");
    } else if (head->starts_with("GET /garbage")) {
      s.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n");
      s.read_head();  // after the head was sent on: "more" comes
    } else {
      s.write("HTTP/1.1 200 OK\r\n\r\nshort");
      s.reset();
    }
  });
  start();
  for (const char* path : {"/length", "/chunked", "/reset"}) {
    auto c = client();
    c.send(request_text("GET", path));
    const auto head = c.stream().read_head();
    ASSERT_TRUE(head) << path;
    const std::string rest = c.stream().read_to_end();
    EXPECT_TRUE(c.stream().was_reset()) << path;
    EXPECT_EQ(rest.find("0\r\n\r\n"), std::string::npos) << path;
  }
  EXPECT_EQ(metric(Metric::upstream_cut), 3);
}

TEST_F(Faults, an_app_that_closes_without_an_answer_is_a_502) {
  origin([](Stream& s, int) { s.read_head(); });
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").status, 502);
  EXPECT_EQ(c.post("/", "x").status, 502);
  EXPECT_TRUE(judge().wait_for("finish / upstream_failed", 2));
  EXPECT_EQ(metric(Metric::upstream_retries), 0);  // the connection was fresh
}

TEST_F(Faults, a_get_is_sent_again_once_when_a_pooled_connection_dies_under_it) {
  std::atomic<int> requests{0};
  origin([&](Stream& s, int number) {
    if (!s.read_head()) return;
    s.write(ok("first"));
    if (!s.read_head()) return;  // a pooled connection: takes the request and dies
    ++requests;
    if (number > 1) s.write(ok("never"));
  });
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").body, "first");
  EXPECT_EQ(c.get("/").body, "first");  // the second connection's first answer
  EXPECT_EQ(requests, 1);
  EXPECT_EQ(metric(Metric::upstream_retries), 1);
}

TEST_F(Faults, a_post_is_never_sent_twice) {
  std::atomic<int> posts{0};
  origin([&](Stream& s, int) {
    if (!s.read_head()) return;
    s.write(ok("first"));
    const auto head = s.read_head();
    if (!head) return;
    if (head->starts_with("POST")) ++posts;
  });
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").body, "first");
  EXPECT_EQ(c.post("/", "pay").status, 502);
  EXPECT_EQ(posts, 1);
  EXPECT_EQ(metric(Metric::upstream_retries), 0);
}

TEST_F(Faults, an_app_that_restarts_costs_no_get) {
  origin(
      OriginServer::answering([](std::string_view, std::string body) { return ok("x" + body); }));
  start();
  std::vector<HttpClient> clients;
  for (int i = 0; i < 32; ++i) clients.push_back(client());
  for (int round = 0; round < 5; ++round) {
    for (auto& c : clients) c.send(request_text("GET", "/"));
    for (auto& c : clients) ASSERT_EQ(c.read().status, 200);
    app().stop();
    app().restart();
    for (auto& c : clients) ASSERT_EQ(c.post("/", "p").status, 200);  // idle closes were seen
  }
}

TEST_F(Faults, bytes_after_an_answer_end_the_connection_to_the_app) {
  origin([](Stream& s, int number) {
    while (s.read_head()) {
      s.write(ok(std::to_string(number)) + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");
    }
  });
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").body, "1");
  EXPECT_EQ(c.get("/").body, "2");
  EXPECT_EQ(c.get("/").body, "3");
}

// The answer is as long as what is received ahead, so that the read does not see what follows it.
TEST_F(Faults, bytes_after_an_answer_that_fills_a_read_are_nobodys_answer) {
  constexpr std::size_t kRead = 8 << 10;
  origin([](Stream& s, int number) {
    if (!s.read_head()) return;
    if (number == 1) {
      const std::size_t head = ok(std::string(kRead, 'x')).size() - kRead;
      s.write(ok(std::string(kRead - head, 'x')) + ok("poison"));
    } else {
      s.write(ok("real"));
    }
    s.read_to_end();
  });
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").status, 200);
  EXPECT_EQ(c.get("/").body, "real");
  EXPECT_EQ(app().connections(), 2);
}

TEST_F(Faults, bytes_on_an_idle_connection_to_the_app_are_nobodys_answer) {
  std::promise<void> poisoned;
  std::atomic<bool> done{false};
  origin([&](Stream& s, int number) {
    if (!s.read_head()) return;
    s.write(ok(std::to_string(number)));
    if (number == 1) {
      while (!done) std::this_thread::yield();
      s.write(ok("poison"));
      poisoned.set_value();
    }
    s.read_to_end();
  });
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").body, "1");
  done = true;
  poisoned.get_future().wait();
  EXPECT_EQ(c.get("/").body, "2");
}

TEST_F(Faults, malformed_requests_get_their_status_and_a_close) {
  start();
  struct Case {
    std::string request;
    int status;
    std::string detail;
  };
  const std::vector<Case> cases = {
      {"GET / HTTP/1.1\n\n", 400, "something else than CR LF"},
      {"GET / HTTP/1.1\r\n\r\n", 400, "there is no Host field"},
      {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
       "both Content-Length and Transfer-Encoding"},
      {"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405, "CONNECT is not"},
      {"GET /" + std::string(9'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414, "too long"},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n", 431,
       "too large"},
      {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, "\"detail\":\"the path has a broken escape"},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400,
       "size of a chunk"},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naa\r\n", 400,
       "does not end where its size says"},
  };
  for (const auto& [request, status, detail] : cases) {
    auto c = client();
    c.send(request);
    const auto got = c.read();
    EXPECT_EQ(got.status, status) << request.substr(0, 60);
    EXPECT_EQ(got.header("connection"), "close");
    EXPECT_THAT(got.body, testing::HasSubstr(detail));
    EXPECT_TRUE(c.at_end());
    EXPECT_FALSE(c.stream().was_reset());
  }
  EXPECT_EQ(metric(Metric::requests_malformed), static_cast<int>(cases.size()));
  EXPECT_EQ(metric(Metric::limit_target), 1);
  EXPECT_EQ(metric(Metric::limit_head), 1);
  EXPECT_TRUE(judge().log().empty() || judge().log().size() == 4u);  // the chunked ones were judged
}

TEST_F(Faults, a_broken_chunk_in_the_middle_of_a_body_is_a_400_and_cuts_the_app_off) {
  std::promise<std::string> got;
  origin([&](Stream& s, int) {
    s.read_head();
    got.set_value(s.read_to_end());
  });
  start();
  auto c = client();
  c.send("POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  ASSERT_TRUE(judge().wait_for("judge /c"));
  on_worker([] {});
  c.send("3\r\nabcd\r\n");
  const auto refused = c.read();
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, testing::HasSubstr("does not end where its size says"));
  EXPECT_EQ(got.get_future().get().find("0\r\n\r\n"), std::string::npos);
  EXPECT_TRUE(judge().wait_for("finish /c aborted"));
}

TEST_F(Faults, a_head_that_never_ends_is_a_408_and_a_silent_client_is_closed) {
  settings.head_time = milliseconds(60);
  start();
  auto slow = client();
  auto silent = client();
  slow.send("GET / HTTP/1.1\r\nHost: a\r\n");
  EXPECT_EQ(slow.read().status, 408);
  EXPECT_TRUE(slow.at_end());
  EXPECT_TRUE(silent.at_end());
  EXPECT_EQ(metric(Metric::timeout_head), 2);
}

TEST_F(Faults, an_idle_client_is_closed_at_the_idle_timeout) {
  settings.idle = milliseconds(60);
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("x"); }));
  start();
  auto c = client();
  EXPECT_EQ(c.get("/").status, 200);
  EXPECT_TRUE(c.at_end());
  EXPECT_EQ(metric(Metric::timeout_idle), 1);
}

TEST_F(Faults, a_body_that_stalls_is_a_408) {
  settings.body_time = milliseconds(60);
  origin([](Stream& s, int) { s.read_to_end(); });
  start();
  auto c = client();
  c.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab");
  EXPECT_EQ(c.read().status, 408);
  EXPECT_TRUE(judge().wait_for("finish /b aborted"));
  judge().reads_body = [](const Request&) { return true; };
  auto d = client();
  d.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab");
  EXPECT_EQ(d.read().status, 408);
  EXPECT_EQ(metric(Metric::timeout_body), 2);
}

TEST_F(Faults, a_client_that_does_not_read_is_cut_at_the_write_timeout) {
  settings.write = milliseconds(60);
  origin(OriginServer::answering(
      [](std::string_view, std::string) { return ok(std::string(50'000'000, 'x')); }));
  start();
  auto c = client();
  c.send(request_text("GET", "/big"));
  EXPECT_TRUE(metric_becomes(Metric::timeout_write, 1));
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 0));
}

TEST_F(Faults, out_of_descriptors_the_worker_rests_and_recovers) {
  judge().decide = [](const Request&, bool) {
    Effect effect;
    effect.kind = Effect::Kind::answer;
    effect.status = 204;
    return effect;
  };
  start();
  EXPECT_EQ(client().get("/").status, 204);
  auto c = client();  // made before the limit: the client's own descriptor is not the matter
  std::vector<Stream> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(Stream::connect_tcp(port()));
  ASSERT_TRUE(metric_becomes(Metric::connections_open, 5));
  auto late = Stream(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::optional<NoDescriptors> none(std::in_place);
  const auto address = net::SocketAddress::tcp(Address::loopback(), port());
  ASSERT_EQ(::connect(late.fd(), address.raw(), address.size()), 0);
  rusage start_usage{}, end_usage{};
  on_worker([] {});
  on_worker([&] { ::getrusage(RUSAGE_THREAD, &start_usage); });
  EXPECT_EQ(c.get("/").status, 204);  // the others are served meanwhile
  std::promise<void> rested;
  struct Alarm final : net::Timer {
    explicit Alarm(std::promise<void>& p) : done(p) {}
    void on_timer(TimePoint) override { done.set_value(); }
    std::promise<void>& done;
  } alarm(rested);
  on_worker([&] { (*pool)[0].wheel().arm(alarm, (*pool)[0].now() + milliseconds(300)); });
  rested.get_future().wait();
  on_worker([&] { ::getrusage(RUSAGE_THREAD, &end_usage); });
  const auto cpu = [](const rusage& u) {
    return u.ru_utime.tv_sec * 1'000'000 + u.ru_utime.tv_usec + u.ru_stime.tv_sec * 1'000'000 +
           u.ru_stime.tv_usec;
  };
  EXPECT_LT(cpu(end_usage) - cpu(start_usage), 100'000);  // of 300 ms: no spin
  EXPECT_EQ(metric(Metric::connections_open), 5);         // the late one has not been accepted
  none.reset();
  late.write(request_text("GET", "/"));
  EXPECT_TRUE(late.read_head().value_or("").starts_with("HTTP/1.1 204"));
}

}  // namespace
}  // namespace weir::test::faults_test
