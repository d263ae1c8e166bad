// Bounds on allocations, memory and bytes under torture.
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <random>

#include "tests/proxy/proxy_fixture.h"
#include "tests/support/allocations.h"
#include "tests/support/seed.h"

namespace weir::test::steady_test {
namespace {

using telemetry::Metric;

std::size_t resident_kib() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4;
}

/// An app on the test's own terms: one thread, fixed answer, no allocation that would be counted.
class Steady : public ProxyFixture {};

TEST_F(Steady, a_request_allocates_nothing_after_warm_up) {
  settings.upstream_idle = std::chrono::hours(1);
  origin(OriginServer::answering([](std::string_view, std::string body) {
    return ok(body.empty() ? "answer" : body, "Server: app\r\nSet-Cookie: a=b\r\n");
  }));
  /// Allocates nothing itself.
  class QuietJudge final : public gate::Judge {
   public:
    bool wants_body(const Request& r) override { return r.method == "POST"; }
    gate::Decision judge(const Request& r, TimePoint, bool, gate::Waiter&) override {
      gate::Decision j;
      if (r.path == "/deny") {
        j.effect.kind = Effect::Kind::answer;
        j.effect.status = 429;
        j.effect.response_headers = "Retry-After: 1\r\n";
      } else {
        j.effect.upstream_headers = "X-Weir-Verdict: flag\r\n";
        j.effect.response_headers = "RateLimit: x\r\n";
      }
      return j;
    }
    gate::Decision resume(const Request&, TimePoint, bool, gate::Waiter&) override { return {}; }
    bool park(gate::Waiter&, const gate::Decision&, TimePoint) override { return false; }
    TimePoint waiting_until(const gate::Waiter&) const override { return {}; }
    void unpark(gate::Waiter&) override {}
    void end_hold() override {}
    bool answered(gate::Ticket&, const Answer&, TimePoint) override { return false; }
    void answered_body(gate::Ticket&, const Answer&, TimePoint) override {}
    void finish(gate::Ticket&, gate::End, TimePoint) override {}
    bool has_waiters() const override { return false; }
    void tick(TimePoint) override {}
  } quiet;
  start();
  // A server of its own on the same worker, with the judge that allocates nothing, and with access
  // log, traces and histograms on.
  telemetry::SinkBell bell;
  telemetry::RequestSink sink(metrics->cells(0), bell, 1);
  telemetry::Latency latency(1);
  std::unique_ptr<proxy::Server> server;
  std::uint16_t own_port = 0;
  on_worker([&] {
    server = std::make_unique<proxy::Server>((*pool)[0], settings, quiet, metrics->cells(0));
    telemetry::AccessSettings wants;
    wants.always_errors = true;
    sink.log(std::make_shared<const telemetry::AccessSettings>(wants));
    sink.trace(1);
    server->observe(&sink, &latency.cells(0));
    auto fds = net::open_listeners(net::SocketAddress::tcp(Address::loopback(), 0), 1);
    own_port = net::SocketAddress::of_socket(fds->front().get())->port();
    ASSERT_TRUE(server->listen(std::move(fds->front())));
  });
  std::vector<HttpClient> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(own_port);
  const auto round = [&] {
    for (auto& c : clients) c.send(request_text("GET", "/a", "Cookie: x=y\r\nAccept: */*\r\n"));
    for (auto& c : clients) ASSERT_EQ(c.read().status, 200);
    for (auto& c : clients) ASSERT_EQ(c.get("/deny").status, 429);
    for (auto& c : clients) ASSERT_EQ(c.post("/p", "user=a&gold=5").status, 200);
    // A head in two pieces: bytes are kept.
    for (auto& c : clients) c.send("GET /b HTTP/1.1\r\nHo");
    on_worker([] {});
    for (auto& c : clients) c.send("st: a\r\n\r\n");
    for (auto& c : clients) ASSERT_EQ(c.read().status, 200);
  };
  for (int i = 0; i < 20; ++i) round();
  std::size_t before = 0, after = 0;
  on_worker([&] { before = test::allocations(); });
  for (int i = 0; i < 100; ++i) round();
  on_worker([&] { after = test::allocations(); });
  EXPECT_EQ(after - before, 0U);
  (*pool).stop();
  server.reset();
}

TEST_F(Steady, large_bodies_pass_both_ways_under_a_slow_reader_in_bounded_memory) {
  constexpr std::size_t kBytes = 100'000'000;
  constexpr std::size_t kPiece = 1 << 16;
  origin([&](Stream& s, int) {
    const auto head = s.read_head();
    if (!head) return;
    if (head->starts_with("PUT")) {
      std::size_t got = 0;
      while (got < kBytes) {
        got += s.buffer().size();
        s.buffer().clear();
        if (got < kBytes && !s.fill()) break;
        if (got % 64 == 0) std::this_thread::yield();
      }
      s.write(ok(std::to_string(got)));
      return;
    }
    s.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n");
    const std::string piece(kPiece, 'd');
    for (std::size_t sent = 0; sent < kBytes; sent += kPiece) {
      if (!s.write(std::string_view(piece).substr(0, std::min(kPiece, kBytes - sent)))) return;
    }
  });
  start();
  {
    auto warm = client();
    warm.send("GET /warm HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(warm.stream().read_head());
    warm.stream().reset();
  }
  const std::size_t before = resident_kib();
  std::size_t most = before;
  {
    auto c = client();
    c.stream().shrink_receive_buffer();
    c.send(request_text("GET", "/down"));
    ASSERT_TRUE(c.stream().read_head());
    std::size_t got = 0;
    for (int i = 0; got < kBytes; ++i) {
      got += c.stream().buffer().size();
      c.stream().buffer().clear();
      if (got >= kBytes) break;
      ASSERT_TRUE(c.stream().fill());
      if (i % 64 == 0) {
        on_worker([] {});  // slower than the app
        most = std::max(most, resident_kib());
      }
    }
    EXPECT_EQ(got, kBytes);
  }
  {
    auto c = client();
    c.send("PUT /up HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n");
    const std::string piece(kPiece, 'u');
    for (std::size_t sent = 0; sent < kBytes; sent += kPiece) {
      ASSERT_TRUE(c.send(std::string_view(piece).substr(0, std::min(kPiece, kBytes - sent))));
      if (sent / kPiece % 64 == 0) most = std::max(most, resident_kib());
    }
    EXPECT_EQ(c.read().body, std::to_string(kBytes));
  }
#ifndef WEIR_SANITIZED
  EXPECT_LT(most, before + 4'096) << "KiB before: " << before;
#endif
}

// Another request waits for 32 KiB of each stream: a stream that has arrived completely takes
// as many rounds of the loop as it has shares.
TEST_F(Steady, a_bulk_stream_leaves_the_others_their_turn) {
  constexpr std::size_t kBytes = 16 << 20;
  origin([&](Stream& s, int) {
    if (!s.read_head()) return;
    s.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kBytes) + "\r\n\r\n" +
            std::string(kBytes, 'd'));
  });
  start();
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  on_worker([&] { before = (*pool)[0].reactor().turn(); });
  auto c = client();
  EXPECT_EQ(c.get("/down").body.size(), kBytes);
  on_worker([&] { after = (*pool)[0].reactor().turn(); });
  EXPECT_GE(after - before, kBytes / (32 << 10));
}

// Another request waits for 32 requests of each client, however many that client has sent at once.
TEST_F(Steady, pipelined_refusals_leave_the_others_their_turn) {
  constexpr std::uint64_t kRequests = 2'000;
  judge().decide = [](const Request&, bool) {
    Effect effect;
    effect.kind = Effect::Kind::answer;
    effect.status = 429;
    return effect;
  };
  start();
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  auto c = client();
  on_worker([&] { before = (*pool)[0].reactor().turn(); });
  std::string text;
  for (std::uint64_t i = 0; i < kRequests; ++i) text += request_text("GET", "/");
  ASSERT_TRUE(c.send(text));
  for (std::uint64_t i = 0; i < kRequests; ++i) ASSERT_EQ(c.read().status, 429) << i;
  on_worker([&] { after = (*pool)[0].reactor().turn(); });
  EXPECT_GE(after - before, kRequests / 32);
}

// Random bodies, framings, cuts and delays on both sides; every byte is compared.
TEST_F(Steady, random_cuts_and_partial_writes_change_no_byte) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RecordProperty("seed", static_cast<int>(seed));
  const auto body_of = [](std::size_t size, unsigned salt) {
    std::string body(size, ' ');
    for (std::size_t i = 0; i < size; ++i)
      body[i] = static_cast<char>('!' + (i * 7 + i / 251 + salt) % 90);
    return body;
  };
  const auto chunked = [](const std::string& body, std::mt19937& random) {
    std::string out;
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t n = std::min<std::size_t>(1 + random() % 5'000, body.size() - at);
      char size[20];
      std::snprintf(size, sizeof(size), "%zx\r\n", n);
      out += size + body.substr(at, n) + "\r\n";
      at += n;
    }
    return out + "0\r\n\r\n";
  };
  const auto write_in_pieces = [this](Stream& s, std::string_view bytes, std::mt19937& random) {
    while (!bytes.empty()) {
      const std::size_t most = random() % 3 == 0 ? 20 : 30'000;
      const std::size_t n = std::min<std::size_t>(1 + random() % most, bytes.size());
      if (!s.write(bytes.substr(0, n))) return false;
      bytes.remove_prefix(n);
      if (random() % 8 == 0) on_worker([] {});
    }
    return true;
  };
  // The request's target says what the app answers: /<size>/<salt>/<framing>.
  origin([&](Stream& s, int number) {
    std::mt19937 random(seed + static_cast<unsigned>(number) * 1'000);
    while (const auto head = s.read_head()) {
      std::size_t size = 0;
      unsigned salt = 0;
      int framing = 0;
      const std::size_t slash = head->find('/');
      std::sscanf(head->c_str() + slash, "/%zu/%u/%d", &size, &salt, &framing);
      std::string body;
      if (field(*head, "transfer-encoding")) {
        body = s.read_chunked();
      } else if (const auto length = field(*head, "content-length")) {
        body = s.read_exactly(std::stoul(*length));
      }
      const std::string lines = "X-Got: " + std::to_string(std::hash<std::string>{}(body)) + "\r\n";
      const std::string answer = body_of(size, salt);
      std::string out = "HTTP/1.1 200 OK\r\n" + lines;
      if (framing == 0) out += "Content-Length: " + std::to_string(size) + "\r\n\r\n" + answer;
      if (framing == 1) out += "Transfer-Encoding: chunked\r\n\r\n" + chunked(answer, random);
      if (framing == 2) out += "\r\n" + answer;
      if (!write_in_pieces(s, out, random) || framing == 2) return;
    }
  });
  const auto body_wanted = [](const Request& r) { return r.query == "judge"; };
  for (unsigned i = 0; i < 2; ++i) {
    judges.push_back(std::make_unique<FakeJudge>());
    judges.back()->reads_body = body_wanted;
    judges.back()->reads_answers = true;
  }
  start(2);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(seed + t);
      auto c = client();
      for (int i = 0; i < 40; ++i) {
        const std::size_t answer_size = random() % 4 == 0 ? random() % 400'000 : random() % 2'000;
        const auto salt = static_cast<unsigned>(random() % 100);
        const int framing = static_cast<int>(random() % 3);
        std::string request = "POST /" + std::to_string(answer_size) + "/" + std::to_string(salt) +
                              "/" + std::to_string(framing) + (random() % 2 == 0 ? "?judge" : "") +
                              " HTTP/1.1\r\nHost: a\r\n";
        const std::string body =
            body_of(random() % 4 == 0 ? random() % 300'000 : random() % 2'000, salt + 1);
        if (random() % 2 == 0) {
          request += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
        } else {
          request += "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, random);
        }
        ASSERT_TRUE(write_in_pieces(c.stream(), request, random));
        const auto got = c.read();
        ASSERT_EQ(got.status, 200);
        ASSERT_EQ(got.header("x-got"), std::to_string(std::hash<std::string>{}(body)));
        ASSERT_TRUE(got.body == body_of(answer_size, salt));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace weir::test::steady_test
