#include "admin/routes.h"

#include "api_fixture.h"

namespace weir::test::routes_test {

using admin::find_route;
using admin::routes;

TEST(Routes, StandInTheOpenApiFileAndTheOtherWayRound) {
  std::set<std::string> table;
  for (const admin::Route& route : routes()) {
    table.insert(std::string(route.method) + " " + std::string(route.pattern));
    EXPECT_FALSE(route.help.empty()) << route.pattern;
    EXPECT_NE(route.handler == nullptr, route.waiting == nullptr) << route.pattern;
  }
  EXPECT_EQ(table.size(), routes().size());
  EXPECT_EQ(table, OpenApi::admin().operations());
}

TEST(Routes, SayTheSameAsTheSummariesOfTheOpenApiFile) {
  for (const admin::Route& route : routes()) {
    std::string summary = OpenApi::admin().method_summary(route.method, route.pattern);
    summary[0] = route.help[0];  // a capital there
    EXPECT_EQ(summary, route.help) << route.pattern;
  }
}

TEST(Routes, ExamplesOfTheOpenApiFileFitItsSchemas) {
  EXPECT_EQ(OpenApi::admin().check_examples(), "");
}

TEST(Routes, ChangeNothingByGet) {
  for (const admin::Route& route : routes()) {
    const bool changes = route.help.find("empties") == 0 || route.body ||
                         (route.waiting != nullptr && route.waiting != admin::get_counters &&
                          route.waiting != admin::get_readings &&
                          route.waiting != admin::get_replicas && route.waiting != admin::get_why);
    EXPECT_FALSE(changes && route.method == "GET") << route.pattern;
  }
}

TEST_F(ApiTest, UnknownPathsAre404) {
  for (const char* path :
       {"/v1", "/v1/", "/v2/status", "/v1/status/", "/v1//status", "/v1/status/x",
        "/v1/../v1/status", "/v1/%2e%2e/status", "/v1/lists/office/entries/x", "/v1/%zz"}) {
    const Reply reply = client->call("GET", path);
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  }
}

TEST_F(ApiTest, WrongMethodsAre405AndSayWhatIsAllowed) {
  struct Case {
    const char *method, *path, *allow;
  };
  for (const Case& c : {Case{"POST", "/v1/status", "GET, HEAD"},
                        {"GET", "/v1/reload", "POST"},
                        {"PUT", "/v1/counters/per-ip", "GET, HEAD, DELETE"},
                        {"OPTIONS", "/v1/lists/office/entries", "GET, HEAD, POST, DELETE"},
                        {"TRACE", "/v1/drain", "POST"},
                        {"get", "/v1/status", "GET, HEAD"}}) {
    const Reply reply = client->call(c.method, c.path);
    EXPECT_EQ(reply.status, 405) << c.method << c.path;
    EXPECT_EQ(reply.field("Allow"), c.allow);
  }
}

TEST_F(ApiTest, HeadIsGetWithoutABody) {
  const Reply get = client->call("GET", "/v1/policies/per-ip");
  const Reply head = client->call("HEAD", "/v1/policies/per-ip");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("Content-Length"), get.field("Content-Length"));
  EXPECT_EQ(client->call("GET", "/v1/lists").status, 200);  // nothing was left on the connection
}

TEST_F(ApiTest, UnknownParametersAreRefused) {
  const Reply reply = call("GET", "/v1/lists/office?limt=3");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(detail(reply), "unknown parameter \"limt\"; known are limit, after, search");
  EXPECT_EQ(call("GET", "/v1/status?verbose").status, 400);
  EXPECT_EQ(call("GET", "/v1/status?a=%g0").status, 400);
}

TEST_F(ApiTest, BeforeTheFirstPolicySetNothingIsAnswered) {
  process.set = nullptr;
  const Reply reply = call("GET", "/v1/policies");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.field("Retry-After"), "1");
}

}  // namespace weir::test::routes_test
