#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>

#include <functional>

#include "app/support/http_client.h"
#include "tests/app/program.h"
#include "tests/app/scratch.h"
#include "tests/support/free_port.h"

/// A whole process: the state that survives its death, and its end.
namespace weir::app::serve_test {
namespace {

using testing::HasSubstr;

struct ServeTest : testing::Test {
  ServeTest() {
    scratch.write(
        "weir.yaml",
        "weir: 1\nproxy: {listen: 127.0.0.1:" + std::to_string(proxy) +
            ", upstream: http://127.0.0.1:" + std::to_string(test::free_port()) +
            "}\nadmin: {listen: 127.0.0.1:" + std::to_string(admin) +
            "}\nhealth: {listen: 127.0.0.1:" + std::to_string(health) +
            "}\napi: {listen: 127.0.0.1:" + std::to_string(api) +
            "}\nstate: {dir: " + (scratch / "state") +
            "}\ndrain: {delay: 0s, timeout: 5s}\nlists:\n  banned: {of: ip, kind: deny}\n");
  }
  std::unique_ptr<RunningWeir> start(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments{"serve", "-c", scratch / "weir.yaml"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    auto weir = std::make_unique<RunningWeir>(arguments, scratch / "log");
    EXPECT_TRUE(eventually([&] {
      const auto answer = ask(health, "GET", "/readyz");
      return answer && answer->status == 200;
    })) << scratch.read("log");
    return weir;
  }
  Result<HttpAnswer> ask(int port, const char* method, const char* target,
                         const std::string& body = {}) {
    return http_request(
        net::SocketAddress::tcp(*Address::parse("127.0.0.1"), static_cast<std::uint16_t>(port)),
        method, target, "127.0.0.1:" + std::to_string(port),
        body.empty() ? "" : "Content-Type: application/json\r\n", body, milliseconds{5'000});
  }
  /// The same where an answer must come.
  HttpAnswer answered(int port, const char* method, const char* target,
                      const std::string& body = {}) {
    auto answer = ask(port, method, target, body);
    if (answer) return std::move(*answer);
    ADD_FAILURE() << method << ' ' << target << ": " << answer.error().message() << '\n'
                  << scratch.read("log");
    return {};
  }
  /// Until it holds, at most 20 s, looking every 5 ms.
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 4'000; ++i) {
      if (holds()) return true;
      ::poll(nullptr, 0, 5);
    }
    return false;
  }
  std::string entries() {
    const auto answer = ask(admin, "GET", "/v1/lists/banned");
    return answer ? answer->body : answer.error().message();
  }

  Scratch scratch;
  int proxy = test::free_port();
  int admin = test::free_port();
  int health = test::free_port();
  int api = test::free_port();
};

TEST_F(ServeTest, list_entries_survive_SIGKILL) {
  {
    const auto weir = start();
    const auto added = ask(admin, "POST", "/v1/lists/banned/entries",
                           R"({"key":["203.0.113.9"],"for":"1h","why":"a test"})");
    ASSERT_TRUE(added);
    ASSERT_EQ(added->status / 100, 2) << added->body;
    // The promise is one second; the file says when it is kept.
    ASSERT_TRUE(eventually([&] {
      return scratch.read("state/lists.journal").find("203.0.113.9") != std::string::npos;
    }));
    weir->signal(SIGKILL);
    EXPECT_EQ(weir->wait(), 128 + SIGKILL);
  }
  const auto weir = start();
  EXPECT_THAT(entries(), HasSubstr("203.0.113.9"));
  EXPECT_THAT(entries(), HasSubstr("a test"));
}

TEST_F(ServeTest, ends_with_0_on_SIGTERM_and_SIGINT) {
  for (const int number : {SIGTERM, SIGINT}) {
    const auto weir = start();
    weir->signal(number);
    EXPECT_EQ(weir->wait(), 0) << scratch.read("log");
    EXPECT_TRUE(scratch.has("state/counters.snapshot"));
  }
}

TEST_F(ServeTest, a_second_weir_on_the_same_directory_or_port_says_so) {
  const auto first = start();
  const Outcome same = run_weir({"serve", "-c", scratch / "weir.yaml"});
  EXPECT_EQ(same.code, 5);
  EXPECT_THAT(same.err, HasSubstr("is in use by another weir"));
  EXPECT_THAT(same.err, HasSubstr("a second Ctrl-C or SIGTERM ends it now"));
  std::string text = scratch.read("weir.yaml");
  text.erase(text.find("state:"), text.find("drain:") - text.find("state:"));
  for (const auto& [door, port] : {std::pair{"health", health}, std::pair{"admin", admin}}) {
    std::string other = text;
    // Every door but this one elsewhere.
    for (const int taken : {health, admin}) {
      if (taken == port) continue;
      const std::string old = ":" + std::to_string(taken);
      other.replace(other.find(old), old.size(), ":" + std::to_string(test::free_port()));
    }
    scratch.write("other.yaml", other);
    const Outcome outcome = run_weir({"serve", "-c", scratch / "other.yaml"});
    EXPECT_EQ(outcome.code, 4) << door;
    EXPECT_THAT(outcome.err, HasSubstr(std::string(door) +
                                       ": can't listen on 127.0.0.1:" + std::to_string(port)));
    EXPECT_THAT(outcome.err, HasSubstr("(weir with pid "));
    EXPECT_THAT(outcome.err, HasSubstr("if it drains, a second Ctrl-C or SIGTERM ends it now)"));
  }
  // SO_REUSEPORT alone would let two processes share the proxy's port.
  std::string other = text;
  for (const int taken : {health, admin}) {
    const std::string old = ":" + std::to_string(taken);
    other.replace(other.find(old), old.size(), ":" + std::to_string(test::free_port()));
  }
  scratch.write("other.yaml", other);
  const Outcome outcome = run_weir({"serve", "-c", scratch / "other.yaml"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("proxy: can't listen on"));
}

TEST_F(ServeTest, takes_a_changed_file_keeps_running_on_a_broken_one_and_says_both) {
  const auto weir = start();
  const std::string good = scratch.read("weir.yaml");
  const auto replace = [&](const std::string& text) {
    scratch.write("weir.yaml.new", text);
    std::filesystem::rename(scratch / "weir.yaml.new", scratch / "weir.yaml");
  };
  const auto says = [&](const char* words) {
    return eventually([&] { return scratch.read("log").find(words) != std::string::npos; });
  };
  replace(good + "threads: 2\nfelds: 1\n");
  EXPECT_TRUE(says("not reloaded")) << scratch.read("log");
  EXPECT_THAT(scratch.read("log"), HasSubstr("did you mean \\\"fields\\\"?"));
  EXPECT_EQ(answered(health, "GET", "/readyz").status, 200);
  replace(good + "  other: {of: ip, kind: gray}\n");
  EXPECT_TRUE(says("\"reloaded\"")) << scratch.read("log");
  EXPECT_EQ(answered(admin, "GET", "/v1/lists/other").status, 200);
  const Outcome drained =
      run_weir({"ctl", "--admin", "127.0.0.1:" + std::to_string(admin), "drain", "--begin"});
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_EQ(answered(health, "GET", "/readyz").status, 503);
  EXPECT_EQ(run_weir({"health", "127.0.0.1:" + std::to_string(health)}).code, 1);
  EXPECT_EQ(
      run_weir({"ctl", "--admin", "127.0.0.1:" + std::to_string(admin), "drain", "--end"}).code, 0);
  EXPECT_EQ(run_weir({"health", "127.0.0.1:" + std::to_string(health)}).code, 0);
}

TEST_F(ServeTest, the_app_tells_of_events_and_gets_the_verdict_of_the_lists) {
  const auto weir = start();
  const std::string event = R"({"ip":"203.0.113.9"})";
  EXPECT_EQ(answered(api, "POST", "/v1/events", event).body, "{\"verdict\":\"pass\"}\n");
  ASSERT_EQ(
      answered(admin, "POST", "/v1/lists/banned/entries", R"({"key":["203.0.113.9"],"for":"1h"})")
              .status /
          100,
      2);
  EXPECT_THAT(answered(api, "POST", "/v1/events", event).body,
              HasSubstr(R"({"verdict":"deny","list":"banned",)"));
  EXPECT_THAT(answered(health, "GET", "/metrics").body,
              HasSubstr("weir_api_events_total{result=\"judged\"} 2"));
  const Outcome status =
      run_weir({"ctl", "--admin", "127.0.0.1:" + std::to_string(admin), "status"});
  EXPECT_EQ(status.code, 0) << status.err;
  EXPECT_THAT(status.out, HasSubstr("\n  last_load:\n    ok: true\n"));
  // Another one with the same address for this door cannot start.
  const Outcome taken =
      run_weir({"serve", "-c", scratch / "weir.yaml"}, ".",
               {"WEIR_STATE_DIR=" + (scratch / "other"),
                "WEIR_ADMIN_LISTEN=127.0.0.1:" + std::to_string(test::free_port()),
                "WEIR_HEALTH_LISTEN=127.0.0.1:" + std::to_string(test::free_port()),
                "WEIR_PROXY_LISTEN=127.0.0.1:" + std::to_string(test::free_port())});
  EXPECT_EQ(taken.code, 4);
  EXPECT_THAT(taken.err, HasSubstr("api: can't listen on"));
  weir->signal(SIGTERM);
  EXPECT_EQ(weir->wait(), 0);
}

TEST_F(ServeTest, records_what_replay_reads_back) {
  const std::string file = scratch / "rec.ndjson";
  {
    const auto weir = start({"--record", file});
    const auto told = ask(api, "POST", "/v1/events",
                          R"({"method":"GET","path":"/told","ip":"203.0.113.5","status":200})");
    ASSERT_TRUE(told);
    EXPECT_EQ(told->status, 200) << told->body;
    ASSERT_TRUE(ask(proxy, "GET", "/proxied?secret=1")) << "502: there is no app";
    weir->signal(SIGTERM);
    EXPECT_EQ(weir->wait(), 0) << scratch.read("log");
  }
  const std::string rows = scratch.read("rec.ndjson");
  EXPECT_THAT(rows, HasSubstr(R"("method":"GET","path":"/told","ip":")"));
  EXPECT_THAT(rows, HasSubstr(R"("fields":{},"status":200})"));
  EXPECT_THAT(rows, HasSubstr(R"("path":"/proxied")"));
  EXPECT_THAT(rows, testing::Not(HasSubstr("203.0.113.5")));
  EXPECT_THAT(rows, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(scratch.read("log"), HasSubstr(R"("hashed":"ip")"));
  const Outcome replay = run_weir({"replay", "-c", scratch / "weir.yaml", "--event",
                                   "request=" + file, "--lateness", "1m", "-o", "ndjson"});
  EXPECT_EQ(replay.code, 0) << replay.err;
  EXPECT_THAT(replay.out, HasSubstr(R"("rows":2,"bad":0,"late":0)"));

  EXPECT_EQ(run_weir({"serve", "-c", scratch / "weir.yaml", "--record", scratch / "no/where"}).code,
            4);
  EXPECT_EQ(run_weir({"serve", "--record", file, "--record-size", "3KiB"}).code, 2);
}

TEST(Serve, a_second_weir_goes_without_the_event_API_that_nobody_asked_for) {
  const auto config = [](const Scratch& scratch, int health) {
    scratch.write("weir.yaml",
                  "weir: 1\nproxy: {listen: 127.0.0.1:" + std::to_string(test::free_port()) +
                      ", upstream: http://127.0.0.1:1}\nadmin: {listen: 127.0.0.1:" +
                      std::to_string(test::free_port()) + "}\nhealth: {listen: 127.0.0.1:" +
                      std::to_string(health) + "}\ndrain: {delay: 0s}\n");
  };
  // Whether the default port was free or not: of two at least the second finds it taken.
  const Scratch scratches[2];
  std::vector<std::unique_ptr<RunningWeir>> both;
  for (const Scratch& scratch : scratches) {
    config(scratch, test::free_port());
    both.push_back(std::make_unique<RunningWeir>(
        std::vector<std::string>{"serve", "-c", scratch / "weir.yaml"}, scratch / "log"));
    EXPECT_TRUE(ServeTest::eventually([&] {
      return scratch.read("log").find("weir is ready") != std::string::npos;
    })) << scratch.read("log");
  }
  EXPECT_THAT(scratches[1].read("log"), HasSubstr("no event API: its port is taken"));
  EXPECT_THAT(scratches[1].read("log"), HasSubstr("\"api\":\"none\""));
  for (const auto& weir : both) {
    weir->signal(SIGTERM);
    EXPECT_EQ(weir->wait(), 0);
  }
}

}  // namespace
}  // namespace weir::app::serve_test
