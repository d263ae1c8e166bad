
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "admin/dashboard/live.h"
#include "admin/dashboard/sessions.h"
#include "api_fixture.h"
#include "tests/support/temp_path.h"

namespace weir::test::dashboard_test {
namespace {

constexpr std::string_view kJson = "Content-Type: application/json\r\n";

/// A door with a token, as behind a Service.
class TokenDoor : public ::testing::Test {
 protected:
  TokenDoor() {
    file.write("s3cret\n");
    door.emplace(io, admin::AdminSettings{loopback(), file.path}, process, process.stores());
    EXPECT_TRUE(door->start());
    client.emplace(io, door->address());
  }
  ~TokenDoor() override { run(io, door->stop(milliseconds{1'000})); }

  /// One call; the answer is held against docs/openapi.yaml.
  Reply call(std::string_view method, std::string_view target, std::string_view fields = "",
             std::string_view body = "") {
    Reply reply = client->call(method, target, fields, body);
    expect_described(method, target, reply);
    return reply;
  }
  json::value link(std::string_view query = "") {
    const Reply reply = call("POST", "/v1/session/link" + std::string(query),
                             "Authorization: Bearer s3cret\r\nContent-Type: application/json\r\n");
    EXPECT_EQ(reply.status, 201) << reply.body;
    return json::parse(reply.body);
  }
  Reply exchange(const std::string& code, std::string_view host = "weir:8481") {
    return call("POST", "/v1/session", "Host: " + std::string(host) + "\r\n" + std::string(kJson),
                R"({"code":")" + code + "\"}");
  }
  /// `Cookie: NAME=VALUE` of a session.
  std::string log_in(std::string_view query = "") {
    const Reply reply = exchange(std::string(link(query).at("code").as_string()));
    EXPECT_EQ(reply.status, 200) << reply.body;
    const std::string cookie = reply.field("Set-Cookie");
    return "Cookie: theme=dark; " + cookie.substr(0, cookie.find(';')) + "\r\n";
  }

  TempPath file;
  boost::asio::io_context io{1};
  FakeProcess process{kConfig};
  std::optional<admin::AdminServer> door;
  std::optional<Client> client;
};

std::string next_piece(boost::asio::io_context& io, const net::HttpReply& reply) {
  std::string out;
  run(io, [](const net::HttpReply& from, std::string& to) -> boost::asio::awaitable<void> {
    const net::HttpReply::Piece piece = co_await from.next();
    to = piece == nullptr ? "" : *piece;
  }(reply, out));
  return out;
}

json::value data_of(std::string_view event) {
  const std::size_t at = event.find("data: ");
  return json::parse(event.substr(at + 6, event.find("\n\n", at) - at - 6));
}

}  // namespace

TEST_F(TokenDoor, ShowsThePageToEverybodyAndTellsNothingElse) {
  const Reply page = client->call("GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("Content-Type"), "text/html; charset=utf-8");
  const std::string policy = page.field("Content-Security-Policy");
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.field("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(client->call("GET", "/v1/status").status, 401);
  EXPECT_EQ(client->call("GET", "/v1/session").status, 401);
  EXPECT_EQ(client->call("POST", "/", kJson, "{}").status, 401);
  EXPECT_EQ(client->call("GET", "/style.cs").status, 401);
}

TEST_F(TokenDoor, ALinkWorksOnce) {
  const json::value made = link();
  const std::string code(made.at("code").as_string());
  EXPECT_EQ(made.at("path"), json::value("/#login=" + code));
  EXPECT_EQ(made.at("seconds"), json::value(60));
  const Reply first = exchange(code);
  EXPECT_EQ(first.status, 200);
  const std::string cookie = first.field("Set-Cookie");
  EXPECT_NE(cookie.find("weir_session_8481="), std::string::npos);
  EXPECT_NE(cookie.find("; HttpOnly; SameSite=Strict"), std::string::npos);
  EXPECT_EQ(exchange(code).status, 403);
  EXPECT_EQ(exchange("0123456789abcdef0123456789abcdef").status, 403);
  EXPECT_EQ(client->call("POST", "/v1/session", kJson, R"({"code":5})").status, 400);
  const std::string late(link().at("code").as_string());
  process.now += milliseconds{60'001};
  EXPECT_EQ(exchange(late).status, 403);
}

TEST_F(TokenDoor, ASessionReadsAndChangesUnderItsHostOnly) {
  const std::string cookie = log_in();
  const auto get = [&](std::string_view host, std::string_view more = "") {
    return client
        ->call("GET", "/v1/session",
               "Host: " + std::string(host) + "\r\n" + cookie + std::string(more))
        .status;
  };
  EXPECT_EQ(get("weir:8481"), 200);
  EXPECT_EQ(get("other:8481"), 401);
  EXPECT_EQ(get("weir:8482"), 401);
  EXPECT_EQ(get("weir:8481", "Sec-Fetch-Site: cross-site\r\n"), 403);
  EXPECT_EQ(get("weir:8481", "Origin: http://evil.example\r\n"), 403);
  EXPECT_EQ(get("weir:8481", "Authorization: Bearer wrong\r\n"), 401);

  const auto add = [&](std::string_view origin) {
    return client
        ->call("POST", "/v1/lists/gray_users/entries",
               "Host: weir:8481\r\n" + cookie + std::string(kJson) + std::string(origin),
               R"({"key":"anna","for":"1h"})")
        .status;
  };
  EXPECT_EQ(add(""), 403);
  EXPECT_EQ(add("Origin: null\r\n"), 403);
  EXPECT_EQ(add("Origin: http://weir:8481\r\n"), 201);
  ASSERT_FALSE(process.audited.empty());
  EXPECT_EQ(process.audited.back().action, "list.add");
  EXPECT_EQ(process.audited.back().who, "session");
  // A session makes no links: access for an hour cannot be prolonged.
  EXPECT_EQ(
      client
          ->call("POST", "/v1/session/link",
                 "Host: weir:8481\r\nOrigin: http://weir:8481\r\n" + cookie + std::string(kJson))
          .status,
      403);
}

TEST_F(TokenDoor, ASessionOfSomebodyActsUnderThatNameAlone) {
  config::TableDef table;
  table.name.value = "limits";
  table.by.push_back({"shop", {}});
  table.values.children.push_back({{"*", {}}, {}});
  table.values.children[0].node.limit = Number(5);
  process.tables_.push_back({table, {}, {}, {}, true});
  process.table_answer.status = 200;
  const std::string fields = "Host: weir:8481\r\nOrigin: http://weir:8481\r\n" +
                             std::string(kJson) + log_in("?as=ann%20b");
  EXPECT_EQ(process.audited.back().who, "session of ann b");
  EXPECT_EQ(json::parse(call("GET", "/v1/session", fields).body).at("as"), json::value("ann b"));
  const auto approve = [&](const char* body, const std::string& by) {
    process.wishes.clear();
    const int status = call("POST", "/v1/tables/limits/approve", by, body).status;
    return std::to_string(status) + " " +
           (process.wishes.empty() ? std::string("nobody") : process.wishes.back().by);
  };
  EXPECT_EQ(approve(R"({"by":"bob"})", fields), "403 nobody");
  EXPECT_EQ(process.audited.back().who, "session of ann b");
  EXPECT_EQ(approve(R"({"by":"ann b"})", fields), "200 ann b");
  EXPECT_EQ(approve("{}", fields), "200 ann b");
  const std::string unnamed =
      "Host: weir:8481\r\nOrigin: http://weir:8481\r\n" + std::string(kJson) + log_in();
  EXPECT_EQ(approve(R"({"by":"bob"})", unnamed), "200 bob");
  EXPECT_EQ(process.audited.back().who, "session");
  EXPECT_TRUE(json::parse(call("GET", "/v1/session", unnamed).body).at("as").is_null());
  for (const char* const name : {"", "%20ann", "a%0Ab", "a%E2%80%AEb"}) {
    EXPECT_EQ(call("POST", "/v1/session/link?as=" + std::string(name),
                   "Authorization: Bearer s3cret\r\n" + std::string(kJson))
                  .status,
              400)
        << name;
  }
}

TEST_F(ApiTest, WithoutATokenThereIsNoSessionToName) {
  EXPECT_EQ(call("POST", "/v1/session/link?as=ann").status, 409);
  EXPECT_EQ(call("POST", "/v1/session/link").status, 201);
}

TEST_F(TokenDoor, ASessionEndsByItselfByTheUserAndByANewToken) {
  const auto status = [&](const std::string& cookie) {
    return client->call("GET", "/v1/session", "Host: weir:8481\r\n" + cookie).status;
  };
  const std::string left = log_in();
  EXPECT_EQ(
      client
          ->call("DELETE", "/v1/session",
                 "Host: weir:8481\r\nOrigin: http://weir:8481\r\n" + left + std::string(kJson))
          .status,
      200);
  EXPECT_EQ(status(left), 401);
  const std::string old = log_in();
  process.now += admin::Sessions::kSessionFor;
  EXPECT_EQ(status(old), 401);
  const std::string rotated = log_in();
  EXPECT_EQ(status(rotated), 200);
  file.write("another secret\n");
  EXPECT_EQ(status(rotated), 401);
}

TEST_F(TokenDoor, ALinkFromAnotherSiteOpensThePageButNoFrameDoes) {
  constexpr std::string_view kLink =
      "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: ";
  EXPECT_EQ(client->call("GET", "/", std::string(kLink) + "document\r\n").status, 200);
  EXPECT_EQ(client->call("GET", "/", std::string(kLink) + "iframe\r\n").status, 403);
}

TEST(Sessions, AreBoundedAndTheOldestGoes) {
  admin::Sessions sessions;
  const Hash128 token{1, 2};
  const TimePoint now = from_ms(1'795'219'200'000);
  std::vector<std::string> codes;
  for (std::size_t i = 0; i <= admin::Sessions::kLinksMax; ++i)
    codes.push_back(sessions.new_code(token, "", now));
  EXPECT_FALSE(sessions.exchange(codes.front(), "h", token, now));
  EXPECT_TRUE(sessions.exchange(codes.back(), "h", token, now));
  EXPECT_FALSE(sessions.exchange(codes[1], "h", Hash128{9, 9}, now));
}

TEST_F(ApiTest, WithoutATokenTheLinkIsThePageItself) {
  const Reply reply = call("POST", "/v1/session/link");
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(json::parse(reply.body).at("path"), json::value("/"));
  EXPECT_EQ(get("/v1/session").at("by"), json::value("local"));
  EXPECT_EQ(call("POST", "/v1/session", R"({"code":"x"})").status, 200);
  EXPECT_EQ(client->call("GET", "/", "Host: rebound.example\r\n").status, 403);
}

TEST_F(ApiTest, ThePageIsSmallAndPackedForWhoTakesThat) {
  std::size_t packed = 0;
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(WEIR_SOURCE_DIR "/admin/dashboard/page")) {
    const std::string name = entry.path().filename();
    std::ostringstream read;
    read << std::ifstream(entry.path()).rdbuf();
    const std::string text = read.str();
    ++files;
    const std::string path = name == "index.html" ? "/" : "/" + name;
    const Reply plain = client->call("GET", path);
    EXPECT_EQ(plain.status, 200) << path;
    EXPECT_EQ(plain.body, text) << path;
    EXPECT_FALSE(plain.field("Content-Type").empty()) << path;
    const Reply small = client->call("GET", path, "Accept-Encoding: gzip, br\r\n");
    EXPECT_EQ(small.field("Content-Encoding"), "gzip") << path;
    packed += small.body.size();
    EXPECT_EQ(client->call("HEAD", path).field("Content-Length"), std::to_string(text.size()));
    // Nothing inline, nothing from elsewhere.
    EXPECT_EQ(text.find("eval("), std::string::npos) << path;
    EXPECT_EQ(text.find("innerHTML"), std::string::npos) << path;
    EXPECT_EQ(text.find("https://"), std::string::npos) << path;
  }
  EXPECT_GE(files, 4);
  EXPECT_LT(packed, std::size_t{120} << 10);
  // The page about it tells people how large it is.
  std::ostringstream read;
  read << std::ifstream(WEIR_SOURCE_DIR "/docs/dashboard.md").rdbuf();
  const std::string page = read.str();
  std::smatch told;
  ASSERT_TRUE(std::regex_search(page, told, std::regex("(\\d+) KB in all when packed")));
  EXPECT_NEAR(static_cast<double>(packed) / 1024, std::stod(told[1]), 2);
}

TEST_F(ApiTest, TheLiveFeedTellsEverybodyTheSameSecond) {
  admin::Live& live = door.live();
  live.tick();
  for (int i = 0; i < 5; ++i) process.judge("POST", "/api/login", "198.51.100.7");
  process.metrics.cells(0).add(telemetry::Metric::requests_2xx, 5);
  process.now += milliseconds{1'000};
  live.tick();
  const net::HttpReply one = live.subscribe();
  const net::HttpReply two = live.subscribe();
  EXPECT_EQ(one.content_type, "text/event-stream");
  ASSERT_NE(one.body.find("event: past\n"), std::string::npos);
  const json::value past = data_of(one.body);
  EXPECT_EQ(past.at("columns").at(1), json::value("requests"));
  const json::array& seconds = past.at("seconds").as_array();
  EXPECT_EQ(seconds.back().at(1), json::value(5));
  EXPECT_EQ(past.at("lists").at("per-ip:deny"), json::value(1));

  process.verdict_page.next = 50;
  process.verdict_page.rows.resize(50);
  process.judge("POST", "/api/login", "198.51.100.7");
  live.tick();
  const std::string piece = next_piece(io, one);
  EXPECT_EQ(piece, next_piece(io, two));
  const json::value data = data_of(piece);
  EXPECT_EQ(data.at("verdicts").at("deny"), json::value(1));
  EXPECT_EQ(data.at("policies").at(0).at("verdicts").at("deny"), json::value(1));
  EXPECT_EQ(data.at("rows").as_array().size(), admin::Live::kRowsMax);
  EXPECT_EQ(data.at("missed"), json::value(10));
  EXPECT_EQ(data.at("config"), json::value(process.set->source_hash));
}

TEST_F(ApiTest, TheLiveFeedHasSixteenReadersAndEndsWithTheDoor) {
  admin::Live& live = door.live();
  std::vector<net::HttpReply> readers;
  for (std::size_t i = 0; i < admin::Live::kReadersMax; ++i) readers.push_back(live.subscribe());
  EXPECT_EQ(call("GET", "/v1/live").status, 503);
  readers.pop_back();
  EXPECT_EQ(live.readers(), 15U);
  readers.push_back(live.subscribe());
  EXPECT_EQ(readers.back().status, 200);
  live.stop();
  EXPECT_EQ(next_piece(io, readers.front()), "");
  readers.clear();
  EXPECT_EQ(live.readers(), 0U);
}

}  // namespace weir::test::dashboard_test
