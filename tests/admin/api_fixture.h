#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "admin/routes.h"
#include "fake_process.h"
#include "net/http/uri.h"
#include "tests/support/open_api.h"

namespace weir::test {

namespace json = boost::json;

inline constexpr std::string_view kConfig = R"(weir: 1
events:
  login:
    match: POST /api/login
    fields: {user: body.username, device: header.x_device_id}
  login_failed: {is: login, when: 'status in [401, 403]'}
lists:
  office: {of: ip, kind: allow, entries: [10.0.0.0/8, {key: 203.0.113.0/24, until: 2027-01-01, why: partner}]}
  gray_users: {of: user, kind: gray, max: 3}
tables:
  by_device:
    by: [device]
    values: {tv: 3, "*": 9}
policies:
  - name: per-ip
    watch: login
    key: ip
    window: 10m
    then:
      - {over: 2, do: flag}
      - {over: 3, do: graylist, for: 15m}
      - {over: 4, do: deny, for: 1h}
  - name: per-user-device
    watch: login
    when: 'header.x_app != "probe"'
    key: [user, device]
    window: {last: 1h, exact: true}
    then:
      - {over: 5, do: flag}
      - {at: by_device, in: 2h, do: flag}
  - name: everyone
    watch: request
    window: {every: 1h}
    mode: shadow
    then: [{over: 1000000, do: flag}]
  - name: never
    watch: login
    key: ip
    window: 1m
    mode: disabled
    then: [{over: 1, do: flag}]
views:
  - {name: hot-pages, watch: request, by: path, window: {last: 10m, hop: 5m}, top: 2}
  - {name: visitors, watch: request, metric: distinct(ip), window: {calendar: day}}
)";

inline net::SocketAddress loopback() { return net::SocketAddress::tcp(Address::loopback(), 0); }

/// The answer of a route is as docs/openapi.yaml describes it.
inline void expect_described(std::string_view method, std::string_view target, const Reply& reply) {
  const auto segments = net::split_path(target.substr(0, target.find('?')));
  if (!segments) return;
  const admin::Match match = admin::find_route(method, *segments);
  if (match.route == nullptr) return;
  EXPECT_EQ(OpenApi::admin().check_answer(method, match.route->pattern, reply.status,
                                          reply.field("Content-Type"), reply.body),
            "")
      << method << " " << target << "\n"
      << reply.body;
}

/// An admin door on 127.0.0.1, a process behind it, and a client.
class ApiTest : public ::testing::Test {
 protected:
  explicit ApiTest(std::string_view config = kConfig) : process(config) {
    EXPECT_TRUE(door.start());
    client.emplace(io, door.address());
  }
  ~ApiTest() override { run(io, door.stop(milliseconds{1'000})); }

  /// One call; every answer that a route gives is held against docs/openapi.yaml.
  Reply call(std::string_view method, std::string_view target, std::string_view body = {},
             std::string_view fields = "Content-Type: application/json\r\n") {
    Reply reply = client->call(method, target, method == "GET" ? "" : fields, body);
    check(method, target, reply);
    return reply;
  }

  void check(std::string_view method, std::string_view target, const Reply& reply) {
    EXPECT_EQ(reply.field("Cache-Control"), "no-store") << target;
    EXPECT_TRUE(reply.field("Access-Control-Allow-Origin").empty());
    expect_described(method, target, reply);
  }

  json::value get(std::string_view target) {
    const Reply reply = call("GET", target);
    EXPECT_EQ(reply.status, 200) << target << reply.body;
    return json::parse(reply.body);
  }

  static std::string detail(const Reply& reply) {
    boost::system::error_code error;
    const json::value body = json::parse(reply.body, error);
    if (error || !body.is_object() || !body.as_object().contains("detail"))
      return "none: " + reply.body;
    return std::string(body.at("detail").as_string());
  }

  boost::asio::io_context io{1};
  FakeProcess process;
  admin::AdminServer door{io, {loopback(), std::nullopt}, process, process.stores()};
  std::optional<Client> client;
};

}  // namespace weir::test
