#include "admin/operator/outlook.h"
#include "admin/operator/threshold.h"
#include "api_fixture.h"

/// Rungs whose limits are in a table, as operators see them.
namespace weir::test::thresholds_test {

constexpr std::string_view kTables = R"(weir: 1
fields: {user: header.x_user_id}
events:
  reward:
    match: POST /reward
    fields: {gold: int(header.x_gold), shop: header.x_shop, os: header.x_os, most: int(header.x_most)}
tables:
  gold_limit: {by: [shop, os], values: {baidu: {android: 3000, ios: 2500}, "*": 1500}}
  some_shops: {by: [shop], values: {baidu: 3000, toutiao: 2000, free: unlimited}}
  times: {by: [shop], values: {baidu: 3, "*": 5}}
policies:
  - {name: gold, watch: reward, key: user, metric: sum(gold), window: 1h, then: [{over: gold_limit, do: graylist, for: 1h}]}
  - {name: shop, watch: reward, key: [user, shop], metric: sum(gold), window: 1h, then: [{at: some_shops, do: graylist, for: 1h}]}
  - {name: often, watch: reward, key: user, window: 1h, then: [{over: times, do: deny}]}
  - {name: own, watch: reward, key: user, metric: sum(gold), window: 1h, then: [{over: most, do: flag}]}
)";

struct ThresholdsTest : ApiTest {
  ThresholdsTest() : ApiTest(kTables) {}

  void reward(const char* user, const char* gold, const char* shop = "baidu",
              const char* os = "android") {
    process.judge(
        "POST", "/reward", "192.0.2.1",
        {{"x-user-id", user}, {"x-gold", gold}, {"x-shop", shop}, {"x-os", os}, {"x-most", "1"}});
  }

  json::value rung(const std::string& key, std::string_view policy) {
    const json::value body = get("/v1/why?" + key);
    for (const json::value& counter : body.at("counters").as_array())
      if (counter.at("policy").as_string() == policy) return counter.at("rungs").at(0);
    ADD_FAILURE() << policy << " has counted nothing for " << key;
    return {};
  }
  std::string outlook(const std::string& key, std::string_view policy) {
    return std::string(rung(key, policy).at("outlook").as_string());
  }
};

TEST_F(ThresholdsTest, WhyNamesTheLimitThatWasPassedAndThoseOfTheTable) {
  reward("bob", "4000");
  const json::value row = rung("key=bob", "gold");
  EXPECT_TRUE(row.at("limit").is_null());
  EXPECT_EQ(row.at("table"), json::value({{"name", "gold_limit"},
                                          {"by", {"shop", "os"}},
                                          {"least", 1500},
                                          {"most", 3000},
                                          {"listed_at", 3000}}));
  EXPECT_EQ(row.at("holds"), json::value(true)) << "it is over all of them";
  EXPECT_EQ(row.at("outlook"),
            json::value("the sum stands at 4000, listed at 3000; gold_limit has 1500 to 3000 by "
                        "shop, os: the next reward lists again while it does"));
}

TEST_F(ThresholdsTest, CountersTellByWhichLimitAKeyWasListed) {
  reward("bob", "4000");
  const json::value row = get("/v1/counters/gold?key=bob");
  EXPECT_EQ(row.at("counters").at(0).at("limits").at(0).at("table").at("listed_at"),
            json::value(3000));
}

TEST_F(ThresholdsTest, WhatIsInFlightMayJoinTheReading) {
  const policies::Policy& policy = *process.set->find_policy("often");
  const std::vector<std::string> bob{"bob"};
  const admin::Threshold threshold = admin::threshold_of(*process.set, policy, 0, {bob, {}});
  limiter::Reading reading;
  reading.has_value = true;
  reading.settled = Number(1);
  reading.value = Number(3);
  reading.in_flight = 2;
  EXPECT_EQ(admin::outlook_text(*process.set, policy, 0, threshold, reading),
            "the count stands at 1, and 2 in flight may join it; times has 3 to 5 by shop: until "
            "they are answered, the next reward may wait for them, by its own limit");
  reading.value = Number(2);
  EXPECT_EQ(admin::outlook_text(*process.set, policy, 0, threshold, reading),
            "the count stands at 1, and 1 in flight may join it; times has 3 to 5 by shop: after 2 "
            "more, the next reward may be refused, by its own limit");
}

struct TwoTablesTest : ApiTest {
  TwoTablesTest()
      : ApiTest(R"(weir: 1
fields: {user: header.x_user_id}
events: {reward: {match: POST /reward, fields: {gold: int(header.x_gold), shop: header.x_shop}}}
tables:
  low: {by: [shop], values: {baidu: 10, "*": 20}}
  high: {by: [shop], values: {baidu: 1000, "*": 2000}}
policies:
  - name: gold
    watch: reward
    key: user
    metric: sum(gold)
    window: 1h
    then: [{over: low, do: graylist, for: 1h}, {over: high, do: graylist, for: 1h}]
)") {}
};

TEST_F(TwoTablesTest, TheLimitOfAnotherRungIsNotThisOnes) {
  process.judge("POST", "/reward", "192.0.2.1",
                {{"x-user-id", "bob"}, {"x-gold", "500"}, {"x-shop", "baidu"}});
  for (const char* target : {"/v1/why?key=bob", "/v1/counters/gold?key=bob"}) {
    const json::object counter = get(target).at("counters").at(0).as_object();
    const json::array& rungs =
        counter.at(counter.contains("rungs") ? "rungs" : "limits").as_array();
    EXPECT_EQ(rungs.at(0).at("table").at("listed_at"), json::value(10)) << target;
    EXPECT_TRUE(rungs.at(1).at("table").at("listed_at").is_null()) << target;
  }
}

TEST_F(ThresholdsTest, WhyLeavesOpenWhatTheNextEventDecides) {
  reward("bob", "2000");
  EXPECT_TRUE(rung("key=bob", "gold").at("holds").is_null());
  EXPECT_EQ(outlook("key=bob", "gold"),
            "the sum stands at 2000; gold_limit has 1500 to 3000 by shop, os: the next reward may "
            "list again, by its own limit");
  reward("eve", "1000");
  EXPECT_EQ(rung("key=eve", "gold").at("holds"), json::value(false));
  EXPECT_EQ(outlook("key=eve", "gold"),
            "the sum stands at 1000; gold_limit has 1500 to 3000 by shop, os");
  EXPECT_EQ(outlook("key=eve", "own"),
            "the sum stands at 1000; each reward brings its own limit: int(header.x_most)");
}

TEST_F(ThresholdsTest, WhyCountsOnToTheLeastLimit) {
  reward("bob", "1");
  EXPECT_EQ(outlook("key=bob", "often"),
            "the count stands at 1; times has 3 to 5 by shop: after 2 more, the next reward may be "
            "refused, by its own limit");
  for (int i = 0; i < 2; ++i) reward("bob", "1");
  EXPECT_EQ(outlook("key=bob", "often"),
            "the count stands at 3; times has 3 to 5 by shop: the next reward may be refused, by "
            "its own limit");
  for (int i = 0; i < 2; ++i) reward("bob", "1", "other");
  EXPECT_EQ(outlook("key=bob", "often"),
            "the count stands at 5; times has 3 to 5 by shop: the next reward is refused");
}

TEST_F(ThresholdsTest, WhatStandsInTheKeyTellsTheLimit) {
  reward("bob", "2000", "toutiao");
  const json::value row = rung("key=bob&key=toutiao", "shop");
  EXPECT_EQ(row.at("limit"), json::value(2000));
  EXPECT_EQ(row.at("holds"), json::value(true));
  EXPECT_EQ(row.at("outlook"), json::value("the sum stands at 2000 of 2000 by some_shops: the next "
                                           "reward lists again while it does"));
  reward("bob", "2000", "free");
  EXPECT_EQ(outlook("key=bob&key=free", "shop"), "");
  reward("bob", "2000", "nowhere");
  EXPECT_EQ(rung("key=bob&key=nowhere", "shop").at("holds"), json::value(false));
  EXPECT_EQ(outlook("key=bob&key=nowhere", "shop"),
            "the sum stands at 2000; some_shops has no limit for it");
  EXPECT_EQ(get("/v1/counters/shop?key=bob&key=baidu")
                .at("counters")
                .at(0)
                .at("limits")
                .at(0)
                .at("limit"),
            json::value(3000));
}

TEST_F(ThresholdsTest, RemovingSaysThatTheNextEventListsAgain) {
  reward("bob", "4000");
  const json::value body =
      json::parse(call("DELETE", "/v1/lists/gold:graylist/entries?key=bob").body);
  EXPECT_EQ(body.at("removed"), json::value(1));
  ASSERT_EQ(body.at("remains").as_array().size(), 1U);
  const json::value& remains = body.at("remains").at(0);
  EXPECT_TRUE(remains.at("limit").is_null());
  EXPECT_EQ(remains.at("value"), json::value(4000));
  EXPECT_EQ(remains.at("text"),
            json::value("the sum stands at 4000, listed at 3000; gold_limit has 1500 to 3000 by "
                        "shop, os: the next reward lists again while it does"));
}

TEST_F(ThresholdsTest, ReadingsHaveARungForEachLimitOfTheTable) {
  reward("a", "1000");
  reward("b", "2500");
  reward("c", "2600");
  reward("d", "4000");
  const json::value body = get("/v1/policies/gold/readings");
  const json::value& row = body.at("counters").at(0).at("rungs").at(0);
  EXPECT_TRUE(row.at("limit").is_null());
  EXPECT_EQ(row.at("table").at("name"), json::value("gold_limit"));
  EXPECT_EQ(json::serialize(row.at("table").at("limits")),
            R"([{"limit":1500,"of":["*"],"cells":1,"keys":3},)"
            R"({"limit":2500,"of":["baidu,ios"],"cells":1,"keys":2},)"
            R"({"limit":3000,"of":["baidu,android"],"cells":1,"keys":1}])");
  const json::value at = get("/v1/policies/shop/readings");
  const json::value& table = at.at("counters").at(0).at("rungs").at(0).at("table");
  EXPECT_EQ(table.at("unlimited"), json::value(1));
  EXPECT_EQ(table.at("limits").at(0).at("keys"), json::value(3)) << "2500, 2600 and 4000";
}

admin::TableFacts times_table() {
  admin::TableFacts facts;
  facts.def.name.value = "times";
  facts.def.by.push_back({"shop", {}});
  facts.def.values.children.push_back({{"*", {}}, {}});
  facts.def.values.children[0].node.limit = Number(5);
  facts.policies = {"often"};
  facts.approval = true;
  return facts;
}

TEST_F(ThresholdsTest, TablesAreListedWithoutTheirValues) {
  EXPECT_EQ(get("/v1/tables").at("tables"), json::parse("[]"));
  process.tables_.push_back(times_table());
  const json::value body = get("/v1/tables");
  ASSERT_EQ(body.at("tables").as_array().size(), 1U);
  const json::object& row = body.at("tables").at(0).as_object();
  EXPECT_EQ(row.at("name"), json::value("times"));
  EXPECT_EQ(row.at("by"), json::parse(R"(["shop"])"));
  EXPECT_EQ(row.at("policies"), json::parse(R"(["often"])"));
  EXPECT_EQ(row.at("approval"), json::value(true));
  EXPECT_EQ(row.at("limits"), json::value(1));
  EXPECT_FALSE(row.contains("values"));
  EXPECT_FALSE(row.contains("history"));
  EXPECT_EQ(call("GET", "/v1/tables?page=1").status, 400);
}

TEST_F(ThresholdsTest, AChangeOfATableIsTakenBackUnderAName) {
  process.tables_.push_back(times_table());
  process.table_answer.status = 200;
  process.table_answer.id = "c7";
  const Reply reply =
      call("POST", "/v1/tables/times/undo", R"({"change":"c6","reason":"ticket 4711","by":"ann"})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(json::parse(reply.body).at("change"), json::value("c7"));
  ASSERT_EQ(process.wishes.size(), 1U);
  const admin::TableRequest& asked = process.wishes.back();
  EXPECT_EQ(asked.verb, admin::TableRequest::Verb::undo);
  EXPECT_EQ(asked.table, "times");
  EXPECT_EQ(asked.id, "c6");
  EXPECT_EQ(asked.reason, "ticket 4711");
  EXPECT_EQ(asked.by, "ann");
  for (const char* wrong : {R"({"change":6})", R"({"set":{}})", "[]", "{"})
    EXPECT_EQ(call("POST", "/v1/tables/times/undo", wrong).status, 400) << wrong;
  EXPECT_EQ(process.wishes.size(), 1U) << "what is wrong asks for nothing";
}

TEST(ThresholdTable, SomeOfTooManyLimitsAreShown) {
  std::string values;
  for (int i = 0; i < 100; ++i) values += "s" + std::to_string(i) + ": " + std::to_string(i) + ", ";
  struct Many : ApiTest {
    explicit Many(const std::string& config) : ApiTest(config) {}
    void TestBody() override {}
    using ApiTest::get;
  } api(
      "weir: 1\nevents: {e: {match: GET /e, fields: {shop: header.x_shop}}}\n"
      "tables: {t: {by: [shop], values: {" +
      values +
      "\"*\": 7}}}\n"
      "policies: [{name: p, watch: e, key: ip, window: 1h, then: [{over: t, do: flag}]}]\n");
  const json::value body = api.get("/v1/policies/p/readings");
  const json::value& table = body.at("counters").at(0).at("rungs").at(0).at("table");
  EXPECT_EQ(table.at("limits").as_array().size(), 40U);
  EXPECT_EQ(table.at("limits").at(0).at("limit"), json::value(0));
  EXPECT_EQ(table.at("limits").at(39).at("limit"), json::value(99));
  EXPECT_EQ(table.at("left_out"), json::value(60));
}

}  // namespace weir::test::thresholds_test
