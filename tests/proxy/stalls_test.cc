// A client takes its bytes late: the deadline for that ends with the stall, and the session goes
// on.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "tests/proxy/proxy_fixture.h"

namespace weir::test::stalls_test {
namespace {

using telemetry::Metric;

/// `/hold/N` is held for N ms; `/refused` gets an answer of 1.5 KB; the rest passes.
Effect by_path(const Request& request, bool) {
  static const std::string kLines = "X-Long: " + std::string(1'500, 'x') + "\r\n";
  Effect effect;
  if (request.path == "/refused") {
    effect.kind = Effect::Kind::answer;
    effect.status = 429;
    effect.response_headers = kLines;
  } else if (request.path.starts_with("/hold/")) {
    effect.kind = Effect::Kind::delay;
    effect.hold = milliseconds(std::stoi(std::string(request.path.substr(6))));
  }
  return effect;
}

class Stalls : public ProxyFixture {
 protected:
  Stalls() { send_buffer = 16 << 10; }
  /// Another client's request takes so long.
  void pass(milliseconds time) {
    EXPECT_NE(client().get("/hold/" + std::to_string(time.count())).status, 0);
  }
};

// The app falls silent when the client's window is full: the last write to the client is short.
TEST_F(Stalls, a_tunnel_may_be_idle_after_one) {
  settings.write = milliseconds(500);
  judge().decide = by_path;
  std::promise<std::size_t> sent;
  origin([&](Stream& s, int) {
    const auto head = s.read_head();
    if (!head) return;
    if (!field(*head, "upgrade")) {
      s.write(ok("clock"));
      return;
    }
    s.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
    const std::string piece(2'000, 'w');
    std::size_t bytes = 0;
    for (bool full = false; !full && bytes < 10'000'000; bytes += piece.size()) {
      s.write(piece);
      for (int i = 0; i < 3; ++i) on_worker([&] { full = (*pool)[0].blocks().in_use() != 0; });
    }
    sent.set_value(bytes);
    s.write(s.read_exactly(4));
  });
  start();
  auto c = client();
  const auto answer = c.ask(
      "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
  EXPECT_EQ(answer.status, 101);
  const std::size_t bytes = sent.get_future().get();
  EXPECT_EQ(c.stream().read_exactly(bytes).size(), bytes);
  pass(2 * settings.write);
  EXPECT_EQ(metric(Metric::timeout_write), 0);
  c.send("ping");
  EXPECT_EQ(c.stream().read_exactly(4), "ping");
}

// The client has sent all its requests before it reads. Each held one ends a batch of answers, so
// one of them is held when the client's window is full.
TEST_F(Stalls, a_held_request_is_released_after_one) {
  constexpr int kBatches = 24, kRefused = 30;
  settings.write = std::chrono::seconds(3);
  judge().decide = by_path;
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("late"); }));
  start();
  auto c = client();
  for (int batch = 0; batch < kBatches; ++batch) {
    std::string text;
    for (int i = 0; i < kRefused; ++i) text += request_text("GET", "/refused");
    ASSERT_TRUE(c.send(text + request_text("GET", "/hold/5")));
  }
  pass(milliseconds(300));
  for (int batch = 0; batch < kBatches; ++batch) {
    for (int i = 0; i < kRefused; ++i) ASSERT_EQ(c.read().status, 429) << batch;
    ASSERT_EQ(c.read().body, "late") << batch;
  }
  EXPECT_EQ(metric(Metric::timeout_write), 0);
}

}  // namespace
}  // namespace weir::test::stalls_test
