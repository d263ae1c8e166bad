#include "admin/metrics_page.h"
#include "api_fixture.h"

namespace weir::test::views_test {

TEST_F(ApiTest, ViewsTellWhatTheyAreAndHold) {
  for (int i = 0; i < 3; ++i) process.judge("GET", "/a", "198.51.100.7");
  const json::value body = get("/v1/views");
  ASSERT_EQ(body.at("views").as_array().size(), 2U);
  const json::value& view = body.at("views").at(0);
  EXPECT_EQ(view.at("name"), json::value("hot-pages"));
  EXPECT_EQ(json::serialize(view.at("by")), R"(["path"])");
  EXPECT_EQ(view.at("window"), json::value("the last 10m, every 5m"));
  EXPECT_EQ(view.at("top"), json::value(2));
  EXPECT_EQ(view.at("keys"), json::value(1));
  EXPECT_EQ(view.at("events"), json::value(3));
  EXPECT_EQ(view.at("memory_limit_bytes"), json::value(32 << 20)) << "half of limits.views";
  EXPECT_EQ(body.at("views").at(1).at("window"), json::value("each day of UTC"));
  EXPECT_EQ(body.at("views").at(1).at("metric"), json::value("distinct(ip)"));
  EXPECT_EQ(body.at("views").at(1).at("top"), json::value());
}

TEST_F(ApiTest, AViewShowsItsLastCompleteWindowsAndTheRunningOne) {
  EXPECT_EQ(get("/v1/views/hot-pages").at("running"), json::value());
  for (const char* path : {"/a", "/b", "/b", "/c"}) process.judge("GET", path, "198.51.100.7");
  json::value body = get("/v1/views/hot-pages");
  EXPECT_EQ(body.at("windows").as_array().size(), 0U);
  EXPECT_EQ(json::serialize(body.at("running")),
            R"({"type":"view","view":"hot-pages","start":1795218900000,"end":1795219500000,)"
            R"("complete":false,"total":4,"rows":[["/b",2],["/a",1]]})");

  process.now += std::chrono::minutes{16};
  body = get("/v1/views/hot-pages");
  ASSERT_EQ(body.at("windows").as_array().size(), 2U);
  EXPECT_EQ(body.at("running"), json::value());
  EXPECT_EQ(body.at("windows").at(0).at("end"), json::value(1'795'219'500'000));
  EXPECT_EQ(body.at("windows").at(0).at("complete"), json::value(true));
  EXPECT_EQ(body.at("windows").at(1).at("end"), json::value(1'795'219'800'000));
  EXPECT_EQ(body.at("windows").at(1).at("total"), json::value(4));

  const json::value one = get("/v1/views/hot-pages?windows=1");
  ASSERT_EQ(one.at("windows").as_array().size(), 1U);
  EXPECT_EQ(one.at("windows").at(0), body.at("windows").at(1)) << "the last";
  EXPECT_EQ(get("/v1/views/hot-pages?windows=0").at("windows").as_array().size(), 0U);
}

TEST_F(ApiTest, WhatIsNoViewOrNoNumberIsRefused) {
  EXPECT_EQ(call("GET", "/v1/views/nobody").status, 404);
  EXPECT_EQ(call("GET", "/v1/views/per-ip").status, 404);
  for (const char* wrong : {"-1", "x", "101", "1x", "", "99999999999999999999"}) {
    const Reply reply = call("GET", "/v1/views/visitors?windows=" + std::string(wrong));
    EXPECT_EQ(reply.status, 400) << wrong;
    EXPECT_EQ(detail(reply), "\"windows\" is a number from 0 to 100");
  }
  EXPECT_EQ(call("GET", "/v1/views/visitors?window=1").status, 400);
  EXPECT_EQ(call("POST", "/v1/views/visitors").status, 405);
}

TEST_F(ApiTest, MetricsTellWhatViewsHoldAndDrop) {
  process.judge("GET", "/a", "198.51.100.7");
  process.judge("GET", "/b", "198.51.100.7");
  const std::string page = admin::metrics_page(process, process.stores());
  for (const char* line :
       {"weir_view_keys{view=\"hot-pages\"} 2\n", "weir_view_keys{view=\"visitors\"} 1\n",
        "weir_view_events_total{view=\"visitors\"} 2\n",
        "weir_view_dropped_total{view=\"hot-pages\"} 0\n",
        "weir_view_late_total{view=\"hot-pages\"} 0\n",
        "weir_view_missing_total{view=\"visitors\"} 0\n",
        "# TYPE weir_view_dropped_total counter\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
}

}  // namespace weir::test::views_test
