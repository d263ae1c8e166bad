#include <sys/stat.h>
#include <unistd.h>

#include "api_fixture.h"
#include "tests/support/temp_path.h"

namespace weir::test::guard_test {
namespace {

constexpr std::string_view kJson = "Content-Type: application/json\r\n";

net::SocketAddress address(const char* text, std::uint16_t port = 8481) {
  return net::SocketAddress::tcp(*Address::parse(text), port);
}

}  // namespace

TEST(AdminServer, DoesNotOpenToOthersWithoutAToken) {
  boost::asio::io_context io{1};
  FakeProcess process{kConfig};
  admin::AdminServer open(io, {address("0.0.0.0", 0), std::nullopt}, process, process.stores());
  EXPECT_EQ(open.start().error(), Error::refused);
  admin::AdminServer without(io, {address("0.0.0.0", 0), "/nonexistent/token"}, process,
                             process.stores());
  EXPECT_EQ(without.start().error(), Error::unavailable);
}

TEST(AdminServer, LetsInWhoHasTheToken) {
  const TempPath file;
  file.write("s3cret\n");
  boost::asio::io_context io{1};
  FakeProcess process{kConfig};
  admin::AdminServer door(io, {address("0.0.0.0", 0), file.path}, process, process.stores());
  ASSERT_TRUE(door.start());
  Client client(io, address("127.0.0.1", door.address().port()));
  Reply reply = client.call("GET", "/v1/status");
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.field("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(client.call("GET", "/v1/nothing").status, 401);  // not even which paths there are
  EXPECT_EQ(client.call("GET", "/v1/status", "Authorization: Bearer s3cret\r\n").status, 200);
  EXPECT_EQ(process.metrics.sum(telemetry::Metric::admin_requests), 3);
  EXPECT_EQ(process.metrics.sum(telemetry::Metric::admin_refused), 2);
  ::unlink(file.path.c_str());
  EXPECT_EQ(client.call("GET", "/v1/status", "Authorization: Bearer s3cret\r\n").status, 503);
  run(io, door.stop(milliseconds{1'000}));
}

TEST(AdminServer, UnixSocketIsForItsOwnerAlone) {
  TempPath file;
  ::unlink(file.path.c_str());
  boost::asio::io_context io{1};
  FakeProcess process{kConfig};
  const auto where = *net::SocketAddress::unix_path(file.path);
  {
    admin::AdminServer door(io, {where, std::nullopt}, process, process.stores());
    ASSERT_TRUE(door.start());
    struct stat status {};
    ASSERT_EQ(::stat(file.path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    Client client(io, where);
    EXPECT_EQ(client.call("GET", "/v1/status", "Host: anything\r\n").status, 200);
    admin::AdminServer second(io, {where, std::nullopt}, process, process.stores());
    EXPECT_FALSE(second.start());  // the socket has a listener
    run(io, door.stop(milliseconds{1'000}));
    EXPECT_NE(::stat(file.path.c_str(), &status), 0);
  }
}

TEST_F(ApiTest, ForeignHostsAndOriginsGetNothing) {
  EXPECT_EQ(client->call("GET", "/v1/status", "Host: evil.example\r\n").status, 403);
  EXPECT_EQ(client
                ->call("POST", "/v1/reload",
                       "Origin: http://evil.example\r\nContent-Type: application/json\r\n")
                .status,
            403);
  EXPECT_EQ(client->call("OPTIONS", "/v1/reload", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(process.metrics.sum(telemetry::Metric::admin_refused), 3);
}

TEST_F(ApiTest, ChangesNeedWhatAFormCannotSend) {
  const std::string path = "/v1/lists/gray_users/entries";
  const std::string_view body = R"({"key":["bob"],"for":"15m"})";
  for (const char* fields :
       {"", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: multipart/form-data; boundary=x\r\n", "X-Weir-Admin: 1\r\n",
        "Content-Type: application/json\r\nContent-Type: text/plain\r\n",
        "Content-Type: application/jsonp\r\n"}) {
    EXPECT_EQ(call("POST", path, body, fields).status, 415) << fields;
  }
  EXPECT_EQ(get("/v1/lists/gray_users").at("entries").as_array().size(), 0U);
  EXPECT_EQ(call("POST", path, body, "content-type: Application/JSON ; charset=utf-8\r\n").status,
            201);
  EXPECT_EQ(call("DELETE", path + "?key=bob", "", "").status, 415);
  EXPECT_EQ(call("DELETE", path + "?key=bob", "", "Content-Type: text/plain\r\nX-Weir-Admin: 1\r\n")
                .status,
            415);
  EXPECT_EQ(call("POST", "/v1/reload", "", "").status, 415);
  EXPECT_EQ(call("POST", "/v1/reload", "", "X-Weir-Admin: 1\r\n").status, 200);
  EXPECT_EQ(call("DELETE", path + "?key=bob", "", "X-Weir-Admin: 1\r\n").status, 200);
}

TEST_F(ApiTest, BodiesAreBounded) {
  const std::string path = "/v1/lists/gray_users/entries";
  Reply reply = client->call("POST", path, kJson, std::string(65537, ' '));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  EXPECT_TRUE(client->closed_by_peer());
  client.emplace(io, door.address());
  EXPECT_EQ(
      call("POST", path, R"({"key":["bob"],"for":"15m"})" + std::string(65536 - 28, ' ')).status,
      201);
  for (const char* text :
       {"{", "", "nul", "{\"key\":}", "{\"key\":\"\xff\"}", "{} {}", "{\"begin\":true,}"}) {
    EXPECT_EQ(call("POST", path, text).status, 400) << text;
  }
  const std::string deep = "{\"key\":" + std::string(17, '[') + std::string(17, ']') + "}";
  reply = call("POST", path, deep);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(detail(reply), "the body is nested deeper than 16 levels");
  EXPECT_EQ(call("POST", path, std::string(60'000, '[')).status, 400);
  reply = client->call("GET", "/v1/status", kJson, "{}");
  EXPECT_EQ(reply.status, 400);
}

TEST_F(ApiTest, HeadsAreBounded) {
  const Reply reply =
      client->call("GET", "/v1/status", "X-Long: " + std::string(20'000, 'x') + "\r\n");
  EXPECT_EQ(reply.status, 431);
  EXPECT_TRUE(client->closed_by_peer());
}

TEST_F(ApiTest, AnyKeyComesBackAsJson) {
  EXPECT_EQ(
      json::serialize(get("/v1/lists/gray_users/entries?key=%ff%00%22%0a%e2%82%ac").at("key")),
      "[\"\xef\xbf\xbd\\u0000\\\"\\n\xe2\x82\xac\"]");
}

}  // namespace weir::test::guard_test
