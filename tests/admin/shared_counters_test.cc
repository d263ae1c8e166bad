#include "api_fixture.h"

// Counters of all replicas: the store is asked, and which number is whose is said.
namespace weir::test::shared_counters_test {

constexpr std::string_view kShared = R"(weir: 1
redis: {url: "redis://127.0.0.1:6379", secret: s}
policies:
  - name: shared
    watch: request
    key: ip/24
    window: 10m
    share: redis
    then: [{over: 20, do: flag}, {over: 90, in: 2h, do: deny}]
  - {name: own, watch: request, key: ip, window: 10m, then: [{over: 20, do: flag}]}
)";

struct SharedCounters : ApiTest {
  SharedCounters() : ApiTest(kShared) {
    process.judge("GET", "/", "198.51.100.7");
    process.judge("GET", "/", "198.51.100.7");
    for (const std::int64_t n : {7, 40}) {
      limiter::Reading& reading = process.store_answer.readings.emplace_back();
      reading.value = Number{n};
      reading.settled = Number{n - 1};
      reading.in_flight = 1;
    }
  }
  json::value first(std::string_view target) { return get(target).at("counters").at(0); }
};

TEST_F(SharedCounters, AreReadFromTheStore) {
  const json::value body = get("/v1/counters/shared?key=198.51.100.7");
  ASSERT_EQ(process.asked_store.size(), 1U);
  EXPECT_FALSE(process.asked_store[0].reset);
  EXPECT_EQ(process.asked_store[0].parts, std::vector<std::string>{"198.51.100.0"});
  EXPECT_EQ(process.asked_store[0].set->policies[process.asked_store[0].policy].name, "shared");
  ASSERT_EQ(body.at("counters").as_array().size(), 2U);
  const json::value& ten = body.at("counters").at(0);
  EXPECT_EQ(ten.at("from"), json::value("store"));
  EXPECT_EQ(ten.at("value"), json::value(7));
  EXPECT_EQ(ten.at("settled"), json::value(6));
  EXPECT_EQ(ten.at("in_flight"), json::value(1));
  EXPECT_EQ(ten.at("here").at("value"), json::value(2));
  EXPECT_EQ(body.at("counters").at(1).at("value"), json::value(40));

  const json::value own = first("/v1/counters/own?key=198.51.100.7");
  EXPECT_EQ(process.asked_store.size(), 1U);
  EXPECT_EQ(own.at("from"), json::value("here"));
  EXPECT_EQ(own.at("value"), json::value(2));
  EXPECT_TRUE(own.at("here").is_null());
}

constexpr std::string_view kRequest = R"({"url":"/","ip":"198.51.100.7"})";

const json::value& rows_of(const json::value& body, std::size_t policy) {
  return body.at("policies").at(policy).at("counters");
}

TEST_F(SharedCounters, AreExplainedAsAllReplicasCountThem) {
  process.on_errand = [&](admin::StoreRequest& errand) {
    EXPECT_EQ(errand.set, process.set);
    for (limiter::SharedReply& reply : errand.operations.replies()) {
      for (auto& part : reply.parts) {
        part.reading.has_value = true;
        part.reading.value = part.reading.settled = Number{91};
      }
    }
    EXPECT_EQ(errand.operations[0].op.verb, limiter::SharedVerb::look);
    EXPECT_EQ(errand.operations[0].op.parts.size(), 2U);
    return std::string();
  };
  const json::value body = json::parse(call("POST", "/v1/explain", kRequest).body);
  EXPECT_EQ(rows_of(body, 0).at(0).at("value"), json::value("91"));
  EXPECT_EQ(rows_of(body, 0).at(0).at("shared"), json::value(true));
  EXPECT_EQ(rows_of(body, 1).at(0).at("value"), json::value("3"));
  EXPECT_EQ(rows_of(body, 1).at(0).at("shared"), json::value(false));
  EXPECT_EQ(body.at("verdict").at("effect"), json::value("deny"));
  EXPECT_FALSE(body.as_object().contains("counted_here_only"));
  const Reply text = call("POST", "/v1/explain", kRequest,
                          "Content-Type: application/json\r\nAccept: text/plain\r\n");
  EXPECT_NE(text.body.find("over the last 10m, over all replicas = 91"), std::string::npos)
      << text.body;
  EXPECT_EQ(get("/v1/counters/own?key=198.51.100.7").at("counters").at(0).at("value"),
            json::value(2));
}

TEST_F(SharedCounters, AreExplainedAsThisReplicaCountsThemWhereTheStoreIsAway) {
  for (const bool replies : {true, false}) {
    SCOPED_TRACE(replies);
    process.errand_replies = replies;
    process.on_errand = [](admin::StoreRequest& errand) {
      for (limiter::SharedReply& reply : errand.operations.replies())
        reply.error = limiter::SharedError::unavailable;
      return std::string("no connection");
    };
    const json::value body = json::parse(call("POST", "/v1/explain", kRequest).body);
    EXPECT_EQ(rows_of(body, 0).at(0).at("value"), json::value("3"));
    EXPECT_EQ(body.at("verdict").at("effect"), json::value("pass"));
    EXPECT_EQ(body.at("counted_here_only"), json::value("no connection"));
    const Reply text = call("POST", "/v1/explain", kRequest,
                            "Content-Type: application/json\r\nAccept: text/plain\r\n");
    EXPECT_NE(text.body.find("over the last 10m, of this replica = 3"), std::string::npos)
        << text.body;
  }
}

TEST_F(SharedCounters, CanBeReadHereWhileTheStoreIsAway) {
  process.store_answer.why = "no connection (redis:6379: Connection refused)";
  const Reply reply = call("GET", "/v1/counters/shared?key=198.51.100.7");
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(detail(reply),
            "the shared store has not answered: no connection (redis:6379: Connection refused); "
            "?from=here (weir ctl counter --here) shows what this replica has counted");
  const json::value here = first("/v1/counters/shared?key=198.51.100.7&from=here");
  EXPECT_EQ(here.at("from"), json::value("here"));
  EXPECT_EQ(here.at("value"), json::value(2));
  EXPECT_EQ(process.asked_store.size(), 1U);
  EXPECT_EQ(call("GET", "/v1/counters/shared?key=198.51.100.7&from=there").status, 400);
  EXPECT_EQ(call("GET", "/v1/counters/shared?key=198.51.100.7&from=here&from=here").status, 400);
}

TEST_F(SharedCounters, AreEmptiedThereAndHereOrNotAtAll) {
  process.store_answer.why = "no connection";
  const Reply reply = call("DELETE", "/v1/counters/shared?key=198.51.100.7");
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(first("/v1/counters/shared?key=198.51.100.7&from=here").at("value"), json::value(2));

  process.store_answer.why.clear();
  const Reply done = call("DELETE", "/v1/counters/shared?key=198.51.100.7");
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(json::parse(done.body).at("shared"), json::value(true));
  EXPECT_TRUE(process.asked_store.back().reset);
  EXPECT_EQ(first("/v1/counters/shared?key=198.51.100.7&from=here").at("value"), json::value(0));
  const Reply own = call("DELETE", "/v1/counters/own?key=198.51.100.7");
  EXPECT_EQ(json::parse(own.body).at("shared"), json::value(false));
  EXPECT_EQ(process.asked_store.size(), 2U);
}

}  // namespace weir::test::shared_counters_test
