#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/grpc/server.h"
#include "net/socket.h"
#include "telemetry/metrics.h"
#include "tests/support/h2_client.h"

namespace weir::test {

/// Methods of the tests: `Echo` gives the message back, `Wait` waits until the test says so.
struct EchoMethod final : net::grpc::Method {
  std::string_view path() const noexcept override { return "/test.Test/Echo"; }
  void start(net::grpc::Call& call, TimePoint) override { call.complete(call.message()); }
};

struct FailMethod final : net::grpc::Method {
  std::string_view path() const noexcept override { return "/test.Test/Fail"; }
  void start(net::grpc::Call& call, TimePoint) override {
    call.fail(net::grpc::Status::failed_precondition, call.message());
  }
};

/// Answers with as many bytes as the message says.
struct SizedMethod final : net::grpc::Method {
  std::string_view path() const noexcept override { return "/test.Test/Sized"; }
  void start(net::grpc::Call& call, TimePoint) override {
    call.complete(std::string(std::stoul(std::string(call.message())), 'z'));
  }
};

/// Answers with what the call's metadata has.
struct MetadataMethod final : net::grpc::Method {
  std::string_view path() const noexcept override { return "/test.Test/Metadata"; }
  void start(net::grpc::Call& call, TimePoint) override {
    const std::string_view value = call.metadata(call.message());
    call.complete(value.data() == nullptr ? "none" : value);
  }
};

struct WaitMethod final : net::grpc::Method {
  struct One final : net::grpc::Pending {
    WaitMethod* owner = nullptr;
    net::grpc::Call* call = nullptr;
    void cancelled(TimePoint) override {
      call = nullptr;
      ++owner->cancelled;
    }
  };
  std::string_view path() const noexcept override { return "/test.Test/Wait"; }
  void start(net::grpc::Call& call, TimePoint) override {
    waiting.push_back(std::make_unique<One>());
    waiting.back()->owner = this;
    waiting.back()->call = &call;
    call.wait_with(*waiting.back());
  }
  /// Completes all that wait; gives their number.
  int complete(std::string_view with) {
    int n = 0;
    for (const auto& one : waiting) {
      if (one->call == nullptr) continue;
      one->call->complete(with);
      ++n;
    }
    waiting.clear();
    return n;
  }
  std::vector<std::unique_ptr<One>> waiting;
  int cancelled = 0;
};

/// Streams its answers: the question at once, and whatever the test sends.
struct StreamMethod final : net::grpc::Method {
  struct One final : net::grpc::Pending {
    StreamMethod* owner = nullptr;
    net::grpc::Call* call = nullptr;
    void cancelled(TimePoint) override {
      call = nullptr;
      ++owner->cancelled;
    }
  };
  std::string_view path() const noexcept override { return "/test.Test/Stream"; }
  void start(net::grpc::Call& call, TimePoint) override {
    open.push_back(std::make_unique<One>());
    open.back()->owner = this;
    open.back()->call = &call;
    call.wait_with(*open.back());
    call.send(call.message());
  }
  std::vector<std::unique_ptr<One>> open;
  int cancelled = 0;
};

/// A gRPC server on real sockets and threads. Change the settings, then start().
class GrpcFixture : public ::testing::Test {
 protected:
  void start(unsigned workers = 1) {
    const net::SocketAddress where = path.empty() ? net::SocketAddress::tcp(Address::loopback(), 0)
                                                  : *net::SocketAddress::unix_path(path);
    auto fds = net::open_listeners(where, workers);
    ASSERT_TRUE(fds) << fds.error().message();
    port = net::SocketAddress::of_socket(fds->front().get())->port();
    metrics = std::make_unique<telemetry::Metrics>(workers + 1);
    pool = std::make_unique<net::WorkerPool>(workers);
    for (unsigned i = 0; i < workers; ++i) {
      (*pool)[i].blocks().set_limit(pool_bytes);
      servers.push_back(
          std::make_unique<net::grpc::Server>((*pool)[i], settings, metrics->cells(i)));
      servers[i]->add(echo);
      servers[i]->add(failing);
      servers[i]->add(sized);
      servers[i]->add(metadata);
      servers[i]->add(wait);
      servers[i]->add(stream);
      ASSERT_TRUE(servers[i]->listen(std::move((*fds)[i])));
    }
    pool->start();
  }
  void TearDown() override {
    if (pool) pool->stop();
    servers.clear();
    for (unsigned i = 0; pool && i < pool->size(); ++i) {
      EXPECT_EQ((*pool)[i].blocks().in_use(), 0U) << "what connections keep is given back";
    }
    pool.reset();
  }
  void on_worker(std::function<void()> function, unsigned worker = 0) {
    std::promise<void> done;
    (*pool)[worker].post([&] {
      function();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::int64_t metric(telemetry::Metric m) { return metrics->sum(m); }
  /// Waits, at most 10 s, until it is so on the worker's thread.
  bool becomes(std::function<bool()> condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (;;) {
      bool yes = false;
      on_worker([&] { yes = condition(); });
      if (yes) return true;
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
  }
  std::size_t connections() {
    std::size_t n = 0;
    on_worker([&] { n = servers[0]->open_connections(); });
    return n;
  }
  /// Others are served.
  void expect_served() {
    H2Client client(port);
    EXPECT_EQ(client.call("/test.Test/Echo", "still").message(), "still");
  }

  net::grpc::Settings settings;
  std::size_t pool_bytes = std::size_t{64} << 20;
  std::string path;
  std::uint16_t port = 0;
  EchoMethod echo;
  FailMethod failing;
  SizedMethod sized;
  MetadataMethod metadata;
  WaitMethod wait;
  StreamMethod stream;
  std::unique_ptr<telemetry::Metrics> metrics;
  std::unique_ptr<net::WorkerPool> pool;
  std::vector<std::unique_ptr<net::grpc::Server>> servers;
};

}  // namespace weir::test
