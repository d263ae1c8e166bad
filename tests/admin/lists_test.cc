#include "api_fixture.h"
#include "policies/set/bulk_text.h"

namespace weir::test::lists_test {

TEST_F(ApiTest, ListsAreShownWithHowFullTheyAre) {
  const json::value body = get("/v1/lists");
  ASSERT_EQ(body.at("lists").as_array().size(), 4U);
  const json::value& office = body.at("lists").at(0);
  EXPECT_EQ(office.at("name"), json::value("office"));
  EXPECT_EQ(office.at("kind"), json::value("allow"));
  EXPECT_EQ(office.at("static_entries"), json::value(2));
  const json::value& own = body.at("lists").at(3);
  EXPECT_EQ(own.at("name"), json::value("per-ip:deny"));
  EXPECT_EQ(own.at("policy"), json::value("per-ip"));
  EXPECT_EQ(own.at("effect"), json::value("deny"));
}

TEST_F(ApiTest, AnEntryIsMadeKeptAndExtended) {
  const std::string path = "/v1/lists/gray_users/entries";
  Reply reply = call("POST", path, R"({"key":["bob"],"for":"15m","why":"ticket 4711"})");
  EXPECT_EQ(reply.status, 201);
  json::value body = json::parse(reply.body);
  EXPECT_EQ(body.at("result"), json::value("created"));
  EXPECT_EQ(body.at("until"), json::value("2026-11-21T00:15:00.123Z"));
  EXPECT_EQ(body.at("left_seconds"), json::value(900));

  reply = call("POST", path, R"({"key":"bob","for":"1m"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(json::parse(reply.body).at("result"), json::value("kept"));
  reply = call("POST", path, R"({"key":["bob"],"until":"2026-11-21T02:00:00+01:00"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(json::parse(reply.body).at("result"), json::value("extended"));

  body = get(path + "?key=bob");
  EXPECT_EQ(body.at("listed"), json::value(true));
  const json::value& entry = body.at("entries").at(0);
  EXPECT_EQ(entry.at("by"), json::value("admin"));
  EXPECT_EQ(entry.at("until"), json::value("2026-11-21T01:00:00.000Z"));
  EXPECT_EQ(entry.at("static"), json::value(false));
  EXPECT_EQ(get(path + "?key=alice").at("listed"), json::value(false));
}

TEST_F(ApiTest, AnEmptyKeyIsNotListedByHand) {
  const std::string path = "/v1/lists/gray_users/entries";
  const Reply reply = call("POST", path, R"({"key":[""],"for":"15m"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(detail(reply), "the key is empty");
  EXPECT_EQ(call("DELETE", path + "?key=").status, 200) << "a policy may have listed it";
}

TEST_F(ApiTest, AnEntrySaysTheReasonOfTheCallUnlessItHasOneOfItsOwn) {
  const std::string path = "/v1/lists/gray_users/entries";
  const auto why_of = [&](const std::string& key) {
    return get(path + "?key=" + key).at("entries").at(0).at("why");
  };
  EXPECT_EQ(call("POST", path + "?reason=ticket%204711", R"({"key":"bob","for":"15m"})").status,
            201);
  EXPECT_EQ(why_of("bob"), json::value("ticket 4711"));
  EXPECT_EQ(
      call("POST", path + "?reason=audited", R"({"key":"eve","for":"15m","why":"spam"})").status,
      201);
  EXPECT_EQ(why_of("eve"), json::value("spam"));
  EXPECT_EQ(call("POST", "/v1/lists/gray_users/import?reason=the%20weekly%20list",
                 R"({"entries":[{"key":"dan","for":"15m"}]})")
                .status,
            200);
  EXPECT_EQ(why_of("dan"), json::value("the weekly list"));
}

TEST_F(ApiTest, AReasonThatIsTooLongForAnEntryIsCutBetweenCharacters) {
  std::string reason(255, 'x');
  reason += "%C3%A4%C3%A4";  // the 256th byte is half a letter
  const std::string path = "/v1/lists/gray_users/entries";
  ASSERT_EQ(call("POST", path + "?reason=" + reason, R"({"key":"bob","for":"15m"})").status, 201);
  EXPECT_EQ(get(path + "?key=bob").at("entries").at(0).at("why"),
            json::value(std::string(255, 'x')));
}

TEST_F(ApiTest, AFullListRefuses) {
  for (const char* user : {"a", "b", "c"}) {
    EXPECT_EQ(call("POST", "/v1/lists/gray_users/entries",
                   "{\"key\":[\"" + std::string(user) + "\"],\"for\":\"1h\"}")
                  .status,
              201);
  }
  const Reply reply = call("POST", "/v1/lists/gray_users/entries", R"({"key":["d"],"for":"1h"})");
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(detail(reply), "the list is full: its `max` is 3");
}

TEST_F(ApiTest, ABanByHandActsAtOnceAndEndsByHand) {
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.7"), Action::none);
  EXPECT_EQ(call("POST", "/v1/lists/per-ip/entries",
                 R"({"key":["198.51.100.7"],"for":"1h","effect":"deny"})")
                .status,
            201);
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.7"), Action::deny);
  const json::value body = get("/v1/lists/per-ip/entries?key=198.51.100.7");
  EXPECT_EQ(body.at("entries").at(0).at("list"), json::value("per-ip:deny"));
  EXPECT_EQ(body.at("entries").at(0).at("effect"), json::value("deny"));
  const Reply reply =
      call("DELETE", "/v1/lists/per-ip/entries?key=198.51.100.7", "", "X-Weir-Admin: 1\r\n");
  EXPECT_EQ(json::parse(reply.body).at("removed"), json::value(1));
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.7"), Action::none);
  EXPECT_EQ(
      json::parse(call("DELETE", "/v1/lists/per-ip/entries?key=198.51.100.7").body).at("removed"),
      json::value(0));
}

TEST_F(ApiTest, WhatAPolicyListedSaysWhyAndForHowLong) {
  for (int i = 0; i < 4; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  process.now += milliseconds{60'000};
  const json::value body = get("/v1/lists/per-ip");
  ASSERT_EQ(body.at("entries").as_array().size(), 1U);
  const json::value& entry = body.at("entries").at(0);
  EXPECT_EQ(entry.at("policy"), json::value("per-ip"));
  EXPECT_EQ(entry.at("value"), json::value(4));
  EXPECT_EQ(entry.at("limit"), json::value(3));
  EXPECT_EQ(entry.at("by"), json::value("policy"));
  EXPECT_EQ(entry.at("left_seconds"), json::value(840));
  EXPECT_EQ(json::serialize(entry.at("key")), R"(["198.51.100.7"])");
}

struct PlainRuleTest : ApiTest {
  PlainRuleTest()
      : ApiTest(R"(weir: 1
policies:
  - {name: scanners, watch: request, key: ip, then: [{if: 'path == "/.env"', do: deny, for: 1h}]}
)") {}
};

TEST_F(PlainRuleTest, WhatNothingWasCountedForHasNoValueAndNoLimit) {
  process.judge("GET", "/.env", "198.51.100.7");
  const json::value body = get("/v1/lists/scanners");
  ASSERT_EQ(body.at("entries").as_array().size(), 1U);
  const json::object& entry = body.at("entries").at(0).as_object();
  EXPECT_EQ(entry.at("policy"), json::value("scanners"));
  EXPECT_FALSE(entry.contains("value"));
  EXPECT_FALSE(entry.contains("limit"));
}

constexpr std::string_view kSourceConfig = R"(weir: 1
lists:
  bulk: {of: ip, kind: deny, file: bulk.txt}
  cheats: {of: user, kind: deny, file: cheats.csv}
events:
  login: {match: POST /login, fields: {user: body.user}}
policies: []
)";

/// Lists whose entries come from files.
struct SourceTest : ApiTest {
  SourceTest() : ApiTest(kSourceConfig) {
    auto made = compile_text(kSourceConfig);
    EXPECT_TRUE(made->attach(process.bank, process.lists, process.secret, &process.patterns));
    for (policies::List& list : made->lists) {
      policies::BulkText read = policies::read_bulk_list(
          list, list.name == "bulk" ? "203.0.113.9\n2001:db8:a::/64\n" : "eve\n", process.secret,
          process.now, 10);
      EXPECT_TRUE(read.entries) << list.name;
      list.bulk = std::make_shared<limiter::BulkSlot>();
      static_cast<void>(list.bulk->put(std::move(read.entries)));
    }
    process.set = std::move(made);
  }
};

TEST_F(SourceTest, AKeyThatAFileListsIsFound) {
  for (const char* const key : {"203.0.113.9", "2001:db8:a::5"}) {
    const json::value body = get("/v1/lists/bulk/entries?key=" + std::string(key));
    EXPECT_EQ(body.at("listed"), json::value(true)) << key;
    ASSERT_EQ(body.at("entries").as_array().size(), 1U) << key;
    EXPECT_EQ(body.at("entries").at(0).at("by"), json::value("source"));
    EXPECT_EQ(body.at("entries").at(0).at("why"), json::value("from bulk.txt"));
  }
  EXPECT_EQ(get("/v1/lists/cheats/entries?key=eve").at("listed"), json::value(true));
  EXPECT_EQ(get("/v1/lists/cheats/entries?key=bob").at("listed"), json::value(false));
  EXPECT_EQ(get("/v1/lists/bulk/entries?key=203.0.113.10").at("listed"), json::value(false));
}

TEST_F(SourceTest, AKeyThatAFileListsIsNotTakenOff) {
  const std::string path = "/v1/lists/bulk/entries?key=203.0.113.9";
  EXPECT_EQ(call("POST", "/v1/lists/bulk/entries", R"({"key":["203.0.113.9"],"for":"1h"})").status,
            201);
  Reply reply = call("DELETE", path);
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(detail(reply),
            "an entry of bulk.txt covers this key: take it out there; weir notices the change");
  EXPECT_EQ(json::parse(reply.body).at("removed"), json::value(1));
  EXPECT_EQ(get(path).at("entries").as_array().size(), 1U);
  EXPECT_EQ(call("DELETE", path + "&forgive=true").status, 409);
  EXPECT_EQ(call("DELETE", "/v1/lists/cheats/entries?key=eve").status, 409);
  EXPECT_EQ(call("DELETE", "/v1/lists/cheats/entries?key=bob").status, 200);
}

TEST_F(SourceTest, AListSaysHowManyEntriesItsFileBrings) {
  EXPECT_EQ(get("/v1/lists/bulk").at("lists").at(0).at("source_entries"), json::value(2));
  EXPECT_EQ(json::parse(call("DELETE", "/v1/lists/bulk").body).at("in_source"), json::value(2));
}

TEST_F(ApiTest, APolicyWithSeveralListsWantsTheEffect) {
  const Reply reply =
      call("POST", "/v1/lists/per-ip/entries", R"({"key":["198.51.100.7"],"for":"1h"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(detail(reply), "this policy has several lists: say by `effect` which one: flag, deny");
  EXPECT_EQ(call("POST", "/v1/lists/per-ip/entries",
                 R"({"key":["198.51.100.7"],"for":"1h","effect":"challenge"})")
                .status,
            400);
  EXPECT_EQ(call("POST", "/v1/lists/per-ip:deny/entries", R"({"key":["198.51.100.7"],"for":"1h"})")
                .status,
            201);
}

TEST_F(ApiTest, StaticEntriesAreShownAndCannotBeRemoved) {
  const json::value body = get("/v1/lists/office/entries?key=203.0.113.9");
  EXPECT_EQ(body.at("listed"), json::value(true));
  EXPECT_EQ(body.at("entries").at(0).at("static"), json::value(true));
  EXPECT_EQ(body.at("entries").at(0).at("why"), json::value("partner"));
  EXPECT_EQ(get("/v1/lists/office/entries?key=10.1.2.3").at("entries").at(0).at("until"),
            json::value());
  EXPECT_EQ(get("/v1/lists/office/entries?key=11.1.2.3").at("listed"), json::value(false));
  EXPECT_EQ(call("DELETE", "/v1/lists/office/entries?key=10.1.2.3").status, 409);
}

TEST_F(ApiTest, PagesGiveEveryEntryOnce) {
  for (int i = 0; i < 25; ++i) {
    const std::string key = "198.51.100." + std::to_string(i);
    EXPECT_EQ(
        call("POST", i % 2 ? "/v1/lists/per-ip:deny/entries" : "/v1/lists/per-ip:graylist/entries",
             "{\"key\":\"" + key + "\",\"for\":\"1h\"}")
            .status,
        201);
  }
  for (const int limit : {1, 4, 12, 13, 25, 100}) {
    std::multiset<std::string> seen;
    std::string target = "/v1/lists/per-ip?limit=" + std::to_string(limit);
    for (int pages = 0; pages < 60; ++pages) {
      const json::value body = get(target);
      EXPECT_LE(body.at("entries").as_array().size(), static_cast<std::size_t>(limit));
      for (const json::value& entry : body.at("entries").as_array()) {
        seen.insert(std::string(entry.at("key").at(0).as_string()));
      }
      if (body.at("next").is_null()) break;
      target = "/v1/lists/per-ip?limit=" + std::to_string(limit) +
               "&after=" + std::string(body.at("next").as_string());
    }
    EXPECT_EQ(seen.size(), 25U) << limit;
    EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 25U) << limit;
  }
  const json::value first = get("/v1/lists/office?limit=1");
  EXPECT_EQ(json::serialize(first.at("entries").at(0).at("key")), R"(["10.0.0.0/8"])");
  const json::value rest =
      get("/v1/lists/office?after=" + std::string(first.at("next").as_string()));
  EXPECT_EQ(rest.at("entries").as_array().size(), 1U);
  EXPECT_TRUE(rest.at("next").is_null());
}

TEST_F(ApiTest, WrongPagesAndListsAreRefused) {
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "limit=", "limit=1&limit=2",
                            "after=", "after=0x1", "after=0d12", "after=-1s0"}) {
    EXPECT_EQ(call("GET", std::string("/v1/lists/office?") + query).status, 400) << query;
  }
  EXPECT_EQ(call("GET", "/v1/lists/office?after=99s0").status, 200);
  EXPECT_EQ(detail(call("GET", "/v1/lists/nobody")),
            "there is neither a list nor a policy of that name");
  EXPECT_EQ(detail(call("GET", "/v1/lists/everyone")), "this policy has no list of its own");
}

TEST_F(ApiTest, WrongEntriesAreRefusedWithAReason) {
  struct Case {
    const char *body, *detail;
  };
  for (const Case& c : {
           Case{R"({"for":"1h"})", "`key` is a text, or a list with a text for each part"},
           {R"({"key":[1],"for":"1h"})", "each part of `key` is a text"},
           {R"({"key":["a","b"],"for":"1h"})", "the key has 1 part: user"},
           {R"({"key":["a"]})",
            "give either `for`, a duration such as 15m, or `until`, a time of RFC 3339"},
           {R"({"key":["a"],"for":"1h","until":"2027-01-01"})",
            "give either `for`, a duration such as 15m, or `until`, a time of RFC 3339"},
           {R"({"key":["a"],"for":90})", "`for` is a text"},
           {R"({"key":["a"],"for":"0s"})", "`for` is longer than nothing"},
           {R"({"key":["a"],"until":"2026-01-01T00:00:00Z"})", "`until` has passed already"},
           {R"({"key":["a"],"for":"1h","why":7})", "`why` is a text"},
           {R"({"key":["a"],"for":"1h","who":"me"})",
            "unknown member \"who\"; known are key, for, until, why, effect"},
           {R"([1])", "the body must be a JSON object"},
       }) {
    const Reply reply = call("POST", "/v1/lists/gray_users/entries", c.body);
    EXPECT_EQ(reply.status, 400) << c.body;
    EXPECT_EQ(detail(reply), c.detail);
  }
  EXPECT_EQ(call("POST", "/v1/lists/gray_users/entries", R"({"key":["a"],"for":"soon"})").status,
            400);
  EXPECT_EQ(
      call("POST", "/v1/lists/gray_users/entries", R"({"key":["a"],"until":"tomorrow"})").status,
      400);
  EXPECT_EQ(call("POST", "/v1/lists/office/entries", R"({"key":["10.0.0.0/8"],"for":"1h"})").status,
            400);
  EXPECT_EQ(call("POST", "/v1/lists/gray_users/entries",
                 R"({"key":["a"],"for":"1h","why":")" + std::string(257, 'x') + "\"}")
                .status,
            400);
}

}  // namespace weir::test::lists_test
