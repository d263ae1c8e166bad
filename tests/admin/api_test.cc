#include "admin/metrics_page.h"
#include "api_fixture.h"

namespace weir::test::api_test {

TEST_F(ApiTest, StatusTellsVersionConfigurationAndProblems) {
  process.facts.last_load = {
      false, process.now, "feed", {{true, "a.yaml", 14, 5, "unknown key", "did you mean it?"}}, 1};
  process.stores().metrics.control().set(telemetry::Metric::patterns_untold, 7);
  const json::value body = get("/v1/status");
  EXPECT_EQ(body.at("version"), json::value("1.2.3-test"));
  EXPECT_EQ(body.at("started"), json::value("2026-11-20T23:58:29.623Z"));
  EXPECT_EQ(body.at("uptime_seconds"), json::value(90.5));
  EXPECT_EQ(body.at("policies"), json::value(3));
  EXPECT_EQ(body.at("draining"), json::value(false));
  EXPECT_EQ(body.at("config").at("hash"), json::value(process.set->source_hash));
  EXPECT_EQ(body.at("config").at("last_load").at("problem_count"), json::value(1));
  EXPECT_EQ(body.at("config").at("last_load").at("problems").at(0).at("line"), json::value(14));
  EXPECT_GT(body.at("counters").at("capacity").as_int64(), 0);
  EXPECT_EQ(body.at("patterns").at("open"), json::value(0));
  EXPECT_EQ(body.at("patterns").at("untold"), json::value(7));
  EXPECT_TRUE(body.at("shared_lists").is_null());
}

TEST_F(ApiTest, StatusAndMetricsTellHowListsAreShared) {
  admin::SharedListFacts facts;
  facts.why = "lost: closed by the server";
  facts.lists = 2;
  facts.entries = 30;
  facts.pending = 4;
  facts.lag = milliseconds{1'250};
  facts.failures = 5;
  process.facts.shared_lists = facts;
  const json::value shared = get("/v1/status").at("shared_lists");
  EXPECT_EQ(shared.at("up"), json::value(false));
  EXPECT_EQ(shared.at("why"), json::value("lost: closed by the server"));
  EXPECT_EQ(shared.at("pending"), json::value(4));
  EXPECT_EQ(shared.at("lag_seconds"), json::value(1.25));
  const std::string page = admin::metrics_page(process, process.stores());
  for (const char* line : {"weir_redis_list_up 0\n", "weir_redis_list_lag_seconds 1.25\n",
                           "weir_redis_list_pending 4\n", "weir_redis_list_entries 30\n",
                           "weir_redis_list_failures_total 5\n"}) {
    EXPECT_NE(page.find(line), page.npos) << line;
  }
}

TEST_F(ApiTest, PoliciesAreShownAsSentencesWithWhatTheyHaveDone) {
  for (int i = 0; i < 3; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  const json::value body = get("/v1/policies");
  ASSERT_EQ(body.at("policies").as_array().size(), 3U);
  EXPECT_EQ(json::serialize(body.at("disabled")), R"(["never"])");

  const json::value policy = get("/v1/policies/per-ip");
  EXPECT_EQ(body.at("policies").at(0), policy);
  EXPECT_EQ(policy.at("mode"), json::value("enforce"));
  EXPECT_EQ(json::serialize(policy.at("watch")), R"(["login"])");
  EXPECT_EQ(json::serialize(policy.at("key")), R"(["ip/32,64"])");
  EXPECT_EQ(policy.at("metric"), json::value("count"));
  EXPECT_EQ(policy.at("window"), json::value("the last 10m"));
  EXPECT_EQ(json::serialize(policy.at("rungs")),
            R"(["over 2: flag","over 3: graylist for 15m","over 4: deny for 1h"])");
  EXPECT_EQ(json::serialize(policy.at("lists")), R"(["per-ip:graylist","per-ip:deny"])");
  EXPECT_EQ(policy.at("totals").at("verdicts").at("flag"), json::value(1));

  const json::value other = get("/v1/policies/per-user-device");
  EXPECT_EQ(other.at("window"), json::value("exactly the last 1h"));
  EXPECT_EQ(other.at("when"), json::value(R"(header.x_app != "probe")"));
  const json::value shadow = get("/v1/policies/everyone");
  EXPECT_EQ(shadow.at("mode"), json::value("shadow"));
  EXPECT_EQ(shadow.at("window"), json::value("every 1h"));
  EXPECT_EQ(call("GET", "/v1/policies/nobody").status, 404);
  EXPECT_EQ(call("GET", "/v1/policies/never").status, 200) << "one that the files have disabled";
}

struct NamedMetricsTest : ApiTest {
  NamedMetricsTest()
      : ApiTest(
            "weir: 1\npolicies: [{name: ratio, watch: request, key: ip, metrics: {all: {watch: "
            "request, metric: count, window: 10m}, slow: {watch: request, when: 'path == "
            "\"/slow\"', "
            "metric: count, window: 1m}}, then: [{if: 'all > 2 && slow > 1', do: flag}]}]\n") {}
};

TEST_F(NamedMetricsTest, NamedMetricsStandWithTheirPolicyAndAreNoPolicies) {
  EXPECT_EQ(get("/v1/status").at("policies"), json::value(1));
  const json::value body = get("/v1/policies");
  ASSERT_EQ(body.at("policies").as_array().size(), 1U);
  const json::value& policy = body.at("policies").at(0);
  EXPECT_EQ(policy.at("metric"), json::value("none"));
  EXPECT_EQ(
      json::serialize(policy.at("metrics")),
      R"([{"name":"ratio.all","watch":["request"],"when":null,"key":["ip/32,64"],)"
      R"("metric":"count","window":"the last 10m","missing":0},)"
      R"({"name":"ratio.slow","watch":["request"],"when":"path == \"/slow\"","key":["ip/32,64"],)"
      R"("metric":"count","window":"the last 1m","missing":0}])");
  const Reply reply = call("GET", "/v1/policies/ratio.all");
  EXPECT_EQ(reply.status, 404);
  EXPECT_NE(reply.body.find("see the metrics of ratio"), std::string::npos) << reply.body;
}

TEST_F(ApiTest, CountersAreReadWithoutCounting) {
  process.judge("POST", "/api/login", "198.51.100.7");
  process.judge("POST", "/api/login", "198.51.100.7");
  for (int i = 0; i < 3; ++i) {
    const json::value body = get("/v1/counters/per-ip?key=198.51.100.7");
    ASSERT_EQ(body.at("counters").as_array().size(), 1U);
    const json::value& counter = body.at("counters").at(0);
    EXPECT_EQ(counter.at("value"), json::value(2));
    EXPECT_EQ(counter.at("settled"), json::value(2));
    EXPECT_EQ(counter.at("in_flight"), json::value(0));
    EXPECT_EQ(counter.at("window"), json::value("the last 10m"));
    EXPECT_EQ(counter.at("limits").as_array().size(), 3U);
    EXPECT_EQ(counter.at("limits").at(2).at("limit"), json::value(4));
  }
  EXPECT_EQ(get("/v1/counters/per-ip?key=198.51.100.8").at("counters").at(0).at("value"),
            json::value(0));
}

TEST_F(ApiTest, AnyAddressOfACountedNetworkNamesItsCounter) {
  process.judge("POST", "/api/login", "2001:db8:1:2::1");
  process.judge("POST", "/api/login", "2001:db8:1:2:ffff::9");
  const json::value body = get("/v1/counters/per-ip?key=2001:DB8:1:2:3:4:5:6");
  EXPECT_EQ(json::serialize(body.at("key")), R"(["2001:db8:1:2::"])");
  EXPECT_EQ(body.at("counters").at(0).at("value"), json::value(2));
}

TEST_F(ApiTest, AKeyOfSeveralPartsIsGivenPartByPart) {
  const std::vector<HeaderField> headers{{"content-type", "application/json"},
                                         {"x-device-id", "tv & more"}};
  process.judge("POST", "/api/login", "198.51.100.7", headers, R"({"username":"al+ice"})");
  const json::value body = get("/v1/counters/per-user-device?key=al%2Bice&key=tv+%26+more");
  EXPECT_EQ(json::serialize(body.at("key")), R"(["al+ice","tv & more"])");
  ASSERT_EQ(body.at("counters").as_array().size(), 2U);
  EXPECT_EQ(body.at("counters").at(0).at("value"), json::value(1));
  EXPECT_EQ(body.at("counters").at(1).at("limits").at(0).at("limit"), json::value(9))
      << "the table is by a field of the key";
}

TEST_F(ApiTest, APolicyWithoutKeyHasOneCounter) {
  process.judge("GET", "/", "198.51.100.7");
  EXPECT_EQ(get("/v1/counters/everyone").at("counters").at(0).at("value"), json::value(1));
  EXPECT_EQ(call("GET", "/v1/counters/everyone?key=x").status, 400);
}

TEST_F(ApiTest, WrongKeysSayWhatAKeyIs) {
  Reply reply = call("GET", "/v1/counters/per-user-device?key=alice");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(detail(reply), "the key has 2 parts, one `key` for each, in this order: user, device");
  reply = call("GET", "/v1/counters/per-ip?key=nowhere");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(detail(reply).find("\"ip\" is an IP address"), std::string::npos);
  EXPECT_EQ(call("GET", "/v1/counters/per-ip").status, 400);
  EXPECT_EQ(call("GET", "/v1/counters/nobody?key=1.2.3.4").status, 404);
  EXPECT_EQ(call("GET", "/v1/counters/per-user-device?key=d&key=" + std::string(4097, 'x')).status,
            400);
}

TEST_F(ApiTest, ResettingEmptiesTheCount) {
  for (int i = 0; i < 3; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.9"), Action::none);
  const Reply reply = call("DELETE", "/v1/counters/per-ip?key=198.51.100.7");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(json::parse(reply.body).at("reset"), json::value(1));
  EXPECT_EQ(get("/v1/counters/per-ip?key=198.51.100.7").at("counters").at(0).at("value"),
            json::value(0));
  EXPECT_EQ(get("/v1/counters/per-ip?key=198.51.100.9").at("counters").at(0).at("value"),
            json::value(1));
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.7"), Action::none);
}

TEST_F(ApiTest, ReloadTellsTheHashOrEveryProblem) {
  process.next_reload = {true, process.now, "beef", {{false, "a.yaml", 3, 1, "escapable", ""}}, 1};
  Reply reply = call("POST", "/v1/reload");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(json::parse(reply.body).at("hash"), json::value("beef"));
  EXPECT_EQ(call("POST", "/v1/reload", "{}").status, 200);
  EXPECT_EQ(call("POST", "/v1/reload", R"({"force":true})").status, 400);

  process.next_reload = {
      false,
      process.now,
      "dead",
      {{true, "a.yaml", 14, 5, "unknown key \"windw\"", "did you mean \"window\"?"},
       {true, "b.yaml", 1, 1, "x", ""}},
      2500};
  reply = call("POST", "/v1/reload");
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  const json::value body = json::parse(reply.body);
  EXPECT_EQ(body.at("problem_count"), json::value(2500)) << "of which some are shown";
  EXPECT_EQ(body.at("problems").at(0).at("message"), json::value("unknown key \"windw\""));
}

TEST_F(ApiTest, VerdictsComeByTheirNumbers) {
  admin::VerdictRow denied;
  denied.time = process.now;
  denied.status = 429;
  denied.effect = "deny";
  denied.client = "203.0.113.7";
  denied.policy = "logins";
  denied.window = milliseconds{60'000};
  denied.value = Number::real(std::numeric_limits<double>::infinity());
  denied.limit = Number{5};
  admin::VerdictRow listed;
  listed.listed = listed.created = true;
  listed.time = process.now;
  listed.until = limiter::kForever;
  listed.effect = "graylist";
  listed.key = {"k\xff", "a, b", ""};
  admin::VerdictRow for_all = listed;  // of a policy without a key
  for_all.key.clear();
  admin::VerdictRow full;  // with all that a row can say
  full.time = full.until = process.now;
  full.status = 400;
  full.effect = "deny";
  full.window = milliseconds{60'000};
  full.limit = Number{5};
  full.in_flight = 2;
  full.event = full.client = full.method = full.path = full.policy = full.list = full.field =
      full.why = full.request_id = "x";
  process.verdict_page = {44, 2, {denied, listed, full, for_all}};
  const json::value body = get("/v1/verdicts?after=40");
  EXPECT_EQ(process.asked_verdicts.first, 40U);
  EXPECT_EQ(body.at("next"), json::value(44));
  EXPECT_EQ(body.at("missed"), json::value(2));
  // The largest double, in plain decimal: JSON has no infinity. (Boost reads 309 digits as
  // infinity.)
  EXPECT_NE(call("GET", "/v1/verdicts?after=40").body.find(R"("value":17976931348623157)"),
            std::string::npos);
  EXPECT_FALSE(body.at("verdicts").at(0).as_object().contains("path"));
  EXPECT_EQ(body.at("verdicts").at(1).at("kind"), json::value("listed"));
  EXPECT_TRUE(body.at("verdicts").at(1).at("until").is_null());
  EXPECT_EQ(body.at("verdicts").at(1).at("key"), json::value({"k\xef\xbf\xbd", "a, b", ""}));
  EXPECT_EQ(body.at("verdicts").at(3).at("key"), json::value(json::array()));
  EXPECT_FALSE(body.at("verdicts").at(0).as_object().contains("key"));
  get("/v1/verdicts");
  EXPECT_FALSE(process.asked_verdicts.first) << "from now on";
  for (const char* bad :
       {"?after=", "?after=x", "?after=-1", "?after=1x", "?after=99999999999999999999", "?from=1"})
    EXPECT_EQ(call("GET", std::string("/v1/verdicts") + bad).status, 400) << bad;
}

TEST_F(ApiTest, DrainBeginsAndEnds) {
  EXPECT_EQ(call("POST", "/v1/drain", R"({"begin":true})").body, "{\"draining\":true}\n");
  EXPECT_TRUE(process.facts.draining);
  EXPECT_EQ(call("POST", "/v1/drain", R"({"begin":false})").body, "{\"draining\":false}\n");
  EXPECT_EQ(call("POST", "/v1/drain", "{}").status, 400);
  EXPECT_EQ(call("POST", "/v1/drain", R"({"begin":"yes"})").status, 400);
  EXPECT_EQ(call("POST", "/v1/drain").status, 400);
}

}  // namespace weir::test::api_test
