#include "admin/audit.h"

#include "api_fixture.h"

namespace weir::test::audit_test {

class AuditRouteTest : public ApiTest {
 protected:
  const admin::AuditEntry& told() {
    EXPECT_FALSE(process.audited.empty());
    static const admin::AuditEntry kNone;
    return process.audited.empty() ? kNone : process.audited.back();
  }
  static std::string text(const json::value& value) { return json::serialize(value); }
};

TEST_F(AuditRouteTest, AChangeIsToldWithWhatWasBeforeAndAfter) {
  const std::string add = R"({"key":"anna","for":"1h","why":"chargeback"})";
  ASSERT_EQ(call("POST", "/v1/lists/gray_users/entries?reason=ticket%207", add).status, 201);
  EXPECT_EQ(told().action, "list.add");
  EXPECT_EQ(told().target, "gray_users");
  EXPECT_EQ(told().key, std::vector<std::string>{"anna"});
  EXPECT_EQ(told().reason, "ticket 7");
  EXPECT_EQ(told().who, "127.0.0.1");
  EXPECT_EQ(told().from, "127.0.0.1");
  EXPECT_TRUE(told().done);
  EXPECT_TRUE(told().before.is_null());
  EXPECT_NE(text(told().after).find("\"result\":\"created\""), std::string::npos);

  ASSERT_EQ(call("POST", "/v1/lists/gray_users/entries", add).status, 200);
  EXPECT_EQ(told().reason, "chargeback") << "an entry's why is a reason, too";
  EXPECT_NE(text(told().before).find("\"key\":[\"anna\"]"), std::string::npos);

  ASSERT_EQ(call("DELETE", "/v1/lists/gray_users/entries?key=anna&reason=sorry").status, 200);
  EXPECT_EQ(told().action, "list.remove");
  EXPECT_EQ(told().key, std::vector<std::string>{"anna"});
  EXPECT_EQ(text(told().before.at(0).at("key")), "[\"anna\"]");
  EXPECT_EQ(text(told().after), "{\"removed\":1,\"emptied\":[]}");

  ASSERT_EQ(call("DELETE", "/v1/counters/per-ip?key=203.0.113.9").status, 200);
  EXPECT_EQ(told().action, "counter.reset");
  EXPECT_NE(text(told().before).find("\"value\":0"), std::string::npos);
}

TEST_F(AuditRouteTest, ManyKeysAreOneChange) {
  const std::string rows = R"({"entries":[{"key":"anna","for":"1h"},{"key":"ben","for":"1h"}]})";
  ASSERT_EQ(call("POST", "/v1/lists/gray_users/import?reason=ticket%208", rows).status, 200);
  EXPECT_EQ(told().action, "list.import");
  EXPECT_EQ(told().reason, "ticket 8");
  EXPECT_EQ(text(told().after.at("created")), "2");
  const std::size_t so_far = process.audited.size();
  ASSERT_EQ(call("DELETE", "/v1/lists/gray_users?dry_run=true").status, 200);
  EXPECT_EQ(process.audited.size(), so_far) << "a dry run changes nothing";
  ASSERT_EQ(call("DELETE", "/v1/lists/gray_users").status, 200);
  EXPECT_EQ(told().action, "list.clear");
  EXPECT_EQ(text(told().after), "{\"removed\":2}");
  EXPECT_EQ(text(told().before.at("entries")), "2");
  const json::value changes = get("/v1/changes");
  const std::string token(changes.at("changes").at(0).at("undo").as_string());
  ASSERT_EQ(call("POST", "/v1/changes/" + token + "/undo").status, 200);
  EXPECT_EQ(told().action, "list.undo");
  EXPECT_EQ(told().target, token);
  EXPECT_EQ(text(told().after.at("restored")), "2");
}

TEST_F(AuditRouteTest, WhatIsRefusedIsToldToo) {
  EXPECT_EQ(call("DELETE", "/v1/lists/none/entries?key=a").status, 404);
  EXPECT_FALSE(told().done);
  EXPECT_NE(told().problem.find("neither a list nor a policy"), std::string::npos)
      << told().problem;
}

TEST_F(AuditRouteTest, LookingChangesNothing) {
  for (const char* path :
       {"/v1/status", "/v1/lists/gray_users", "/v1/audit", "/v1/counters/per-ip?key=10.1.1.1"})
    EXPECT_EQ(call("GET", path).status, 200) << path;
  call("POST", "/v1/explain", R"({"method":"GET","path":"/"})");
  EXPECT_TRUE(process.audited.empty());
}

TEST_F(AuditRouteTest, TheLastOnesCanBeRead) {
  admin::AuditEntry entry;
  entry.action = "reload";
  entry.who = "files";
  entry.from = "weir itself";
  entry.number = 4;
  entry.done = false;
  entry.problem = "a problem";
  process.audited = {entry};
  const Reply reply = call("GET", "/v1/audit?limit=7");
  EXPECT_EQ(process.asked_audit, 7U);
  EXPECT_EQ(
      reply.body,
      R"({"lost":3,"entries":[{"time":"1970-01-01T00:00:00.000Z","number":4,"action":"reload",)"
      R"("done":false,"who":"files","from":"weir itself","problem":"a problem"}]})"
      "\n");
  for (const char* path :
       {"/v1/audit?limit=0", "/v1/audit?limit=x", "/v1/audit?limit=", "/v1/audit?all=1"})
    EXPECT_EQ(call("GET", path).status, 400) << path;
}

TEST_F(AuditRouteTest, EveryRouteThatChangesSomethingHasAName) {
  for (const admin::Route& route : admin::routes()) {
    const bool changes = route.method != "GET" && route.pattern != "/v1/explain";
    EXPECT_EQ(changes, !route.change.empty()) << route.method << " " << route.pattern;
  }
}

}  // namespace weir::test::audit_test
