#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "gate/gate_turn.h"
#include "proxy/server.h"
#include "telemetry/metrics.h"
#include "tests/support/fake_judge.h"
#include "tests/support/http_client.h"
#include "tests/support/origin_server.h"

namespace weir::test {

/// A proxy with `workers` workers before an origin, on real sockets. Set settings and judges, then
/// start().
class ProxyFixture : public ::testing::Test {
 protected:
  void origin(OriginServer::Script script) { origin_.emplace(std::move(script)); }
  void origin_unix(OriginServer::Script script) {
    upstream_path = ::testing::TempDir() + "weir-origin-" + std::to_string(::getpid()) + ".sock";
    origin_.emplace(std::move(script), upstream_path);
  }

  void start(unsigned workers = 1) {
    settings.upstream = upstream_path.empty()
                            ? net::SocketAddress::tcp(Address::loopback(), upstream_port())
                            : *net::SocketAddress::unix_path(upstream_path);
    settings.upstream_authority = "app:80";
    const net::SocketAddress where = listen_path.empty()
                                         ? net::SocketAddress::tcp(Address::loopback(), 0)
                                         : *net::SocketAddress::unix_path(listen_path);
    auto fds = net::open_listeners(where, workers);
    ASSERT_TRUE(fds) << fds.error().message();
    port_ = net::SocketAddress::of_socket(fds->front().get())->port();
    if (send_buffer != 0) {
      for (const net::Fd& fd : *fds)
        ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    }
    metrics = std::make_unique<telemetry::Metrics>(workers + 1);
    pool = std::make_unique<net::WorkerPool>(workers);
    while (judges.size() < workers) judges.push_back(std::make_unique<FakeJudge>());
    for (unsigned i = 0; i < workers; ++i) {
      turns.push_back(std::make_unique<gate::GateTurn>((*pool)[i], *judges[i]));
      servers.push_back(
          std::make_unique<proxy::Server>((*pool)[i], settings, *judges[i], metrics->cells(i)));
      ASSERT_TRUE(servers[i]->listen(std::move((*fds)[i])));
    }
    pool->start();
  }

  void TearDown() override {
    if (pool) pool->stop();
    servers.clear();
    turns.clear();
    for (auto& judge : judges) EXPECT_EQ(judge->open_tickets(), 0u);
    pool.reset();
  }

  /// Runs `function` on a worker's thread and waits for it.
  void on_worker(std::function<void()> function, unsigned worker = 0) {
    std::promise<void> done;
    (*pool)[worker].post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  /// Waits until the sum of a metric is `value`; false after 20 s.
  bool metric_becomes(telemetry::Metric metric, std::int64_t value) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (metrics->sum(metric) != value) {
      if (std::chrono::steady_clock::now() > until) return false;
      on_worker([] {});
      std::this_thread::yield();
    }
    return true;
  }
  std::int64_t metric(telemetry::Metric m) { return metrics->sum(m); }

  HttpClient client() { return HttpClient(port_); }
  FakeJudge& judge() {
    if (judges.empty()) judges.push_back(std::make_unique<FakeJudge>());
    return *judges.front();
  }
  OriginServer& app() { return *origin_; }
  std::uint16_t port() const { return port_; }

  proxy::Settings settings;
  std::string listen_path;
  std::string upstream_path;  // of a Unix socket; else the origin's port
  std::uint16_t fixed_upstream_port = 0;
  int send_buffer = 0;  // of the sockets of clients, in bytes; 0: as the kernel chooses
  std::vector<std::unique_ptr<FakeJudge>> judges;
  std::unique_ptr<telemetry::Metrics> metrics;
  std::unique_ptr<net::WorkerPool> pool;
  std::vector<std::unique_ptr<gate::GateTurn>> turns;
  std::vector<std::unique_ptr<proxy::Server>> servers;

 private:
  std::uint16_t upstream_port() const {
    return fixed_upstream_port != 0 ? fixed_upstream_port : origin_ ? origin_->port() : 1;
  }
  std::optional<OriginServer> origin_;
  std::uint16_t port_ = 0;
};

}  // namespace weir::test
