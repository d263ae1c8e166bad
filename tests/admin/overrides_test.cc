#include "admin/operator/change_limiter.h"
#include "api_fixture.h"

namespace weir::test::overrides_test {

TEST_F(ApiTest, AnOverrideIsSetShownAndEnded) {
  const std::string path = "/v1/policies/per-ip/override";
  Reply reply = call("PUT", path, R"({"mode":"shadow","for":"10m","reason":"ticket 4711"})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  json::value body = json::parse(reply.body);
  EXPECT_EQ(body.at("overrides").at(0).at("until"), json::value("2026-11-21T00:10:00.123Z"));
  EXPECT_NE(std::string(body.at("note").as_string()).find("go on counting"), std::string::npos);
  EXPECT_EQ(get("/v1/policies/per-ip").at("overrides").at(0).at("text"), json::value("shadow"));
  EXPECT_EQ(get("/v1/status").at("overrides").as_array().size(), 1U);
  EXPECT_EQ(get("/v1/overrides").at("overrides").at(0).at("reason"), json::value("ticket 4711"));
  ASSERT_EQ(process.audited.size(), 1U);
  EXPECT_EQ(process.audited[0].action, "override.set");
  EXPECT_EQ(process.audited[0].target, "per-ip");
  EXPECT_EQ(process.audited[0].reason, "ticket 4711");
  EXPECT_TRUE(process.audited[0].before.is_null());
  EXPECT_EQ(process.audited[0].after.at(0).at("text"), json::value("shadow"));
  EXPECT_EQ(call("DELETE", path).status, 200);
  EXPECT_EQ(process.audited[1].action, "override.end");
  EXPECT_EQ(process.audited[1].before.at(0).at("reason"), json::value("ticket 4711"));
  EXPECT_EQ(get("/v1/overrides").at("overrides").as_array().size(), 0U);
  EXPECT_EQ(call("DELETE", path).status, 404);
}

TEST_F(ApiTest, EntriesOfASilencedPolicyAreSeenAndLifted) {
  const std::string path = "/v1/policies/per-ip/override", key = "198.51.100.7";
  const auto entries_of = [&](const char* name) {
    return get(std::string("/v1/lists/") + name).at("entries").as_array().size();
  };
  for (int i = 0; i < 5; ++i) process.judge("POST", "/api/login", key.c_str());
  for (int i = 0; i < 5; ++i) process.judge("POST", "/api/login", "198.51.100.8");
  ASSERT_EQ(entries_of("per-ip:deny"), 2U);
  ASSERT_EQ(call("PUT", path, R"({"mode":"shadow","for":"10m"})").status, 200);
  process.use_overrides();

  json::value why = get("/v1/why?key=" + key);
  EXPECT_EQ(why.at("listed"), json::value(false));
  EXPECT_NE(why.at("summary").as_string().find("acts on nobody until the override"),
            json::string::npos);
  const auto asleep = [&] {
    std::vector<std::string> out;
    for (const json::value& entry : why.at("entries").as_array()) {
      if (!entry.as_object().contains("asleep")) continue;
      out.emplace_back(entry.at("list").as_string());
      EXPECT_EQ(entry.at("commands").as_array().size(), 2U);
    }
    return out;
  };
  EXPECT_EQ(asleep(), (std::vector<std::string>{"per-ip:graylist", "per-ip:deny"}));
  EXPECT_EQ(entries_of("per-ip:deny"), 2U);
  EXPECT_EQ(get("/v1/lists/per-ip:deny").at("lists").at(0).at("asleep"), json::value(true));
  EXPECT_EQ(call("DELETE", "/v1/lists/per-ip:deny/entries?key=" + key).status, 200);
  EXPECT_EQ(entries_of("per-ip:deny"), 1U);

  ASSERT_EQ(call("DELETE", path).status, 200);
  process.use_overrides();
  EXPECT_EQ(entries_of("per-ip:deny"), 1U);
  why = get("/v1/why?key=198.51.100.8");
  EXPECT_EQ(why.at("listed"), json::value(true));
  EXPECT_TRUE(asleep().empty());
}

class NamedListTest : public ApiTest {
 protected:
  explicit NamedListTest(const std::string& redis = "", const std::string& share = "")
      : ApiTest("weir: 1\n" + redis + R"(
fields: {user: header.x_user_id}
events:
  login: {match: POST /api/login}
lists:
  pairs: {of: [user, ip], kind: deny}
policies:
  - {name: guess, watch: login, key: [user, ip], window: 10m)" +
                share + R"(, then: [{over: 2, do: deny, for: 1h, list: pairs}]}
  - {name: own, watch: login, key: ip, window: 10m, then: [{over: 100, do: deny, for: 1h}]}
)") {}
  void guess(int times) {
    for (int i = 0; i < times; ++i)
      process.judge("POST", "/api/login", "198.51.100.7", {{"x-user-id", "eve"}});
  }
  std::string silence(const char* policy, const char* mode = "shadow") {
    const std::string path = std::string("/v1/policies/") + policy + "/override";
    const Reply reply = call("PUT", path, R"({"mode":")" + std::string(mode) + R"(","for":"10m"})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    process.use_overrides();
    return std::string(json::parse(reply.body).at("note").as_string());
  }
  const std::string entry = "/v1/lists/pairs/entries?key=eve&key=198.51.100.7";
};

TEST_F(NamedListTest, ForgivingEmptiesTheCountOfASilencedPolicyThatListsThere) {
  guess(3);
  ASSERT_EQ(get(entry).at("listed"), json::value(true));
  silence("guess");
  json::value body = json::parse(call("DELETE", entry).body);
  ASSERT_EQ(body.at("remains").as_array().size(), 1U);
  EXPECT_EQ(body.at("remains").at(0).at("policy"), json::value("guess"));
  body = json::parse(call("DELETE", entry + "&forgive=true").body);
  EXPECT_EQ(body.at("emptied"), json::value(json::array{"guess"}));
  ASSERT_EQ(call("DELETE", "/v1/policies/guess/override").status, 200);
  process.use_overrides();
  guess(2);
  EXPECT_EQ(get(entry).at("listed"), json::value(false));
  silence("guess", "disabled");
  body = json::parse(call("DELETE", entry + "&forgive=true").body);
  EXPECT_EQ(body.at("emptied").as_array().size(), 0U);
  EXPECT_EQ(body.at("disabled"), json::value(json::array{"guess"}));
}

TEST_F(NamedListTest, SilencingSaysThatEntriesOnANamedListGoOnActing) {
  const std::string acting = "; the entries on list pairs go on acting: weir ctl list pairs";
  EXPECT_EQ(silence("guess"), "its counters go on counting" + acting);
  EXPECT_EQ(silence("guess"), "its counters go on counting" + acting) << "the same again";
  EXPECT_EQ(silence("own"),
            "its counters go on counting; the entries of its own lists act again when it ends");
  const std::string note = silence("guess", "disabled");
  EXPECT_TRUE(note.ends_with(acting)) << note;
}

class SharedNamedListTest : public NamedListTest {
 protected:
  SharedNamedListTest()
      : NamedListTest("redis: {url: 'redis://127.0.0.1:6379', secret: s}", ", share: redis") {}
};

TEST_F(SharedNamedListTest, ForgivingForASilencedPolicyIsRefusedWhileTheStoreIsAway) {
  silence("guess");
  process.store_answer.why = "it is away";
  EXPECT_EQ(call("DELETE", entry + "&forgive=true").status, 504);
}

TEST_F(ApiTest, APolicyThatIsDisabledIsShownAndSaysSo) {
  EXPECT_EQ(call("PUT", "/v1/policies/never/override", R"({"mode":"disabled","for":"1m"})").status,
            200);
  const json::value policy = get("/v1/policies/never");
  EXPECT_EQ(policy.at("name"), json::value("never"));
  EXPECT_EQ(policy.at("mode"), json::value("disabled"));
  EXPECT_EQ(policy.at("overrides").at(0).at("mode"), json::value("disabled"));
  // It has the members of any other.
  const json::value other = get("/v1/policies/per-ip");
  for (const auto& [name, value] : other.as_object())
    EXPECT_TRUE(policy.as_object().contains(name)) << name;
  EXPECT_EQ(policy.as_object().size(), other.as_object().size());
  for (const char* path : {"/v1/counters/never?key=203.0.113.9", "/v1/policies/never/readings"}) {
    const Reply reply = call("GET", path);
    EXPECT_EQ(reply.status, 404);
    EXPECT_NE(detail(reply).find("this policy is disabled"), std::string::npos) << path;
  }
  EXPECT_NE(detail(call("GET", "/v1/lists/never")).find("come back with it"), std::string::npos);
}

TEST_F(ApiTest, AThresholdThatEveryEventExceedsIsSaidToBeOne) {
  const auto note = [&](const char* set) {
    const std::string body = R"({"set":{)" + std::string(set) + R"(},"for":"1m"})";
    const Reply reply = call("PUT", "/v1/policies/per-ip/override", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return std::string(json::parse(reply.body).at("note").as_string());
  };
  EXPECT_NE(note(R"("deny.over":-1)").find("every event is above this threshold"),
            std::string::npos);
  EXPECT_EQ(note(R"("deny.over":0)").find("every event"), std::string::npos);
  EXPECT_NE(note(R"("flag.over":3)").find("it takes the place of deny.over=0"), std::string::npos);
  EXPECT_EQ(note(R"("flag.over":3)").find("takes the place"), std::string::npos)
      << "the same again";
}

class PatternApiTest : public ApiTest {
 protected:
  PatternApiTest()
      : ApiTest(R"(weir: 1
events:
  order: {match: POST /order, fields: {user: body.user}}
  pay: {match: POST /pay, fields: {user: body.user}}
policies:
  - {name: unpaid, sequence: [order, no pay], key: user, within: 1h, then: [{do: graylist, for: 1h}]}
)") {}
};

TEST_F(PatternApiTest, APatternThatIsDisabledIsSaidToDropItsOpenMatches) {
  const Reply reply =
      call("PUT", "/v1/policies/unpaid/override", R"({"mode":"disabled","for":"1m"})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::string note(json::parse(reply.body).at("note").as_string());
  EXPECT_NE(note.find("its open matches are dropped"), std::string::npos) << note;
}

TEST_F(ApiTest, AnOverrideThatIsNoneIsRefused) {
  for (const char* wrong :
       {R"({"for":"1m"})", R"({"mode":"shadow"})", R"({"mode":"quiet","for":"1m"})",
        R"({"mode":"shadow","set":{"over":1},"for":"1m"})", R"({"set":{},"for":"1m"})",
        R"({"set":{"over":"20"},"for":"1m"})", R"({"mode":"shadow","for":"32d"})",
        R"({"mode":"shadow","until":"2020-01-01"})",
        R"({"mode":"shadow","for":"1m","reason":7})"}) {
    EXPECT_EQ(call("PUT", "/v1/policies/per-ip/override", wrong).status, 400) << wrong;
  }
  EXPECT_EQ(call("PUT", "/v1/policies/nothing/override", R"({"mode":"shadow","for":"1m"})").status,
            404);
  EXPECT_EQ(call("PUT", "/v1/policies/never/override", R"({"mode":"enforce","for":"1m"})").status,
            200)
      << "one that the files have disabled";
  process.next_reload.ok = false;
  process.next_reload.problems = {{true, {}, 0, 0, "it makes no sense", {}}};
  const Reply reply =
      call("PUT", "/v1/policies/per-ip/override", R"({"set":{"over":1},"for":"1m"})");
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(detail(reply), "nothing was changed: it makes no sense");
}

TEST_F(ApiTest, TheConfigurationAndItsHistoryAreShown) {
  process.texts = {{"weir.yaml", "weir: 1\n"}};
  admin::LoadRecord record;
  record.at = process.now;
  record.cause = "SIGHUP";
  record.ok = true;
  record.diffs = {{"weir.yaml", "-a\n+b\n"}};
  process.records = {record};
  EXPECT_EQ(get("/v1/config").at("files").at(0).at("text"), json::value("weir: 1\n"));
  EXPECT_EQ(get("/v1/reloads").at("reloads").at(0).at("diffs").at(0).at("diff"),
            json::value("-a\n+b\n"));
  EXPECT_EQ(call("GET", "/v1/metrics").status, 200);
}

TEST_F(ApiTest, ChangesAreTakenNoFasterThanTheDoorSays) {
  int taken = 0;
  Reply reply;
  while ((reply = call("DELETE", "/v1/lists/gray_users/entries?key=a")).status == 200) ++taken;
  EXPECT_EQ(taken, admin::ChangeLimiter::kBurst);
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.field("Retry-After"), "1");
  EXPECT_EQ(call("GET", "/v1/status").status, 200);
  EXPECT_EQ(call("POST", "/v1/explain", R"({"url":"/"})").status, 200) << "changes nothing";
  process.now += milliseconds{1'000};
  EXPECT_EQ(call("DELETE", "/v1/lists/gray_users/entries?key=a").status, 200);
}

}  // namespace weir::test::overrides_test
