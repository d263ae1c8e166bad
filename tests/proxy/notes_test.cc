// The records in the access log, traces and histograms, on every path through a session.
#include <atomic>
#include <map>

#include "telemetry/request_sink.h"
#include "tests/proxy/proxy_fixture.h"

namespace weir::test::notes_test {
namespace {

using telemetry::AccessField;
using telemetry::RequestFacts;

Effect refusal() {
  Effect effect;
  effect.kind = Effect::Kind::answer;
  effect.status = 429;
  return effect;
}

class NotesTest : public ProxyFixture {
 protected:
  void observe(double trace = -1) {
    cells = std::make_unique<telemetry::Metrics>(1);
    sink = std::make_unique<telemetry::RequestSink>(cells->cells(0), bell, 7);
    latency = std::make_unique<telemetry::Latency>(1);
    on_worker([&] {
      telemetry::AccessSettings wants;
      wants.fields = fields;
      sink->log(std::make_shared<const telemetry::AccessSettings>(wants));
      if (trace >= 0) sink->trace(trace);
      servers.front()->observe(sink.get(), &latency->cells(0));
    });
  }
  /// The log, once it has this many lines.
  std::string lines(int count) {
    std::string all;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::count(all.begin(), all.end(), '\n') < count &&
           std::chrono::steady_clock::now() < until) {
      std::string piece;
      on_worker([&] { sink->take(piece); });
      all += piece;
    }
    return all;
  }
  void TearDown() override {
    ProxyFixture::TearDown();
    sink.reset();
  }

  decltype(telemetry::AccessSettings::fields) fields = {AccessField::method, AccessField::path,
                                                        AccessField::status, AccessField::end,
                                                        AccessField::upstream};
  std::unique_ptr<telemetry::Metrics> cells;
  telemetry::SinkBell bell;
  std::unique_ptr<telemetry::RequestSink> sink;
  std::unique_ptr<telemetry::Latency> latency;
};

TEST_F(NotesTest, EveryRequestHasOneLineHoweverItEnds) {
  settings.upstream_name = "app";
  judge().decide = [](const Request& request, bool) {
    return request.path == "/deny" ? refusal() : Effect{};
  };
  origin([](Stream& s, int) {
    while (const auto head = s.read_head()) {
      if (head->starts_with("GET /cut")) {
        s.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
        return;
      }
      s.write(ok("body"));
    }
  });
  start();
  observe();
  auto c = client();
  EXPECT_EQ(c.get("/pass").status, 200);
  EXPECT_EQ(c.get("/deny").status, 429);
  EXPECT_EQ(c.ask("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
  EXPECT_EQ(c.get("/pass").status, 200);
  EXPECT_EQ(client().get("/%00").status, 400);
  EXPECT_EQ(client().ask("nonsense\r\n\r\n").status, 400);
  {
    auto cut = client();
    cut.send(request_text("GET", "/cut"));
    cut.stream().read_head();
  }
  EXPECT_EQ(lines(7),
            "{\"method\":\"GET\",\"path\":\"/pass\",\"status\":200,\"end\":\"complete\","
            "\"upstream\":\"app\"}\n"
            "{\"method\":\"GET\",\"path\":\"/deny\",\"status\":429,\"end\":\"refused\"}\n"
            "{\"status\":200,\"end\":\"local\"}\n"
            "{\"method\":\"GET\",\"path\":\"/pass\",\"status\":200,\"end\":\"complete\","
            "\"upstream\":\"app\"}\n"
            "{\"method\":\"GET\",\"path\":\"/%00\",\"status\":400,\"end\":\"local\"}\n"
            "{\"status\":400,\"end\":\"local\"}\n"
            "{\"method\":\"GET\",\"path\":\"/cut\",\"status\":200,\"end\":\"cut\","
            "\"upstream\":\"app\"}\n");
  EXPECT_EQ(cells->sum(telemetry::Metric::access_lost), 0);
  std::string page;
  latency->write(page, "app");
  EXPECT_NE(page.find("weir_request_duration_seconds_count{route=\"other\"} 6\n"),
            std::string::npos)
      << "all that could be read\n"
      << page;
  EXPECT_NE(page.find("weir_upstream_duration_seconds_count{upstream=\"app\"} 3\n"),
            std::string::npos);
}

TEST_F(NotesTest, AClientThatLeavesIsToldAsAborted) {
  std::promise<void> reached;
  origin([&](Stream& s, int) {
    s.read_head();
    reached.set_value();
    s.read_head();
  });
  start();
  observe();
  {
    auto c = client();
    c.send(request_text("GET", "/slow"));
    reached.get_future().wait();
    c.stream().reset();
  }
  EXPECT_EQ(lines(1), "{\"method\":\"GET\",\"path\":\"/slow\",\"end\":\"aborted\"}\n");
}

/// Its head is complete, but not judged: its body is read, or it waits for a reservation.
TEST_F(NotesTest, ARequestThatEndsBeforeItsJudgementIsToldWithItsClient) {
  settings.body_time = milliseconds(200);
  settings.client_rules = net::ClientAddressRules({*Cidr::parse("127.0.0.0/8")}, "x-forwarded-for");
  fields = {AccessField::client, AccessField::method, AccessField::path, AccessField::status,
            AccessField::end};
  std::atomic<bool> has_head = false;
  judge().reads_body = [&](const Request&) {
    has_head = true;
    has_head.notify_all();
    return true;
  };
  judge().decide = [](const Request& request, bool may_wait) {
    Effect effect;
    if (request.path == "/wait" && may_wait) effect.kind = Effect::Kind::wait;
    return effect;
  };
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("a"); }));
  start();
  observe();
  const std::string head =
      " HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.7\r\nContent-Length: 4\r\n\r\n";
  const std::string who = "\"client\":\"203.0.113.7\",\"method\":\"POST\",\"path\":";
  {
    auto c = client();
    c.send("POST /reset" + head + "ab");
    has_head.wait(false);  // else the reset may come before the first read
    c.stream().reset();
  }
  EXPECT_EQ(lines(1), "{" + who + "\"/reset\",\"end\":\"aborted\"}\n");
  client().send("POST /left" + head + "ab");
  EXPECT_EQ(lines(1), "{" + who + "\"/left\",\"end\":\"aborted\"}\n");
  EXPECT_EQ(client().ask("POST /stalls?q=1" + head + "ab").status, 408);
  EXPECT_EQ(lines(1), "{" + who + "\"/stalls\",\"status\":408,\"end\":\"local\"}\n");
  {
    auto c = client();
    c.send("POST /wait" + head + "abcd");
    while (judge().parked() == 0) on_worker([] {});
    c.stream().reset();
  }
  EXPECT_EQ(lines(1), "{" + who + "\"/wait\",\"end\":\"aborted\"}\n");
}

TEST_F(NotesTest, AHeldRequestSaysHowLongItWaited) {
  judge().decide = [](const Request&, bool) {
    Effect effect;
    effect.kind = Effect::Kind::delay;
    effect.hold = milliseconds{50};
    return effect;
  };
  origin(OriginServer::answering([](std::string_view, std::string) { return ok("a"); }));
  start();
  observe(1);
  EXPECT_EQ(client().get("/held").status, 200);
  lines(1);
  const RequestFacts* const facts = sink->spans()->front();
  ASSERT_NE(facts, nullptr);
  EXPECT_GE(facts->wait_us, 40'000);
  EXPECT_LT(facts->judge_us, 40'000);
  EXPECT_GE(facts->total_us, facts->wait_us);
  EXPECT_GE(facts->sent_us, facts->wait_us);
}

TEST_F(NotesTest, TheAppGetsTheSpanOfItsExchange) {
  std::string seen;
  origin(OriginServer::answering([&](std::string_view head, std::string) {
    seen = std::string(head);
    return ok("a");
  }));
  start();
  observe(1);
  const std::string theirs = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
  EXPECT_EQ(client().ask("GET / HTTP/1.1\r\nHost: a\r\nTraceparent: " + theirs + "\r\n\r\n").status,
            200);
  lines(1);
  const RequestFacts* const facts = sink->spans()->front();
  ASSERT_NE(facts, nullptr) << "a stranger does not decide whether it is sampled";
  std::array<char, telemetry::kTraceparentSize> room;
  telemetry::TraceContext expected = *telemetry::parse_traceparent(theirs);
  EXPECT_EQ(facts->trace.trace_id, expected.trace_id);
  EXPECT_EQ(facts->parent, expected.span_id);
  expected.span_id = facts->client_span;
  expected.sampled = true;
  const std::string line =
      "Traceparent: " + std::string(telemetry::format_traceparent(expected, room)) + "\r\n";
  EXPECT_NE(seen.find(line), std::string::npos) << seen;
  EXPECT_EQ(seen.find(theirs), std::string::npos);
}

}  // namespace
}  // namespace weir::test::notes_test
