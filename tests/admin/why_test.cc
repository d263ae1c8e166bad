#include "api_fixture.h"
#include "telemetry/cut_text.h"

namespace weir::test::why_test {

TEST_F(ApiTest, WhyShowsEntriesCountsAndPoliciesOfAnAddress) {
  for (int i = 0; i < 5; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  const json::value body = get("/v1/why?key=198.51.100.7");
  EXPECT_EQ(body.at("effect"), json::value("deny"));
  EXPECT_EQ(body.at("allowed"), json::value(false));
  ASSERT_EQ(body.at("entries").as_array().size(), 2U);
  EXPECT_EQ(body.at("entries").at(1).at("commands").at(1),
            json::value("weir ctl list per-ip:deny 198.51.100.7 --forgive"));
  const json::value& counter = body.at("counters").at(0);
  EXPECT_EQ(counter.at("policy"), json::value("per-ip"));
  EXPECT_EQ(counter.at("rungs").at(2).at("outlook"),
            json::value("the count stands at 4 of 4: the next login lists again"));
  EXPECT_EQ(counter.at("commands").at(0),
            json::value("weir ctl counter per-ip 198.51.100.7 --reset"));
  EXPECT_EQ(body.at("policies").at(0).at("policy"), json::value("per-ip"));
}

TEST_F(ApiTest, WhyFindsAllowListsAndWhatNothingKnows) {
  const json::value office = get("/v1/why?key=10.1.2.3");
  EXPECT_EQ(office.at("allowed"), json::value(true));
  EXPECT_EQ(office.at("listed"), json::value(false));
  EXPECT_EQ(office.at("entries").at(0).at("commands").as_array().size(), 0U);
  EXPECT_NE(std::string(office.at("entries").at(0).at("how").as_string()).find("in the file"),
            std::string::npos);
  const json::value nobody = get("/v1/why?key=nobody");
  EXPECT_EQ(nobody.at("summary"), json::value("nobody is on no list, and nothing counts it"));
  EXPECT_EQ(call("GET", "/v1/why").status, 400);
  EXPECT_EQ(call("GET", "/v1/why?ky=1").status, 400);
}

struct LastTest : ApiTest {
  LastTest()
      : ApiTest(
            "weir: 1\nevents: {e: {match: GET /e, fields: {n: int(header.x_n)}}}\npolicies:\n"
            "  - {name: text, watch: e, key: ip, metric: last(header.x_n), window: 1h, "
            "then: [{if: 'value == \"x\"', do: flag}]}\n"
            "  - {name: number, watch: e, key: ip, metric: last(n), window: 1h, "
            "then: [{over: 9, do: flag}]}\n") {}
};

TEST_F(LastTest, WhatIsRememberedIsTheValue) {
  process.judge("GET", "/e", "198.51.100.7", {{"x-n", "7"}});
  const json::value body = get("/v1/why?key=198.51.100.7");
  ASSERT_EQ(body.at("counters").as_array().size(), 2U);
  EXPECT_EQ(body.at("counters").at(0).at("value"), json::value("7"));
  EXPECT_EQ(body.at("counters").at(1).at("value"), json::value(7));
  const json::value text = get("/v1/counters/text?key=198.51.100.7").at("counters").at(0);
  EXPECT_EQ(text.at("value"), json::value("7"));
  EXPECT_EQ(text.at("settled"), json::value("7"));
}

struct KeylessTest : ApiTest {
  KeylessTest()
      : ApiTest(
            "weir: 1\nevents: {login: {match: POST /api/login}}\npolicies: [{name: all, watch: "
            "login, "
            "window: 10m, then: [{over: 3, do: deny, for: 1h}]}]\n") {}
};

TEST_F(KeylessTest, WhatActsOnEverybodyConcernsEveryKey) {
  EXPECT_EQ(get("/v1/why?key=192.0.2.1").at("policies").as_array().size(), 0U)
      << "nobody is listed: it concerns no key more than another";
  for (int i = 0; i < 4; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  ASSERT_EQ(process.judge("POST", "/api/login", "192.0.2.1"), Action::deny);
  const json::value body = get("/v1/why?key=192.0.2.1");
  EXPECT_EQ(body.at("listed"), json::value(true));
  EXPECT_EQ(body.at("effect"), json::value("deny"));
  const std::string summary(body.at("summary").as_string());
  EXPECT_EQ(summary.find("192.0.2.1 is like everybody on all:deny (deny) until"), 0U) << summary;
  EXPECT_EQ(body.at("entries").at(0).at("commands").at(1),
            json::value("weir ctl list all:deny --forgive"));
  EXPECT_EQ(body.at("policies").at(0).at("policy"), json::value("all"));
  EXPECT_EQ(body.at("counters").at(0).at("commands").at(0),
            json::value("weir ctl counter all --reset"));
}

struct MakersTest : ApiTest {
  MakersTest()
      : ApiTest(R"(weir: 1
fields: {user: header.x_user_id}
events: {login: {match: POST /api/login}}
lists: {pairs: {of: [user, ip], kind: deny}}
policies:
  - {name: own, watch: login, key: [user, ip], window: 10m, then: [{over: 1, do: graylist, for: 1h}]}
  - {name: named, watch: login, key: [ip, user], window: 10m, then: [{over: 2, do: deny, for: 1h, list: pairs}]}
  - {name: other, watch: login, key: [user, ip], window: 10m, then: [{over: 200, do: deny, for: 1h}]}
)") {}
};

TEST_F(MakersTest, WhyNamesThePoliciesThatMadeTheEntriesOfAPartOfAKey) {
  for (int i = 0; i < 3; ++i)
    process.judge("POST", "/api/login", "198.51.100.7", {{"x-user-id", "eve"}});
  const json::value body = get("/v1/why?key=198.51.100.7");
  ASSERT_EQ(body.at("entries").as_array().size(), 2U);
  const json::array& policies = body.at("policies").as_array();
  ASSERT_EQ(policies.size(), 2U);
  EXPECT_EQ(policies[0].at("policy"), json::value("own"));
  EXPECT_EQ(policies[0].at("key"), json::value(json::array({"eve", "198.51.100.7"})));
  EXPECT_EQ(policies[1].at("policy"), json::value("named"));
  EXPECT_TRUE(policies[1].at("key").as_array().empty());
  EXPECT_EQ(policies[1].at("commands").at(0),
            json::value("weir ctl policy named shadow --for 10m --reason TEXT"));
  ASSERT_EQ(call("PUT", "/v1/policies/named/override", R"({"mode":"shadow","for":"10m"})").status,
            200);
  process.use_overrides();
  EXPECT_TRUE(
      get("/v1/why?key=198.51.100.7").at("policies").at(1).at("commands").as_array().empty())
      << "it is silent already";
}

TEST_F(ApiTest, WhyQuotesKeysForTheShell) {
  call("POST", "/v1/lists/gray_users/entries", R"({"key":"it's $HOME","for":"1h"})");
  const json::value body = get("/v1/why?key=it's%20$HOME");
  EXPECT_EQ(body.at("entries").at(0).at("commands").at(0),
            json::value("weir ctl list gray_users 'it'\\''s $HOME' --remove"));
  call("POST", "/v1/lists/gray_users/entries", R"({"key":"-rf","for":"1h"})");
  EXPECT_EQ(get("/v1/why?key=-rf").at("entries").at(0).at("commands").at(0),
            json::value("weir ctl list --remove -- gray_users -rf"));
}

TEST_F(ApiTest, WhyWritesForTheShellWhatATerminalDoesNotShow) {
  call("POST", "/v1/lists/gray_users/entries", R"({"key":"a\tb'\\\u202e","for":"1h"})");
  EXPECT_EQ(get("/v1/why?key=a%09b'%5C%E2%80%AE").at("entries").at(0).at("commands").at(0),
            json::value("weir ctl list gray_users $'a\\011b\\'\\\\\\342\\200\\256' --remove"));
  call("POST", "/v1/lists/gray_users/entries", R"({"key":"a\u0000b","for":"1h"})");
  const json::value entry = get("/v1/why?key=a%00b").at("entries").at(0);
  EXPECT_TRUE(entry.at("commands").as_array().empty());
  EXPECT_EQ(entry.at("how"), json::value("no command line can carry a zero byte: DELETE "
                                         "/v1/lists/gray_users/entries?key=KEY, with %00 for it"));
}

TEST_F(ApiTest, AKeyThatIsKeptInPartIsFoundByThatPart) {
  const std::string path = "/v1/lists/gray_users/entries", whole(300, 'x');
  const auto add = [&](const std::string& key) {
    return call("POST", path, R"({"for":"1h","key":")" + key + "\"}");
  };
  ASSERT_EQ(add(whole).status, 201);
  const std::string shown(
      get("/v1/lists/gray_users").at("entries").at(0).at("key").at(0).as_string());
  EXPECT_EQ(shown, std::string(253, 'x') + "\u2026");
  const std::string query = "?key=" + std::string(253, 'x') + "%E2%80%A6";
  EXPECT_EQ(get(path + query).at("listed"), json::value(true));
  EXPECT_EQ(get("/v1/why?key=" + whole).at("entries").at(0).at("commands").as_array().size(), 1U)
      << "its count cannot be emptied by what is kept";
  EXPECT_EQ(get("/v1/why" + query).at("listed"), json::value(true));
  EXPECT_EQ(add(shown).status, 400);
  EXPECT_EQ(call("DELETE", path + query + "&forgive=true").status, 409);

  ASSERT_EQ(add(whole + "y").status, 201);
  EXPECT_EQ(call("DELETE", path + query).status, 409) << "two keys begin so";
  EXPECT_EQ(json::parse(call("DELETE", path + "?key=" + whole + "y").body).at("removed"),
            json::value(1));
  EXPECT_EQ(json::parse(call("DELETE", path + query).body).at("removed"), json::value(1));
  EXPECT_EQ(get(path + "?key=" + whole).at("listed"), json::value(false));
  EXPECT_EQ(json::parse(call("DELETE", path + query).body).at("removed"), json::value(0));
}

TEST_F(ApiTest, RemovingSaysWhatRemainsAndForgivingEmptiesTheCount) {
  for (int i = 0; i < 5; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  Reply reply = call("DELETE", "/v1/lists/per-ip/entries?key=198.51.100.7");
  json::value body = json::parse(reply.body);
  EXPECT_EQ(body.at("removed"), json::value(2));
  ASSERT_EQ(body.at("remains").as_array().size(), 2U);
  EXPECT_EQ(body.at("remains").at(1).at("text"),
            json::value("the count stands at 4 of 4: the next login lists again"));
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.7"), Action::deny);

  reply = call("DELETE", "/v1/lists/per-ip/entries?key=198.51.100.7&forgive=true");
  body = json::parse(reply.body);
  EXPECT_EQ(body.at("emptied").at(0), json::value("per-ip"));
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.7"), Action::none);
  EXPECT_EQ(call("DELETE", "/v1/lists/per-ip/entries?key=198.51.100.7&forgive=yes").status, 400);

  const std::string token(body.at("undo").as_string());
  EXPECT_EQ(get("/v1/changes").at("changes").at(0).at("undo"), json::value(token));
  reply = call("POST", "/v1/changes/" + token + "/undo");
  EXPECT_EQ(json::parse(reply.body).at("restored"), json::value(1));
  EXPECT_EQ(json::parse(reply.body).at("what"), json::value("forgave a key of per-ip:deny"));
  EXPECT_EQ(process.judge("POST", "/api/login", "198.51.100.7"), Action::deny);
  EXPECT_EQ(call("POST", "/v1/changes/" + token + "/undo").status, 404);
}

TEST_F(ApiTest, AListIsClearedSinceATime) {
  const std::string path = "/v1/lists/gray_users";
  call("POST", path + "/entries", R"({"key":"early","for":"1h"})");
  process.now += milliseconds{60'000};
  call("POST", path + "/entries", R"({"key":"late","for":"1h"})");
  Reply reply = call("DELETE", path + "?since=2026-11-21T00:01:00Z&dry_run=true");
  json::value body = json::parse(reply.body);
  EXPECT_EQ(body.at("matched"), json::value(1));
  EXPECT_EQ(body.at("removed"), json::value(0));
  EXPECT_EQ(body.at("sample").at(0).at("key").at(0), json::value("late"));
  body = json::parse(call("DELETE", path + "?since=2026-11-21T00:01:00Z").body);
  EXPECT_EQ(body.at("removed"), json::value(1));
  EXPECT_EQ(get(path + "/entries?key=early").at("listed"), json::value(true));
  EXPECT_EQ(get(path + "/entries?key=late").at("listed"), json::value(false));
  EXPECT_EQ(call("DELETE", path + "?since=14:00").status, 400);
  EXPECT_EQ(json::parse(call("DELETE", "/v1/lists/office").body).at("in_configuration"),
            json::value(2));
}

TEST_F(ApiTest, AnImportTakesAllOrNone) {
  const std::string path = "/v1/lists/gray_users/import";
  Reply reply = call("POST", path, R"({"entries":[{"key":"a"},{"key":"b","for":"soon"}]})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(detail(reply).starts_with("entry 2: `for`: ")) << detail(reply);
  EXPECT_EQ(get("/v1/lists/gray_users/entries?key=a").at("listed"), json::value(false));
  reply = call("POST", path,
               R"({"entries":[{"key":"a"},{"key":["b"],"for":"1h"},{"key":"c"},{"key":"d"}]})");
  const json::value body = json::parse(reply.body);
  EXPECT_EQ(body.at("created"), json::value(3));
  EXPECT_EQ(body.at("refused"), json::value(1)) << "its max is 3";
  EXPECT_EQ(get("/v1/lists/gray_users/entries?key=a").at("entries").at(0).at("until"),
            json::value());
  reply = call("POST", path, R"({"entries":[{"key":"e","for":"1h"},{"key":"f","forr":"1h"}]})");
  EXPECT_EQ(detail(reply),
            "entry 2: unknown member \"forr\"; known are key, for, until, why, effect");
  for (const char* wrong :
       {R"({"entries":7})", R"({"entries":[7]})", R"({"entries":[{"kye":"a"}]})",
        R"({"entries":[],"undo":7})", R"({"entries":[],"dry_run":7})"}) {
    EXPECT_EQ(call("POST", path, wrong).status, 400) << wrong;
  }
  EXPECT_EQ(call("POST", "/v1/lists/nothing/import", R"({"entries":[]})").status, 404);
}

TEST_F(ApiTest, AChangeInPiecesIsShownAsTheOneThatItIs) {
  const std::string path = "/v1/lists/gray_users/import";
  json::value body = json::parse(
      call("POST", path, R"({"entries":[{"key":"a","for":"1h"},{"key":"b","for":"1h"}]})").body);
  const std::string token(body.at("undo").as_string());
  call("POST", path, R"({"undo":")" + token + R"(","entries":[{"key":"c","for":"1h"}]})");
  const json::value changes = get("/v1/changes").at("changes");
  ASSERT_EQ(changes.as_array().size(), 1U);
  EXPECT_EQ(changes.at(0).at("undo"), json::value(token));
  EXPECT_EQ(changes.at(0).at("entries"), json::value(3));
}

TEST_F(ApiTest, AnImportLeavesOutWhatHasEnded) {
  const std::string path = "/v1/lists/gray_users/import";
  const std::string entries =
      R"("entries":[{"key":"a","until":"2020-01-01"},{"key":"b","for":"1h"},{"key":["c","d"]}])";
  EXPECT_EQ(call("POST", path, "{" + entries + "}").status, 400) << "the others must be right";
  for (const char* dry : {"true", "false"}) {
    const json::value body =
        json::parse(call("POST", path,
                         R"({"entries":[{"key":"a","until":"2020-01-01"},{"key":"b","for":"1h"}],)"
                         R"("dry_run":)" +
                             std::string(dry) + "}")
                        .body);
    EXPECT_EQ(body.at("read"), json::value(2));
    EXPECT_EQ(body.at("ended"), json::value(1));
  }
  EXPECT_EQ(get("/v1/lists/gray_users/entries?key=a").at("listed"), json::value(false));
  EXPECT_EQ(get("/v1/lists/gray_users/entries?key=b").at("listed"), json::value(true));
  EXPECT_EQ(
      call("POST", "/v1/lists/gray_users/entries", R"({"key":"a","until":"2020-01-01"})").status,
      400)
      << "one entry is meant as it is";
}

TEST_F(ApiTest, TheHashOfAnAddressIsThatOfItsNetworkToo) {
  const json::value body = get("/v1/hash?key=2001:db8::7");
  ASSERT_EQ(body.at("hashes").as_array().size(), 2U);
  EXPECT_EQ(body.at("hashes").at(1).at("text"), json::value("2001:db8::"));
  EXPECT_EQ(get("/v1/hash?key=alice").at("hashes").as_array().size(), 1U);
  const std::string key(200, 'k');
  telemetry::CutText<telemetry::kLoggedKeyBytes> logged;
  logged = key;
  EXPECT_EQ(get("/v1/hash?key=" + key).at("hashes").at(0).at("hash"),
            json::value(key_mark(process.secret, logged.view())))
      << "the log has the mark of the text that it keeps";
  EXPECT_EQ(call("GET", "/v1/hash").status, 400);
}

}  // namespace weir::test::why_test
