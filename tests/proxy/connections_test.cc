// Who gets a connection when they run out.
#include <gtest/gtest.h>

#include <set>

#include "core/clock.h"
#include "tests/proxy/proxy_fixture.h"

namespace weir::proxy::connections_test {
namespace {

using namespace weir::test;
using telemetry::Metric;

class Connections : public ProxyFixture {
 protected:
  void answering_app() {
    origin(OriginServer::answering([](std::string_view, std::string body) { return ok(body); }));
  }
  /// Has been answered, and has begun its next request: not idle.
  HttpClient busy() {
    HttpClient c = client();
    EXPECT_EQ(c.get("/").status, 200);
    c.send("GET / HT");
    return c;
  }
};

TEST_F(Connections, over_the_limit_are_closed_and_room_comes_back) {
  net::ConnectionBudget budget(3);
  settings.connections = &budget;
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
  net::ConnectionBudget budget(4);
  settings.connections = &budget;
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

TEST_F(Connections, who_never_sent_a_request_makes_no_room) {
  net::ConnectionBudget budget(1);
  settings.connections = &budget;
  answering_app();
  start(1);
  auto first = client();
  EXPECT_TRUE(metric_becomes(Metric::connections_open, 1));
  EXPECT_TRUE(client().at_end());
  EXPECT_EQ(first.get("/").status, 200);
}

TEST_F(Connections, of_one_address_are_limited) {
  net::ConnectionBudget budget(10, 2);
  settings.connections = &budget;
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
  net::ConnectionBudget budget(10, 2);
  settings.connections = &budget;
  settings.spares_trusted = true;
  settings.client_rules = net::ClientAddressRules({*Cidr::parse("127.0.0.0/8")}, "x-forwarded-for");
  answering_app();
  start(1);
  auto a = client(), b = client(), c = client();
  for (auto* each : {&a, &b, &c}) EXPECT_EQ(each->get("/").status, 200);
}

}  // namespace
}  // namespace weir::proxy::connections_test
