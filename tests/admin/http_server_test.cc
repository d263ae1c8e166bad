#include <gtest/gtest.h>

#include <stdexcept>

#include "api_fixture.h"
#include "net/deadline.h"
#include "net/http/server.h"

/// The server under both doors, by the admin tests' client; its limits with small numbers.
namespace weir::test::http_server_test {
namespace {

struct Echo final : net::HttpHandler {
  boost::asio::awaitable<net::HttpReply> handle(net::HttpRequest request) override {
    ++handled;
    if (request.path == "/slow") co_await net::pause(milliseconds{3'600'000});
    if (request.path == "/throw") throw std::runtime_error("a bug");
    net::HttpReply reply;
    reply.content_type = "text/plain";
    if (request.path == "/big") {
      reply.page = page;
      co_return reply;
    }
    if (request.path == "/stream") {
      reply.body = "first ";
      reply.next = [this]() -> boost::asio::awaitable<net::HttpReply::Piece> {
        co_await net::pause(milliseconds{1});
        co_return pieces-- > 0 ? page : nullptr;
      };
      co_return reply;
    }
    reply.body = request.method + " " + request.path + "?" + request.query + " " + request.body;
    co_return reply;
  }
  std::optional<net::HttpReply> screen(const net::HttpRequest& request) override {
    EXPECT_EQ(request.body, "");
    if (request.path == "/refused") return refuse(401, "no");
    return std::nullopt;
  }
  net::HttpReply refuse(int status, std::string_view detail) override {
    return {status, "text/plain", std::string(detail), {}};
  }
  bool is_bulk(const net::HttpRequest& request) const noexcept override {
    return request.path == "/big";
  }
  int handled = 0, pieces = 0;
  /// More than the kernel buffers of a peer that does not read.
  const std::shared_ptr<const std::string> page =
      std::make_shared<const std::string>(std::size_t{64} << 20, 'x');
};

net::HttpServerLimits small_limits() {
  net::HttpServerLimits limits;
  limits.connections = 4;
  limits.head_bytes = 512;
  limits.body_bytes = 100;
  limits.idle = limits.head = limits.body = milliseconds{60};
  return limits;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void listen(const net::HttpServerLimits& limits = small_limits()) {
    server.emplace(io, echo, limits);
    ASSERT_TRUE(server->listen(loopback()));
  }
  Client connect() { return {io, server->address()}; }

  boost::asio::io_context io{1};
  Echo echo;
  std::optional<net::HttpServer> server;
};

}  // namespace

TEST_F(HttpServerTest, GivesAnAnswerPieceByPieceAndClosesBehindIt) {
  echo.pieces = 2;
  listen();
  Client client = connect();
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Length"), "");
  EXPECT_EQ(reply.field("Connection"), "close");
  std::size_t taken = 0;
  while (const std::size_t n = client.take(std::size_t{1} << 24)) taken += n;
  EXPECT_EQ(taken, 6 + 2 * echo.page->size());
  // A HEAD has the same head, and no piece is asked for.
  echo.pieces = 5;
  Client other = connect();
  other.send("HEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(other.receive(true).status, 200);
  EXPECT_TRUE(other.closed_by_peer());
  EXPECT_EQ(echo.pieces, 5);
}

TEST_F(HttpServerTest, LetsGoOfAReaderWhoTakesNothing) {
  echo.pieces = 1000;
  net::HttpServerLimits limits = small_limits();
  limits.write = milliseconds{60};
  listen(limits);
  Client client = connect();
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  io.restart();
  while (server->open_connections() > 0 && io.run_one_for(std::chrono::seconds{10}) > 0) {
  }
  EXPECT_EQ(server->open_connections(), 0U);
  EXPECT_GT(echo.pieces, 900);
}

TEST_F(HttpServerTest, AnswersInOrderOnOneConnection) {
  listen();
  Client client = connect();
  client.send(
      "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\nPOST /c HTTP/1.1\r\nHost: x\r\nContent-Length: "
      "2\r\n\r\nhi"
      "GET /d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.receive().body, "GET /a?b ");
  EXPECT_EQ(client.receive().body, "POST /c? hi");
  const Reply last = client.receive();
  EXPECT_EQ(last.body, "GET /d? ");
  EXPECT_EQ(last.field("Connection"), "close");
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(HttpServerTest, TakesChunkedBodiesAbsoluteTargetsAndOldClients) {
  listen();
  Client client = connect();
  client.send(
      "POST http://x/e?f HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
  EXPECT_EQ(client.receive().body, "POST /e?f hi");
  client.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.receive().body, "GET /? ");
  EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(HttpServerTest, RefusesByTheHeadBeforeTheBodyIsRead) {
  net::HttpServerLimits limits = small_limits();
  limits.body_bytes = limits.bodies_bytes = 1 << 20;
  listen(limits);
  Client client = connect();
  client.send("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  const Reply reply = client.receive();
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.field("Connection"), "close");
  Client waits = connect();
  waits.send(
      "POST /refused HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(waits.receive().status, 401) << "without 100";
  Client small = connect();
  EXPECT_EQ(small.call("POST", "/refused", {}, "hi").status, 401);
  EXPECT_EQ(small.call("POST", "/other", {}, "hi").status, 200) << "the connection goes on";
  EXPECT_EQ(echo.handled, 1);
}

TEST_F(HttpServerTest, BodiesUnderWayHaveAnUpperLimit) {
  net::HttpServerLimits limits = small_limits();
  limits.body_bytes = 10'000;
  limits.bodies_bytes = 25'000;
  limits.body = milliseconds{3'600'000};
  listen(limits);
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n";
  Client first = connect(), second = connect();
  first.send(head);
  second.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  io.restart();
  for (int i = 0; i < 100; ++i) io.poll();  // both heads are read
  Client third = connect();
  third.send(head);
  const Reply refused = third.receive();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.field("Retry-After"), "1");
  first.send(std::string(10'000, 'x'));
  EXPECT_EQ(first.receive().status, 200);
  second.send("2\r\nhi\r\n0\r\n\r\n");
  EXPECT_EQ(second.receive().status, 200);
  // A body that is answered is given back, also where its length was unknown.
  for (int i = 0; i < 5; ++i) {
    second.send(
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
    EXPECT_EQ(second.receive().status, 200) << i;
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(first.call("POST", "/", {}, std::string(10'000, 'x')).status, 200) << i;
  }
}

TEST_F(HttpServerTest, SaysContinueToWhoWaitsForIt) {
  listen();
  Client client = connect();
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send("hi");
  EXPECT_EQ(client.receive().body, "POST /? hi");
}

TEST_F(HttpServerTest, RefusesWhatIsAmbiguousOrTooLarge) {
  listen();
  struct Case {
    std::string bytes;
    int status;
  };
  const std::string get = "GET / HTTP/1.1\r\n";
  for (const Case& c :
       {Case{"nonsense\r\n\r\n", 400},
        {get + "\r\n", 400},
        {get + "Host: x\r\nHost: y\r\n\r\n", 400},
        {"GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        {"CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400},
        {get + "Host: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {get + "Host: x\r\nContent-Length: -1\r\n\r\n", 400},
        {get + "Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        {get + "Host: x\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'x'), 413},
        {get + "Host: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + std::string(255, 'x'), 413},
        {get + "Host: x\r\nX: " + std::string(600, 'x') + "\r\n\r\n", 431}}) {
    Client client = connect();
    client.send(c.bytes);
    const Reply reply = client.receive();
    EXPECT_EQ(reply.status, c.status) << c.bytes.substr(0, 100);
    EXPECT_EQ(reply.field("Connection"), "close");
    EXPECT_TRUE(client.closed_by_peer());
  }
  EXPECT_EQ(echo.handled, 0);
}

TEST_F(HttpServerTest, SlowClientsRunIntoDeadlines) {
  listen();
  Client idle = connect(), head = connect(), body = connect();
  head.send("GET / HTTP/1.1\r\n");
  body.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc");
  EXPECT_TRUE(idle.closed_by_peer());
  EXPECT_EQ(head.receive().status, 408);
  EXPECT_EQ(body.receive().status, 408);
}

TEST_F(HttpServerTest, TheLongestWaitingConnectionMakesRoom) {
  net::HttpServerLimits limits = small_limits();
  limits.idle = limits.head = milliseconds{3'600'000};
  listen(limits);
  Client busy = connect();
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  while (echo.handled == 0) io.run_one();
  Client first = connect(), second = connect(), third = connect();
  EXPECT_EQ(first.call("GET", "/").status, 200);  // and waits from now on
  EXPECT_EQ(server->open_connections(), 4U);
  Client next = connect();
  EXPECT_EQ(next.call("GET", "/").status, 200);
  EXPECT_TRUE(second.closed_by_peer());
  EXPECT_EQ(first.call("GET", "/").status, 200);
  EXPECT_EQ(server->displaced(), 1U);
}

TEST_F(HttpServerTest, ConnectionsInTheMiddleOfAnAnswerAreNotDisplaced) {
  listen();
  std::vector<Client> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(connect());
    busy.back().send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
    while (echo.handled <= i) io.run_one();
  }
  Client next = connect();
  EXPECT_TRUE(next.closed_by_peer());
  EXPECT_EQ(server->open_connections(), 4U);
}

TEST_F(HttpServerTest, ReadersThatTakeNothingMakeRoom) {
  net::HttpServerLimits limits = small_limits();
  limits.idle = limits.head = milliseconds{3'600'000};
  listen(limits);
  std::vector<Client> stalled;
  for (int i = 0; i < 6; ++i) {
    stalled.push_back(connect());
    stalled.back().send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    while (echo.handled <= i) io.run_one();
    io.poll();
    Client probe = connect();
    EXPECT_EQ(probe.call("GET", "/").status, 200) << "after " << i + 1 << " stalled readers";
    echo.handled = i + 1;  // without the probe
  }
  EXPECT_LE(server->open_connections(), 4U);
  EXPECT_GE(server->displaced(), 2U);
}

TEST_F(HttpServerTest, AReaderThatTakesItsAnswerIsNotDisplacedByOnesThatDoNot) {
  net::HttpServerLimits limits = small_limits();
  limits.bulk = 2;
  listen(limits);
  Client reader = connect();
  reader.send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
  while (echo.handled == 0) io.run_one();
  std::vector<Client> stalled;
  std::size_t taken = 0;
  for (int i = 0; i < 4; ++i) {
    // More than both kernels' buffers hold: so the server has written on since the last one came.
    const std::size_t goal = taken + (std::size_t{11} << 20);
    while (taken < goal) {
      const std::size_t more = reader.take(goal - taken);
      if (more == 0) break;
      taken += more;
    }
    stalled.push_back(connect());
    stalled.back().send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    while (echo.handled < i + 2) io.run_one();
    io.poll();
  }
  while (taken < echo.page->size()) {
    const std::size_t more = reader.take(echo.page->size());
    if (more == 0) break;
    taken += more;
  }
  EXPECT_GE(taken, echo.page->size());
  EXPECT_EQ(server->displaced(), 3U) << "stalled ones made room for one another";
}

TEST_F(HttpServerTest, BulkAnswersLeaveConnectionsToTheRest) {
  net::HttpServerLimits limits = small_limits();
  limits.connections = 4;
  limits.bulk = 1;
  limits.idle = limits.head = milliseconds{3'600'000};
  listen(limits);
  Client kept = connect();
  EXPECT_EQ(kept.call("GET", "/").status, 200);
  Client other = connect();
  EXPECT_EQ(other.call("GET", "/").status, 200);
  std::vector<Client> stalled;
  for (int i = 0; i < 10; ++i) {
    stalled.push_back(connect());
    stalled.back().send("GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
    while (echo.handled < i + 3) io.run_one();
    io.poll();
  }
  // Ten stalled readers have displaced one another, and neither of the two that were there before.
  EXPECT_EQ(kept.call("GET", "/").status, 200);
  EXPECT_EQ(other.call("GET", "/").status, 200);
}

TEST_F(HttpServerTest, AFailingHandlerCostsItsRequestAlone) {
  listen();
  Client client = connect();
  EXPECT_EQ(client.call("GET", "/throw").status, 500);
  EXPECT_EQ(client.call("GET", "/").status, 200);
  EXPECT_EQ(server->failures(), 1U);
}

TEST_F(HttpServerTest, StopClosesIdleConnectionsAndCutsTheRestAfterTheGrace) {
  net::HttpServerLimits limits = small_limits();
  limits.idle = milliseconds{3'600'000};
  listen(limits);
  Client idle = connect(), busy = connect();
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  while (echo.handled == 0) io.run_one();
  run(io, server->stop(milliseconds{20}));
  EXPECT_EQ(server->open_connections(), 0U);
  EXPECT_TRUE(idle.closed_by_peer());
  EXPECT_TRUE(busy.closed_by_peer());
}

TEST_F(HttpServerTest, MayBeDroppedWithOpenConnections) {
  listen();
  Client idle = connect(), busy = connect();
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  while (echo.handled == 0) io.run_one();
  server.reset();
  io.restart();
  io.poll();
  EXPECT_TRUE(busy.closed_by_peer());
}

TEST_F(HttpServerTest, ATakenPortIsAnError) {
  listen();
  net::HttpServer second(io, echo, small_limits());
  EXPECT_FALSE(second.listen(server->address()));
}

}  // namespace weir::test::http_server_test
