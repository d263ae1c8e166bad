#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/proxy/proxy_fixture.h"

/// Short buffers: which connections are evicted, and which stay.
namespace weir::test::eviction_test {
namespace {

using telemetry::Metric;

constexpr std::size_t kHalf = 20'000;

std::string half_a_body(int number) {
  return "POST /" + std::to_string(number) +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(2 * kHalf) + "\r\n\r\n" +
         std::string(kHalf, 'x');
}

class Eviction : public ProxyFixture {
 protected:
  void begin(std::size_t buffers) {
    settings.buffer_bytes = buffers;
    judge().reads_body = [](const Request&) { return true; };
    origin(OriginServer::answering([](std::string_view, std::string body) {
      return "HTTP/1.1 200 OK\r\nContent-Length: " +
             std::to_string(std::to_string(body.size()).size()) + "\r\n\r\n" +
             std::to_string(body.size());
    }));
    start();
  }
  std::size_t in_use() {
    std::size_t bytes = 0;
    on_worker([&] { bytes = (*pool)[0].blocks().in_use(); });
    return bytes;
  }
};

TEST_F(Eviction, the_oldest_unfinished_requests_are_refused_and_the_newest_are_served) {
  constexpr std::size_t kBuffers = 1 << 20;
  begin(kBuffers);
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(std::make_unique<HttpClient>(client()));
    clients.back()->send(half_a_body(i));
    EXPECT_LE(in_use(), kBuffers) << "after " << i;
  }
  ASSERT_GT(metric(Metric::limit_buffers), 0);
  const auto refused = clients.front()->read();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("connection"), "close");
  EXPECT_EQ(refused.header("retry-after"), "1");
  clients.back()->send(std::string(kHalf, 'y'));
  EXPECT_EQ(clients.back()->read().body, std::to_string(2 * kHalf));
  EXPECT_EQ(metric(Metric::connections_failed), 0);
}

TEST_F(Eviction, heads_that_never_end_go_as_bodies_do) {
  settings.head.head = 32 << 10;
  begin(256 << 10);
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<HttpClient>(client()));
    clients.back()->send("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(16'000, 'x'));
    EXPECT_LE(in_use(), std::size_t{256} << 10);
  }
  EXPECT_GT(metric(Metric::limit_buffers), 0);
  EXPECT_EQ(clients.front()->read().status, 503);
  clients.back()->send("\r\n\r\n");
  EXPECT_EQ(clients.back()->read().status, 200);
}

TEST_F(Eviction, what_cannot_be_kept_ends_its_connection_and_nothing_else) {
  begin(8 << 10);  // less than one body
  auto other = client();
  EXPECT_EQ(other.get("/").status, 200);
  auto c = client();
  c.send(half_a_body(0));
  EXPECT_TRUE(metric_becomes(Metric::connections_failed, 1));
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 1));
  EXPECT_EQ(other.get("/").status, 200);
}

}  // namespace
}  // namespace weir::test::eviction_test
