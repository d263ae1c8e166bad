#include "admin/metrics_page.h"
#include "admin/operator/peers.h"
#include "api_fixture.h"

namespace weir::test::replicas_test {
namespace {

/// Two doors in one process, each with its own policies; the first knows both addresses, and one
/// without a listener.
class Replicas : public ::testing::Test {
 protected:
  Replicas() {
    EXPECT_TRUE(second.start());
    admin::AdminSettings settings{loopback(), std::nullopt};
    settings.replicas = {at(second), "127.0.0.1:1"};
    first.emplace(io, settings, here, here.stores());
    EXPECT_TRUE(first->start());
    client.emplace(io, first->address());
  }
  ~Replicas() override {
    run(io, first->stop(milliseconds{1'000}));
    run(io, second.stop(milliseconds{1'000}));
  }
  static std::string at(const admin::AdminServer& door) {
    return "127.0.0.1:" + std::to_string(door.address().port());
  }
  json::value call(std::string_view method, const std::string& target, std::string_view body = {}) {
    const Reply reply = client->call(
        method, target, method == "GET" ? "" : "Content-Type: application/json\r\n", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const std::string path = target.substr(0, target.find('?'));
    const admin::Match match = admin::find_route(method, *net::split_path(path));
    EXPECT_EQ(OpenApi::admin().check_answer(method, match.route->pattern, reply.status,
                                            "application/json", reply.body),
              "");
    return json::parse(reply.body);
  }

  boost::asio::io_context io{1};
  FakeProcess here{kConfig}, there{kConfig};
  admin::AdminServer second{io, {loopback(), std::nullopt}, there, there.stores()};
  std::optional<admin::AdminServer> first;
  std::optional<Client> client;
};

}  // namespace

TEST_F(Replicas, AreAskedAndWhoIsBehindIsTold) {
  there.facts.config_loaded += milliseconds{5'000};
  there.facts.config_hash = "another";
  const json::value body = call("GET", "/v1/replicas");
  EXPECT_EQ(body.at("configured"), json::value(true));
  const json::array& rows = body.at("replicas").as_array();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("self"), json::value(true));
  EXPECT_EQ(rows[0].at("behind"), json::value(true));
  EXPECT_EQ(rows[1].at("address"), json::value(at(second)));
  EXPECT_EQ(rows[1].at("hash"), json::value("another"));
  EXPECT_EQ(rows[1].at("behind"), json::value(false));
  EXPECT_EQ(rows[2].at("up"), json::value(false));
  EXPECT_FALSE(rows[2].at("why").as_string().empty());
}

TEST_F(Replicas, GetAnOverrideWhereItIsWantedOnAll) {
  const std::string path = "/v1/policies/per-ip/override";
  call("PUT", path, R"({"mode":"shadow","for":"10m"})");
  EXPECT_EQ(there.overridden.size(), 0U);
  const json::value all =
      call("PUT", path + "?replicas=all", R"({"set":{"3.over":9},"for":"10m"})");
  ASSERT_EQ(there.overridden.size(), 1U);
  EXPECT_EQ(there.overridden[0].limits.at(0).limit, Number(9));
  EXPECT_TRUE(there.audited.back().done);
  EXPECT_EQ(all.at("replicas").at(0).at("ok"), json::value(true));
  EXPECT_EQ(all.at("replicas").at(1).at("ok"), json::value(false));
  // Gone on both, also where this process had none.
  here.overridden.clear();
  call("DELETE", path + "?replicas=all");
  EXPECT_TRUE(there.overridden.empty());
  EXPECT_EQ(client->call("PUT", path + "?replicas=some", "Content-Type: application/json\r\n", "{}")
                .status,
            400);
}

TEST_F(ApiTest, WithoutReplicasThereIsThisProcessAlone) {
  const json::value body = get("/v1/replicas");
  EXPECT_EQ(body.at("configured"), json::value(false));
  EXPECT_EQ(body.at("replicas").as_array().size(), 1U);
  const Reply reply =
      call("PUT", "/v1/policies/per-ip/override?replicas=all", R"({"mode":"shadow","for":"10m"})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(process.overridden.empty());
}

TEST_F(ApiTest, ReplicasOfOneRedisAreShownWithWhoIsBehind) {
  process.fleet_facts.emplace();
  admin::FleetFacts& fleet = *process.fleet_facts;
  fleet.name = "a/1";
  fleet.up = true;
  fleet.age = milliseconds{400};
  fleet.newest = "new";
  for (const char* name : {"a/1", "b/2", "c/3"}) {
    admin::ReplicaFacts row;
    row.name = name;
    row.admin = "10.0.0.1:8481";
    row.hash = name[0] == 'b' ? "new" : "old";
    row.self = name[0] == 'a';
    row.up = name[0] != 'c';
    row.behind = row.hash != "new";
    fleet.replicas.push_back(row);
  }
  const json::value body = get("/v1/replicas");
  EXPECT_EQ(body.at("redis").at("up"), json::value(true));
  const json::array& rows = body.at("replicas").as_array();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("self"), json::value(true));
  EXPECT_EQ(rows[0].at("behind"), json::value(true));
  EXPECT_EQ(rows[1].at("behind"), json::value(false));
  EXPECT_EQ(rows[2].at("up"), json::value(false));
  EXPECT_EQ(get("/v1/status").at("fleet").at("behind"), json::value(1));
  fleet.unsent = 3;
  fleet.strangers = 2;
  const std::string page = admin::metrics_page(process, process.stores());
  // The silent one has old files as well, but is not `behind`: its present files are unknown.
  for (const char* line :
       {"weir_fleet_up 1\n", "weir_fleet_replicas 3\n", "weir_fleet_replicas_silent 1\n",
        "weir_fleet_replicas_behind 1\n", "weir_fleet_behind 1\n", "weir_fleet_changes_pending 3\n",
        "weir_fleet_unsealed_total 2\n"}) {
    EXPECT_NE(page.find(line), page.npos) << line;
  }
}

TEST_F(ApiTest, WithoutRedisTheMetricsOfTheFleetAreZero) {
  const std::string page = admin::metrics_page(process, process.stores());
  for (const char* name : {"up", "age_seconds", "replicas", "replicas_silent", "replicas_behind",
                           "behind", "changes_pending", "unsealed_total"}) {
    const std::string line = "\nweir_fleet_" + std::string(name) + " 0\n";
    EXPECT_NE(page.find(line), page.npos) << line;
  }
}

struct SharedListTest : ApiTest {
  SharedListTest()
      : ApiTest(R"(weir: 1
redis: {url: "redis://127.0.0.1:6379", secret: s}
lists: {banned: {of: ip, kind: deny, share: redis}, own: {of: ip, kind: deny}}
)") {}
};

TEST_F(SharedListTest, AnEntrySaysThatItHoldsHereAloneWhileRedisIsAway) {
  process.fleet_facts.emplace();
  process.fleet_facts->why = "it is away";
  const auto note = [&](const char* method, const std::string& list) {
    const std::string path = "/v1/lists/" + list + "/entries";
    const bool adds = std::string_view(method) == "POST";
    const Reply reply = adds ? call(method, path, R"({"key":"192.0.2.1","for":"1h"})")
                             : call(method, path + "?key=192.0.2.1");
    return std::string(json::parse(reply.body).at("note").as_string());
  };
  for (const char* method : {"POST", "DELETE"}) {
    EXPECT_EQ(note(method, "banned"),
              "Redis is away (it is away): it holds here, and the other replicas get it when "
              "Redis is back");
    EXPECT_EQ(note(method, "own"), "");
  }
  process.fleet_facts->up = true;
  EXPECT_EQ(note("POST", "banned"), "");
}

TEST_F(SharedListTest, ManyEntriesAtOnceAndUndoSayItAsWell) {
  process.fleet_facts.emplace();
  process.fleet_facts->why = "it is away";
  const auto answer = [&](const char* method, const std::string& path, const char* body = "") {
    return json::parse(call(method, path, body).body);
  };
  const auto noted = [](const json::value& reply) {
    return std::string(reply.at("note").as_string()).starts_with("Redis is away (it is away): ");
  };
  const char* const entries = R"({"entries":[{"key":"192.0.2.1","for":"1h"}]})";
  const char* const dry = R"({"entries":[{"key":"192.0.2.1","for":"1h"}],"dry_run":true})";
  for (const bool shared : {true, false}) {
    const std::string list = std::string("/v1/lists/") + (shared ? "banned" : "own");
    EXPECT_FALSE(noted(answer("POST", list + "/import", dry))) << "nothing has changed";
    const json::value imported = answer("POST", list + "/import", entries);
    EXPECT_EQ(noted(imported), shared);
    EXPECT_FALSE(noted(answer("DELETE", list + "?dry_run=true"))) << "nothing has changed";
    const json::value cleared = answer("DELETE", list);
    EXPECT_EQ(noted(cleared), shared);
    const std::string token(cleared.at("undo").as_string());
    const json::value undone = answer("POST", "/v1/changes/" + token + "/undo");
    EXPECT_EQ(undone.at("restored"), json::value(1));
    EXPECT_EQ(noted(undone), shared);
  }
  process.fleet_facts->up = true;
  EXPECT_FALSE(noted(answer("POST", "/v1/lists/banned/import", entries)));
}

TEST_F(ApiTest, AnOverrideSaysWhereItHolds) {
  process.fleet_facts.emplace();
  process.fleet_facts->up = true;
  process.fleet_facts->replicas.resize(2);
  process.fleet_facts->replicas[0].self = process.fleet_facts->replicas[0].up = true;
  process.fleet_facts->replicas[1].up = true;
  const std::string path = "/v1/policies/per-ip/override";
  const auto note = [](const Reply& reply) {
    return std::string(json::parse(reply.body).at("note").as_string());
  };
  Reply reply = call("PUT", path, R"({"mode":"shadow","for":"10m"})");
  EXPECT_NE(note(reply).find("on 1 other replica within"), std::string::npos) << reply.body;
  EXPECT_FALSE(process.overridden.back().here);
  EXPECT_TRUE(process.audited.back().shared);
  reply = call("PUT", path + "?replicas=here", R"({"mode":"shadow","for":"10m"})");
  EXPECT_NE(note(reply).find("on this replica alone"), std::string::npos);
  EXPECT_TRUE(process.overridden.back().here);
  EXPECT_FALSE(process.audited.back().shared);
  EXPECT_EQ(get("/v1/overrides").at("overrides").at(1).at("scope"), json::value("here"));
  EXPECT_EQ(call("DELETE", path + "?replicas=here").status, 200);
  EXPECT_EQ(call("DELETE", path + "?replicas=here").status, 409) << "one of all is left";
  process.fleet_facts->up = false;
  reply = call("PUT", path + "?replicas=all", R"({"mode":"shadow","for":"10m"})");
  EXPECT_NE(note(reply).find("when Redis is back"), std::string::npos);
}

TEST(Peers, ReadHostsAndPorts) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(admin::split_replica("weir.shop.svc"), (Pair{"weir.shop.svc", "8481"}));
  EXPECT_EQ(admin::split_replica("10.0.0.7:9000"), (Pair{"10.0.0.7", "9000"}));
  EXPECT_EQ(admin::split_replica("[fd00::7]:9000"), (Pair{"fd00::7", "9000"}));
  EXPECT_EQ(admin::split_replica("fd00::7"), (Pair{"fd00::7", "8481"}));
}

}  // namespace weir::test::replicas_test
