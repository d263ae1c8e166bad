#include "admin/health.h"

#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <thread>

#include "admin/metrics_page.h"
#include "api_fixture.h"

namespace weir::test::health_test {
namespace {

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    EXPECT_TRUE(door.start());
    client.emplace(io, door.address());
  }
  ~HealthTest() override { run(io, door.stop(milliseconds{1'000})); }

  boost::asio::io_context io{1};
  FakeProcess process{kConfig};
  FakeWorkerProbe worker_probe;
  admin::HealthServer door{
      io, {loopback(), milliseconds{40}}, process, worker_probe, process.stores()};
  std::optional<Client> client;
};

/// The errors that promtool reports for a page; empty: none.
std::string lint(const std::string& page) {
  char name[] = "/tmp/weir-promtool-XXXXXX";
  const int fd = ::mkstemp(name);
  EXPECT_EQ(::write(fd, page.data(), page.size()), static_cast<ssize_t>(page.size()));
  ::close(fd);
  std::FILE* pipe =
      ::popen((std::string("promtool check metrics < ") + name + " 2>&1").c_str(), "r");
  std::string out;
  char bytes[4096];
  while (const std::size_t n = std::fread(bytes, 1, sizeof bytes, pipe)) out.append(bytes, n);
  if (const int code = ::pclose(pipe); code != 0) out += "exit " + std::to_string(code);
  ::unlink(name);
  return out;
}

bool has_promtool() { return std::system("command -v promtool > /dev/null 2>&1") == 0; }

}  // namespace

TEST_F(HealthTest, LiveWhileEveryLoopTurns) {
  Reply reply = client->call("GET", "/livez");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "ok\n");
  EXPECT_EQ(client->call("GET", "/livez?verbose").body,
            "[+]worker 0 ok\n[+]worker 1 ok\nlivez check passed\n");
  EXPECT_EQ(client->call("GET", "/livez?a=1&verbose=0").body,
            "[+]worker 0 ok\n[+]worker 1 ok\nlivez check passed\n");
  // A probe with a query that can't be read is answered all the same, in short.
  EXPECT_EQ(client->call("GET", "/livez?verbose&a=%zz").body, "ok\n");
  worker_probe.alive[1] = false;
  reply = client->call("GET", "/livez?verbose");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "[+]worker 0 ok\n[-]worker 1 gave no sign for 40 ms\nlivez check failed\n");
  for (const auto& beat : worker_probe.held) beat();  // late answers are harmless
  worker_probe.alive[1] = true;
  EXPECT_EQ(client->call("GET", "/livez").status, 200);
}

TEST_F(HealthTest, ReadyFromTheFirstPolicySetUntilTheDrain) {
  EXPECT_EQ(client->call("GET", "/readyz").status, 200);
  process.facts.last_load.ok = false;  // degraded is ready
  Reply reply = client->call("GET", "/readyz?verbose=1");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(
      reply.body,
      "[+]policies ok, " + process.facts.config_hash +
          "\n[+]drain ok, not draining\n[+]reload failed; the policies before it are in force\n"
          "readyz check passed\n");
  process.facts.draining = true;
  reply = client->call("GET", "/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("[-]drain is going on"), std::string::npos);
  EXPECT_EQ(client->call("GET", "/startupz").status, 200);
  EXPECT_EQ(client->call("GET", "/livez").status, 200);
  process.facts.loaded = false;
  EXPECT_EQ(client->call("GET", "/startupz").status, 503);
  EXPECT_EQ(client->call("GET", "/readyz").status, 503);
}

TEST_F(HealthTest, SaysWhetherTheStateIsWritten) {
  process.facts.state = "";
  EXPECT_NE(client->call("GET", "/readyz?verbose").body.find("[+]state ok\n"), std::string::npos);
  process.facts.state = "state.dir /x can't be locked: Read-only file system";
  const Reply reply = client->call("GET", "/readyz?verbose");
  EXPECT_EQ(reply.status, 200) << "weir serves all the same";
  EXPECT_NE(
      reply.body.find("[+]state is not written, and lost with the process: state.dir /x can't "
                      "be locked: Read-only file system\n"),
      std::string::npos)
      << reply.body;
}

TEST_F(HealthTest, OnlyReads) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    const Reply reply = client->call(method, "/livez");
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.field("Allow"), "GET, HEAD");
  }
  EXPECT_EQ(client->call("GET", "/v1/status").status, 404);
  const Reply head = client->call("HEAD", "/livez");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Length"), "3");
  EXPECT_EQ(client->call("GET", "/livez").body, "ok\n");
  EXPECT_EQ(client->call("GET", "/livez", "", "x").status, 413);
}

TEST_F(HealthTest, MetricsAreCleanUnderPromtool) {
  for (int i = 0; i < 5; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  const Reply reply = client->call("GET", "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"weir_build_info{version=\"1.2.3-test\",commit=\"\"} 1\n",
        "weir_list_entries{list=\"office\"} 2\n", "weir_list_entries{list=\"per-ip:graylist\"} 1\n",
        "weir_list_refused_total{list=\"gray_users\"} 0\n",
        "weir_verdict_total{policy=\"per-ip\",action=\"flag\"} ", "weir_table_capacity ",
        "weir_memory_limit_bytes ", "process_resident_memory_bytes ", "process_cpu_seconds_total ",
        "process_open_fds ", "process_start_time_seconds "}) {
    EXPECT_NE(reply.body.find(line), std::string::npos) << line;
  }
  EXPECT_NE(reply.body.find("weir_config_info{hash=\"" + process.facts.config_hash + "\"} 1\n"),
            std::string::npos);
  EXPECT_GT(process.metrics.sum(telemetry::Metric::memory_limit), 0);
  ASSERT_TRUE(has_promtool()) << "promtool comes with Debian's prometheus (scripts/deps)";
  EXPECT_EQ(lint(reply.body), "");
}

TEST_F(HealthTest, MetricsAreBoundedWhateverIsLoaded) {
  std::string yaml = "weir: 1\nlists:\n";
  for (int i = 0; i < 900; ++i) {
    const std::string n = std::to_string(i);
    yaml +=
        "  l" + n + ": {of: ip, kind: gray, entries: [10.0.0." + std::to_string(i % 250) + "]}\n";
  }
  FakeProcess many(yaml);
  const std::string page = admin::metrics_page(many, many.stores());
  std::size_t series = 0;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) series += !line.starts_with('#');
  EXPECT_LE(series + 1'150 - 300, 2'000U) << "with as many of policies as there may be";
  EXPECT_NE(page.find("weir_series_dropped 600\n"), std::string::npos);
}

TEST_F(HealthTest, MetricsWorkBeforeTheFirstPolicySet) {
  process.set = nullptr;
  const Reply reply = client->call("GET", "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(lint(reply.body), "");
}

TEST_F(HealthTest, SixtyFourIdleConnectionsDoNotBlockAProbe) {
  client.reset();
  std::vector<Client> idle;
  for (int i = 0; i < 40; ++i) idle.emplace_back(io, door.address());
  for (int i = 0; i < 40; ++i) {
    idle.emplace_back(io, door.address());
    idle.back().send("GET /livez HTTP/1.1\r\nX-Slow: ");  // a head that never ends
  }
  for (int i = 0; i < 100; ++i) {
    Client probe(io, door.address());
    ASSERT_EQ(probe.call("GET", "/livez").status, 200);
    ASSERT_LE(door.server().open_connections(), 64U);
  }
  EXPECT_GT(door.server().displaced(), 0U);
}

TEST_F(HealthTest, MetricsAreRenderedAtMostOnceASecond) {
  using telemetry::Metric;
  const auto shown = [&] { return client->call("GET", "/metrics").body; };
  const std::string first = shown();
  process.metrics.cells(0).add(Metric::requests_2xx);
  EXPECT_EQ(shown(), first);
  process.now += admin::HealthServer::kPageAge - milliseconds{1};
  EXPECT_EQ(shown(), first);
  process.now += milliseconds{1};
  EXPECT_NE(shown(), first);
}

TEST_F(HealthTest, WorkersMayWriteWhileTheirCellsAreScraped) {
  std::atomic<bool> stop{false};
  std::thread worker([&, time = process.now] {
    std::uint32_t n = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      process.metrics.cells(0).add(telemetry::Metric::requests_2xx);
      const Address caller = Address::v4(0xc6336400U + n++ % 256);
      process.judge_at(time, "POST", "/api/login", caller.to_string());
    }
  });
  for (int i = 0; i < 50; ++i) {
    process.now += admin::HealthServer::kPageAge;  // or the page would not be rendered again
    EXPECT_EQ(client->call("GET", "/metrics").status, 200);
  }
  stop = true;
  worker.join();
}

TEST_F(HealthTest, AWorkersPoolAnswersThePulse) {
  struct Threads final : admin::WorkerProbe {
    std::size_t workers() const override { return 2; }
    void ask(std::size_t worker, std::function<void()> beat) override {
      boost::asio::post(loops[worker], std::move(beat));
    }
    std::array<boost::asio::io_context, 2> loops;
  } pool;
  std::array guards{boost::asio::make_work_guard(pool.loops[0]),
                    boost::asio::make_work_guard(pool.loops[1])};
  std::array threads{std::thread([&] { pool.loops[0].run(); }),
                     std::thread([&] { pool.loops[1].run(); })};
  {
    admin::HealthServer live(io, {loopback(), milliseconds{20'000}}, process, pool,
                             process.stores());
    ASSERT_TRUE(live.start());
    Client probe(io, live.address());
    for (int i = 0; i < 50; ++i) ASSERT_EQ(probe.call("GET", "/livez").status, 200);
    run(io, live.stop(milliseconds{1'000}));
  }
  for (auto& guard : guards) guard.reset();
  for (auto& thread : threads) thread.join();
}

}  // namespace weir::test::health_test
