#include "api_fixture.h"

namespace weir::test::explain_route_test {
namespace {

// A stored key that does not occur is nullptr.
const json::value* policy_row(const json::value& body, std::string_view name) {
  for (const json::value& row : body.at("policies").as_array()) {
    if (row.at("name").as_string() == name) return &row;
  }
  return nullptr;
}

}  // namespace

TEST_F(ApiTest, ExplainJudgesOnTheLiveCountersAndChangesNothing) {
  process.judge("POST", "/api/login", "198.51.100.7");
  process.judge("POST", "/api/login", "198.51.100.7");
  for (int i = 0; i < 3; ++i) {
    const Reply reply =
        call("POST", "/v1/explain", R"({"method":"POST","url":"/api/login","ip":"198.51.100.7",
        "headers":{"X-Device-Id":"tv"},"body":{"username":"bob"}})");
    ASSERT_EQ(reply.status, 200) << reply.body;
    const json::value body = json::parse(reply.body);
    EXPECT_EQ(body.at("verdict").at("effect"), json::value("flag"));
    EXPECT_EQ(body.at("verdict").at("decided_by"), json::value("per-ip"));
    const json::value* row = policy_row(body, "per-user-device");
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->at("key").at("user"), json::value("bob"));
    EXPECT_EQ(row->at("key").at("device"), json::value("tv"));
  }
  EXPECT_EQ(get("/v1/counters/per-ip?key=198.51.100.7").at("counters").at(0).at("value"),
            json::value(2));
  EXPECT_EQ(process.stats.totals("policy", "per-ip").verdicts[1], 0U);
}

TEST_F(ApiTest, ExplainFollowsAReload) {
  EXPECT_EQ(
      json::parse(call("POST", "/v1/explain", R"({"url":"/"})").body).at("verdict").at("effect"),
      json::value("pass"));
  auto next = compile_text(
      "weir: 1\npolicies: [{name: all, watch: request, window: 1m, then: [{over: 0, do: "
      "flag}]}]\n");
  ASSERT_TRUE(next->attach(process.bank, process.lists, process.secret));
  process.set = std::move(next);
  EXPECT_EQ(
      json::parse(call("POST", "/v1/explain", R"({"url":"/"})").body).at("verdict").at("effect"),
      json::value("flag"));
}

TEST_F(ApiTest, ExplainTakesAnExemptAddressAnAbsoluteUrlAndATime) {
  const std::string body =
      R"({"url":"https://Shop.Example:8443/api//login?x=1","ip":"203.0.113.7","time":")";
  EXPECT_EQ(json::parse(call("POST", "/v1/explain", body + "2026-12-31T00:00:00Z\"}").body)
                .at("verdict")
                .at("effect"),
            json::value("exempt"));
  EXPECT_EQ(json::parse(call("POST", "/v1/explain", body + "2027-01-02T00:00:00Z\"}").body)
                .at("verdict")
                .at("effect"),
            json::value("pass"));
}

TEST_F(ApiTest, ExplainAnswersInWordsIfAsked) {
  const Reply reply = call("POST", "/v1/explain", R"({"url":"/"})",
                           "Content-Type: application/json\r\nAccept: text/plain\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_NE(reply.body.find("per-ip"), std::string::npos);
  EXPECT_EQ(reply.body.find('\x1b'), std::string::npos);
}

TEST_F(ApiTest, ExplainRefusesWhatIsNoRequest) {
  for (const char* body : {R"({})",
                           R"({"url":7})",
                           R"({"url":"api"})",
                           R"({"url":"/a b"})",
                           R"({"url":"/a#b"})",
                           R"({"url":"/a\nb"})",
                           R"({"url":"/%zz"})",
                           R"({"url":"http:///x"})",
                           R"({"url":"http://a:b:c/x"})",
                           R"({"url":"/","method":"GE T"})",
                           R"({"url":"/","ip":"me"})",
                           R"({"url":"/","headers":[]})",
                           R"({"url":"/","headers":{"a b":"c"}})",
                           R"({"url":"/","headers":{"a":"c\r\nd: e"}})",
                           R"({"url":"/","headers":{"a":"b\u007f"}})",
                           R"({"url":"/","headers":{"a":1}})",
                           R"({"url":"/","headers":{"a":[1]}})",
                           R"({"url":"/","body":1})",
                           R"({"url":"/","time":"now"})",
                           R"({"url":"/","who":"me"})"}) {
    EXPECT_EQ(call("POST", "/v1/explain", body).status, 400) << body;
  }
}

}  // namespace weir::test::explain_route_test
