#include "api/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <new>
#include <thread>

#include "api_world.h"
#include "gate/unsettled.h"
#include "net/worker_pool.h"
#include "tests/support/door_client.h"
#include "tests/support/open_api.h"
#include "tests/support/temp_path.h"

namespace weir::api::server_test {
namespace {

namespace json = boost::json;
using test::Client;
using test::OpenApi;
using test::Reply;

constexpr const char* kYaml = R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
  hit: {source: {json: true, time: {field: ts, as: seconds}}}
policies:
  - {name: tries, watch: failed, key: ip, window: 10m, then: [{over: 2, do: deny, for: 1h}]}
  - {name: hits, watch: hit, key: k, window: 10m, then: [{over: 5, do: flag}]}
)";

constexpr std::string_view kJson = "Content-Type: application/json\r\n";
constexpr std::string_view kLines = "Content-Type: application/x-ndjson\r\n";

net::SocketAddress address(const char* text, std::uint16_t port = 0) {
  return net::SocketAddress::tcp(*Address::parse(text), port);
}

/// Real worker threads, each with a gate of its own over shared stores.
class TestWorkers final : public Workers {
 public:
  explicit TestWorkers(unsigned count) : pool(count) {
    for (unsigned i = 0; i < count; ++i) {
      gates.push_back(
          std::make_unique<gate::Gate>(shared, 0, gate::GateLimits{}, metrics.cells(i), nullptr));
      gates.back()->use(world.set_);
      lines.push_back(std::make_unique<LineJudge>(*gates.back(), metrics.cells(i)));
    }
    pool.start();
  }
  std::size_t count() const override { return pool.size(); }
  void post(std::size_t worker, std::function<void(LineJudge&, TimePoint)> work) override {
    ++posted;
    if (stuck) return;
    if (at_once && std::this_thread::get_id() != test_thread)
      return work(*lines[worker], world.now);
    pool[worker].post([this, worker, work = std::move(work)] { work(*lines[worker], world.now); });
  }

  policies::World world{kYaml};
  telemetry::Metrics metrics{3};
  gate::Shared shared{world.bank, world.lists, world.secret, world.stats};
  std::vector<std::unique_ptr<gate::Gate>> gates;
  std::vector<std::unique_ptr<LineJudge>> lines;
  std::atomic<int> posted{0};
  bool stuck = false;
  bool at_once = false;  ///< what one worker gives to another is done before it continues itself
  std::thread::id test_thread = std::this_thread::get_id();
  net::WorkerPool pool;  // last: its threads end first
};

class ApiServerTest : public testing::Test {
 protected:
  ApiServerTest() { open({address("127.0.0.1"), std::nullopt}); }
  ~ApiServerTest() override { test::run(io, door->stop(milliseconds{1'000})); }
  void open(const ApiSettings& settings) {
    door = std::make_unique<ApiServer>(io, settings, workers, workers.metrics.control());
    ASSERT_TRUE(door->start());
    client.emplace(io, door->address());
  }
  Reply post(const char* path, std::string_view body, std::string_view fields = kJson) {
    Reply reply = client->call("POST", path, fields, body);
    EXPECT_EQ(reply.field("Cache-Control"), "no-store");
    const std::string type = reply.field("Content-Type");
    std::size_t begin = 0;
    // Every line of an answer is one of the schema's.
    while (begin < reply.body.size()) {
      const std::size_t end = reply.body.find('\n', begin);
      EXPECT_EQ(OpenApi::events().check_answer("POST", path, reply.status, type,
                                               reply.body.substr(begin, end - begin)),
                "")
          << reply.body;
      if (end == std::string::npos) break;
      begin = end + 1;
    }
    return reply;
  }

  boost::asio::io_context io{1};
  TestWorkers workers{2};
  std::unique_ptr<ApiServer> door;
  std::optional<Client> client;
};

TEST_F(ApiServerTest, AnswersOneEventAsJson) {
  const Reply reply = post("/v1/events", R"({"event":"failed","ip":"203.0.113.9"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "application/json");
  EXPECT_EQ(reply.body, "{\"verdict\":\"pass\"}\n");
  const Reply query = post("/v1/query", R"({"event":"failed","ip":"203.0.113.9"})");
  EXPECT_EQ(json::parse(query.body).at("policies").at(0).at("value"), json::value(2));
  EXPECT_EQ(workers.metrics.sum(telemetry::Metric::api_requests), 2);
}

TEST_F(ApiServerTest, ABodyInAnEncodingIsRefusedNotMisread) {
  const std::string plain = R"({"event":"failed","ip":"203.0.113.9"})";
  const Reply reply = post("/v1/events", plain, std::string(kJson) + "Content-Encoding: gzip\r\n");
  EXPECT_EQ(reply.status, 415);
  EXPECT_EQ(reply.field("Accept-Encoding"), "identity");
  EXPECT_EQ(post("/v1/events", plain, std::string(kJson) + "Content-Encoding: identity\r\n").status,
            200);
}

TEST_F(ApiServerTest, AnswersABatchLineByLine) {
  std::string body;
  for (int i = 0; i < 1'000; ++i)
    body += "{\"event\":\"hit\",\"k\":" + std::to_string(i % 100) + "}\r\n";
  body += "{\"event\":\"hut\"}\n{\"event\":\"failed\",\"ip\":\"::1\"}";
  const Reply reply = post("/v1/events", body, kLines);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "application/x-ndjson");
  std::vector<std::string> verdicts;
  std::size_t begin = 0;
  for (std::size_t end; (end = reply.body.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    verdicts.push_back(reply.body.substr(begin, end - begin));
  }
  ASSERT_EQ(verdicts.size(), 1'002u);
  for (std::size_t i = 0; i < 1'000; ++i) {
    EXPECT_EQ(json::parse(verdicts[i]).at("verdict").as_string(), i < 500 ? "pass" : "flag") << i;
  }
  EXPECT_EQ(json::parse(verdicts[1'000]).at("line"), json::value(1'001));
  EXPECT_EQ(verdicts[1'001], "{\"verdict\":\"pass\"}");
  EXPECT_GT(workers.posted, 10) << "in slices, so that requests get their turn";
}

TEST_F(ApiServerTest, ConnectionsAtOnceShareTheWorkersAndNothingIsLost) {
  std::vector<Client> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(io, door->address());
  const std::string body = R"({"event":"hit","k":"same"})";
  for (Client& each : clients) {
    each.send(
        "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  int flags = 0;
  for (Client& each : clients) {
    const Reply reply = each.receive();
    EXPECT_EQ(reply.status, 200);
    flags += reply.body.find("flag") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(flags, 15) << "exactly five of twenty are within the limit";
}

TEST_F(ApiServerTest, AProblemOfTheOnlyEventIsAProblemOfTheRequest) {
  const Reply reply = post("/v1/events", "{\n \"event\": \"hot\"}");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  const json::value body = json::parse(reply.body);
  EXPECT_EQ(body.at("detail").as_string(), "there is no event \"hot\"; did you mean \"hit\"?");
  EXPECT_EQ(body.at("line"), json::value(2));
  EXPECT_EQ(body.at("column"), json::value(11));
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string("null"), std::string("{} {}"),
        "{\"event\":\"hit\",\"k\":" + std::string(900'000, '[')}) {
    EXPECT_EQ(post("/v1/events", bad).status, 400);
  }
  EXPECT_EQ(
      client->call("POST", "/v1/events", "Content-Type: application/json\r\nContent-Length: 0\r\n")
          .status,
      400);
}

TEST_F(ApiServerTest, RefusesWhatItDoesNotServe) {
  EXPECT_EQ(client->call("POST", "/v1/status", kJson, "{}").status, 404);
  EXPECT_EQ(client->call("POST", "/v1/events/", kJson, "{}").status, 404);
  const Reply get = client->call("GET", "/v1/events");
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.field("Allow"), "POST");
  EXPECT_EQ(client->call("POST", "/v1/events?x=1", kJson, "{}").status, 400);
  for (const char* fields :
       {"", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/json\r\nContent-Type: application/json\r\n"}) {
    EXPECT_EQ(post("/v1/events", "{}", fields).status, 415) << fields;
  }
  EXPECT_EQ(
      post("/v1/events", R"({"ip":"::1"})", "content-type: Application/JSON ; charset=utf-8\r\n")
          .status,
      200);
  EXPECT_EQ(
      post("/v1/events", "{}", "Host: evil.example\r\nContent-Type: application/json\r\n").status,
      403);
  EXPECT_EQ(
      post("/v1/events", "{}", "Origin: http://evil.example\r\nContent-Type: application/json\r\n")
          .status,
      403);
  EXPECT_EQ(workers.metrics.sum(telemetry::Metric::api_refused), 2);
}

TEST_F(ApiServerTest, BodiesAndBatchesAreBounded) {
  EXPECT_EQ(post("/v1/events", std::string(Batch::kEventsMax + 1, '\n'), kLines).status, 413);
  const Reply reply =
      client->call("POST", "/v1/events", kLines, std::string(ApiServer::kBodyBytes + 1, ' '));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  client.emplace(io, door->address());
  EXPECT_EQ(post("/v1/events", std::string(ApiServer::kBodyBytes, ' '), kLines).status, 200);
}

TEST_F(ApiServerTest, AStuckWorkerIsNotWaitedForForEver) {
  test::run(io, door->stop(milliseconds{1'000}));
  workers.stuck = true;
  open({address("127.0.0.1"), std::nullopt, milliseconds{20}});
  const Reply reply = post("/v1/events", "{}");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.field("Retry-After"), "1");
}

/// A gate without memory for an answer.
struct NoMemory final : gate::Judge {
  bool wants_body(const Request&) override { return false; }
  gate::Decision judge(const Request&, TimePoint, bool, gate::Waiter&) override { return {}; }
  gate::Decision resume(const Request&, TimePoint, bool, gate::Waiter&) override { return {}; }
  bool park(gate::Waiter&, const gate::Decision&, TimePoint) override { return false; }
  TimePoint waiting_until(const gate::Waiter&) const override { return {}; }
  void unpark(gate::Waiter&) override {}
  void end_hold() override {}
  bool answered(gate::Ticket&, const Answer&, TimePoint) override { return false; }
  void answered_body(gate::Ticket&, const Answer&, TimePoint) override { throw std::bad_alloc(); }
  void finish(gate::Ticket&, gate::End, TimePoint) override {}
  bool has_waiters() const override { return false; }
  void tick(TimePoint) override {}
};

// The batch moves to the worker that knows the request; its result there is the answer,
// whatever the first worker still has to do.
TEST_F(ApiServerTest, WhatGoesToAnotherWorkerIsLeftToIt) {
  NoMemory judge;
  gate::Ticket ticket;
  net::Wheel wheel{workers.world.now};
  gate::Unsettled here{*workers.gates[0], wheel, 0, milliseconds{60'000}, workers.metrics.cells(0)};
  gate::Unsettled there{judge, wheel, 1, milliseconds{60'000}, workers.metrics.cells(1)};
  workers.lines[0]->settle_by(here, 0, 2);
  workers.lines[1]->settle_by(there, 1, 2);
  const gate::Unsettled::Id id = there.next_id();
  there.keep(ticket, workers.world.now);
  workers.at_once = true;
  const Reply reply = post("/v1/events", R"({"request_id":")" + std::string(id.data(), id.size()) +
                                             R"(","status":401})");
  EXPECT_EQ(workers.posted, 2);
  EXPECT_EQ(reply.status, 200) << "also without memory it is settled there: " << reply.body;
}

TEST_F(ApiServerTest, DoesNotOpenToOthersWithoutAToken) {
  ApiServer open(io, {address("0.0.0.0"), std::nullopt}, workers, workers.metrics.control());
  EXPECT_EQ(open.start().error(), Error::refused);
  ApiServer without(io, {address("0.0.0.0"), "/nonexistent/token"}, workers,
                    workers.metrics.control());
  EXPECT_EQ(without.start().error(), Error::unavailable);
  const test::TempPath file;
  file.write("s3cret\n");
  ApiServer guarded(io, {address("0.0.0.0"), file.path}, workers, workers.metrics.control());
  ASSERT_TRUE(guarded.start());
  Client other(io, address("127.0.0.1", guarded.address().port()));
  const Reply refused = other.call("POST", "/v1/events", kJson, "{}");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.field("WWW-Authenticate"), "Bearer");
  Client stranger(io, address("127.0.0.1", guarded.address().port()));
  stranger.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(stranger.receive().status, 401) << "before the body";
  EXPECT_EQ(other
                .call("POST", "/v1/events",
                      "Authorization: Bearer s3cret\r\nContent-Type: application/json\r\n",
                      R"({"ip":"::1"})")
                .status,
            200);
  test::run(io, guarded.stop(milliseconds{1'000}));
}

TEST(ApiOpenApi, DescribesBothPathsAndItsExamplesFit) {
  EXPECT_EQ(OpenApi::events().operations(),
            (std::set<std::string>{"POST /v1/events", "POST /v1/query"}));
  EXPECT_EQ(OpenApi::events().check_examples(), "");
}

}  // namespace
}  // namespace weir::api::server_test
