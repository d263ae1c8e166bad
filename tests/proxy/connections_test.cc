// Who gets a connection when they run out, and where requests go when the app has many addresses.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "core/clock.h"
#include "tests/proxy/proxy_fixture.h"

namespace weir::proxy::connections_test {
namespace {

using namespace weir::test;
using telemetry::Metric;

/// Nothing listens there, as long as it lives.
struct DeadPort {
  DeadPort() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~DeadPort() { ::close(fd); }
  net::SocketAddress address() const { return *net::SocketAddress::of_socket(fd); }
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

class Connections : public ProxyFixture {
 protected:
  /// The servers use the budget until TearDown(): it outlives the body of a test.
  net::ConnectionBudget& limit(std::size_t most, std::size_t per_address = 0) {
    settings.connections =
        per_address == 0 ? &budget_.emplace(most) : &budget_.emplace(most, per_address);
    return *budget_;
  }
  void answering_app() {
    origin(OriginServer::answering([](std::string_view, std::string body) { return ok(body); }));
  }
  net::SocketAddress live() { return net::SocketAddress::tcp(Address::loopback(), app().port()); }
  void use(std::vector<net::SocketAddress> addresses) {
    on_worker([&] { servers[0]->use_upstreams(addresses); });
  }
  /// Has been answered, and has begun its next request: not idle.
  HttpClient busy() {
    HttpClient c = client();
    EXPECT_EQ(c.get("/").status, 200);
    c.send("GET / HT");
    return c;
  }

 private:
  std::optional<net::ConnectionBudget> budget_;
};

TEST_F(Connections, over_the_limit_are_closed_and_room_comes_back) {
  net::ConnectionBudget& budget = limit(3);
  answering_app();
  start(1);
  {
    auto a = busy(), b = busy(), c = busy();
    auto d = client();
    EXPECT_TRUE(d.at_end());
    EXPECT_EQ(metric(Metric::connections_refused), 1);
    EXPECT_EQ(metric(Metric::connections_recycled), 0);
    a.send("TP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(a.read().status, 200);
  }
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 0));
  EXPECT_EQ(client().get("/").status, 200);
  TearDown();
  EXPECT_EQ(budget.open(), 0u);
}

TEST_F(Connections, the_idlest_client_makes_room) {
  limit(4);
  answering_app();
  start(1);
  std::vector<HttpClient> idle;
  auto one_is_busy = busy();
  for (int i = 0; i < 3; ++i) {
    idle.push_back(client());
    EXPECT_EQ(idle.back().get("/").status, 200);
    // The clock of the wheel shows milliseconds: the next one is idle for less.
    on_worker([until = Clock().now() + milliseconds(2)] {
      while (Clock().now() < until) {
      }
    });
  }
  EXPECT_EQ(idle[0].get("/").status, 200);  // so the second is the idlest
  auto newcomer = client();
  EXPECT_EQ(newcomer.get("/").status, 200);
  EXPECT_TRUE(idle[1].at_end());
  EXPECT_EQ(metric(Metric::connections_recycled), 1);
  EXPECT_EQ(metric(Metric::connections_refused), 0);
  for (const int still : {0, 2})
    EXPECT_EQ(idle[static_cast<std::size_t>(still)].get("/").status, 200);
  one_is_busy.send("TP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(one_is_busy.read().status, 200);
}

// The newcomer and the request are events of one batch: the request is received before the newcomer
// is accepted.
TEST_F(Connections, a_client_with_a_new_request_makes_no_room) {
  limit(1);
  answering_app();
  start(1);
  auto idle = client();
  EXPECT_EQ(idle.get("/").status, 200);
  std::optional<HttpClient> newcomer;
  on_worker([&] {
    newcomer.emplace(client());
    idle.send(request_text("GET", "/again"));
  });
  EXPECT_EQ(idle.read().status, 200);
  EXPECT_TRUE(newcomer->at_end());
  EXPECT_EQ(metric(Metric::connections_recycled), 0);
}

TEST_F(Connections, who_never_sends_anything_makes_room_after_a_while) {
  limit(4);
  settings.silence = milliseconds(5);
  answering_app();
  start(1);
  const auto pass = [&](milliseconds time) {
    on_worker([until = Clock().now() + time] {
      while (Clock().now() < until) {
      }
    });
  };
  std::vector<HttpClient> silent;
  auto begun = client();
  begun.send("GET / HT");  // has sent something: its head has its own deadline
  for (int i = 0; i < 3; ++i) {
    silent.push_back(client());
    EXPECT_TRUE(metric_becomes(Metric::connections_open, i + 2));
    pass(milliseconds(2));
  }
  pass(milliseconds(30));
  auto first = client();
  EXPECT_EQ(first.get("/").status, 200);
  EXPECT_TRUE(silent[0].at_end()) << "the one that has been silent for longest";
  // Bytes that have arrived count, read or unread.
  silent[1].send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(silent[1].read().status, 200);
  pass(milliseconds(30));
  auto second = client();
  EXPECT_EQ(second.get("/").status, 200);
  EXPECT_TRUE(silent[2].at_end());
  EXPECT_EQ(metric(Metric::connections_recycled), 2);
  EXPECT_EQ(metric(Metric::connections_refused), 0);
  begun.send("TP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(begun.read().status, 200);
}

/// All of them silent: a flood of clients that say nothing makes room for itself only.
TEST_F(Connections, silent_clients_do_not_shut_others_out) {
  limit(8);
  settings.silence = milliseconds(1);
  answering_app();
  start(1);
  std::vector<HttpClient> flood;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20; ++i) flood.push_back(client());
    // Who still waits to be accepted is silent from then on only. One more comes in each round.
    const int come = 20 * (round + 1) + round;
    for (int asked = 0; asked < 10'000; ++asked) {
      const auto seen = metric(Metric::connections_total) + metric(Metric::connections_refused);
      if (seen >= come) break;
      on_worker([] {});
    }
    on_worker([until = Clock().now() + milliseconds(15)] {
      while (Clock().now() < until) {
      }
    });
    EXPECT_EQ(client().get("/").status, 200) << round;
  }
  EXPECT_LE(metric(Metric::connections_open), 8);
}

TEST_F(Connections, who_has_just_come_makes_no_room) {
  limit(1);
  answering_app();
  start(1);
  auto first = client();
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 1));
  EXPECT_TRUE(client().at_end());
  EXPECT_EQ(first.get("/").status, 200);
}

TEST_F(Connections, of_one_address_are_limited) {
  limit(10, 2);
  answering_app();
  start(1);
  {
    auto a = client(), b = client();
    EXPECT_EQ(a.get("/").status, 200);
    EXPECT_EQ(b.get("/").status, 200);
    EXPECT_TRUE(client().at_end());
    EXPECT_EQ(metric(Metric::limit_per_ip), 1);
    EXPECT_EQ(metric(Metric::connections_refused), 1);
    EXPECT_EQ(a.get("/").status, 200) << "an idle one of the same address is kept";
  }
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 0));
  EXPECT_EQ(client().get("/").status, 200);
}

TEST_F(Connections, of_trusted_hops_are_spared_where_the_limit_is_the_default) {
  limit(10, 2);
  settings.spares_trusted = true;
  settings.client_rules = net::ClientAddressRules({*Cidr::parse("127.0.0.0/8")}, "x-forwarded-for");
  answering_app();
  start(1);
  auto a = client(), b = client(), c = client();
  for (auto* each : {&a, &b, &c}) EXPECT_EQ(each->get("/").status, 200);
}

TEST_F(Connections, all_addresses_of_the_app_are_tried) {
  const DeadPort dead;
  answering_app();
  start(1);
  use({dead.address(), live()});
  auto c = client();
  EXPECT_EQ(c.post("/", "a body").body, "a body") << "what was to be sent first is sent second";
  EXPECT_EQ(metric(Metric::upstream_connects), 2);
  use({live(), dead.address()});
  EXPECT_EQ(c.post("/", "again").body, "again");
  EXPECT_EQ(metric(Metric::upstream_connects), 3);
}

TEST_F(Connections, an_address_that_failed_is_not_the_first_any_more) {
  const DeadPort dead;
  settings.upstream_idle_max = 0;  // each request opens a connection
  answering_app();
  start(1);
  use({dead.address(), live()});
  auto c = client();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(c.get("/").status, 200);
  EXPECT_EQ(metric(Metric::upstream_connects), 4);
}

TEST_F(Connections, an_app_with_no_address_that_answers_is_a_503_at_once) {
  const DeadPort one, two;
  answering_app();
  start(1);
  use({one.address(), two.address()});
  EXPECT_EQ(client().post("/", "x").status, 503);
  EXPECT_EQ(metric(Metric::upstream_failures), 1);
}

TEST_F(Connections, an_app_whose_name_nobody_knows_is_a_503_until_somebody_does) {
  answering_app();
  start(1);
  use({});
  auto c = client();
  const auto away = c.get("/");
  EXPECT_EQ(away.status, 503);
  EXPECT_NE(away.header("Retry-After"), "");
  use({live()});
  EXPECT_EQ(client().get("/").status, 200);
}

TEST_F(Connections, idle_ones_to_where_the_app_was_are_closed) {
  answering_app();
  start(1);
  OriginServer elsewhere(
      OriginServer::answering([](std::string_view, std::string) { return ok("elsewhere"); }));
  auto c = client();
  EXPECT_EQ(c.get("/").body, "");
  use({net::SocketAddress::tcp(Address::loopback(), elsewhere.port())});
  EXPECT_EQ(c.get("/").body, "elsewhere");
}

}  // namespace
}  // namespace weir::proxy::connections_test
