#include "authz/asked.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::authz::asked_test {
namespace {

const ClientRules kRules({}, "x-forwarded-for", 0);

/// The request that a door reads from the bytes of a check.
struct Read {
  explicit Read(const Door& door, std::string text) : bytes(std::move(text)) {
    net::HeadProgress progress;
    EXPECT_EQ(net::parse_request_head(bytes, {}, progress, head), net::HeadStatus::complete)
        << bytes;
    asked = to_request(head, door, kRules, {}, *Address::parse("127.0.0.1"), TimePoint{}, room,
                       request);
  }
  std::string bytes;
  net::RequestHead head;
  AskedRoom room;
  Request request;
  Asked asked;
};

Door forward_auth(std::string_view name) {
  return {find_caller(name), "/forward_auth/" + std::string(name), {}};
}
const Door kEnvoy{&ext_authz_caller(), "/ext_authz", {}};

TEST(Asked, EnvoysCheckIsTheRequestBehindThePrefix) {
  const Read read(kEnvoy,
                  "POST /ext_authz/api//l%6fgin?a=1 HTTP/1.1\r\nHost: Shop.example:80\r\n"
                  "X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\nX-Forwarded-Proto: https\r\n\r\n");
  EXPECT_EQ(read.asked.trouble, "");
  EXPECT_EQ(read.request.method, "POST");
  EXPECT_EQ(read.request.target, "/api//login?a=1");
  EXPECT_EQ(read.request.path, "/api/login");
  EXPECT_EQ(read.request.query, "a=1");
  EXPECT_EQ(read.request.host, "shop.example");
  EXPECT_EQ(read.request.scheme, "https");
  EXPECT_EQ(read.request.client.to_string(), "1.2.3.4");
  EXPECT_FALSE(read.asked.client_unknown);
  EXPECT_EQ(read.request.body_state, BodyState::not_read);
}

TEST(Asked, SaysWhetherAPathCanBeReadInDifferentWays) {
  const auto read = [](const std::string& path) {
    const Read seen(kEnvoy, "GET /ext_authz" + path + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return !seen.asked.trouble.empty()       ? "refused"
           : seen.room.target.is_ambiguous() ? "ambiguous"
           : seen.room.target.is_plain()     ? "plain"
                                             : "folded";
  };
  EXPECT_STREQ(read("/a/b"), "plain");
  EXPECT_STREQ(read("/a;x=1/b"), "folded");
  EXPECT_STREQ(read("/a%2fb"), "ambiguous");
  EXPECT_STREQ(read("/a%00"), "refused");
  EXPECT_STREQ(read("/%zz"), "refused");
}

// `path_override`, or CONNECT: a policy about a path would judge another one.
TEST(Asked, ACheckWithoutAPathIsNotOneOfTheRoot) {
  for (const char* target : {"/ext_authz", "/ext_authz?a=1"}) {
    const Read read(kEnvoy, "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_NE(read.asked.trouble, "") << target;
  }
  const Read bare(kEnvoy, "GET /ext_authz HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(bare.asked.trouble.find("path_prefix"), std::string_view::npos);
}

TEST(Asked, WithoutAWordAboutTheClientItIsTheCaller) {
  const Read read(kEnvoy, "GET /ext_authz/ HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(read.asked.client_unknown);
  EXPECT_EQ(read.request.client.to_string(), "127.0.0.1");
}

// A client can send the fields of all the other proxies.
TEST(Asked, EachDoorReadsTheFieldsOfItsOwnProxyAlone) {
  const std::string lies_original = "X-Original-URI: /free\r\nX-Original-Method: GET\r\n";
  const std::string lies_forwarded = "X-Forwarded-Uri: /free\r\nX-Forwarded-Method: GET\r\n";
  const auto check = [](std::string_view name, const std::string& fields) {
    return "GET /forward_auth/" + std::string(name) + " HTTP/1.1\r\nHost: shop.example\r\n" +
           fields + "\r\n";
  };
  for (const char* name : {"nginx", "haproxy"}) {
    const std::string own = "X-Original-URI: /login?a\r\nX-Original-Method: POST\r\n";
    for (const std::string& fields : {lies_forwarded + own, own + lies_forwarded}) {
      const Read read(forward_auth(name), check(name, fields));
      EXPECT_EQ(read.asked.trouble, "") << name;
      EXPECT_EQ(read.request.method, "POST") << name;
      EXPECT_EQ(read.request.path, "/login") << name;
      EXPECT_EQ(read.request.host, "shop.example") << name;
    }
  }
  for (const char* name : {"traefik", "caddy"}) {
    const std::string own =
        "X-Forwarded-Uri: /login?a\r\nX-Forwarded-Method: POST\r\nX-Forwarded-Host: "
        "Other.example:81\r\n";
    for (const std::string& fields : {lies_original + own, own + lies_original}) {
      const Read read(forward_auth(name), check(name, fields));
      EXPECT_EQ(read.asked.trouble, "") << name;
      EXPECT_EQ(read.request.method, "POST") << name;
      EXPECT_EQ(read.request.path, "/login") << name;
      EXPECT_EQ(read.request.query, "a") << name;
      EXPECT_EQ(read.request.host, "other.example") << name;
    }
  }
}

TEST(Asked, AFieldOfTheProxyThatIsMissingOrGivenTwiceIsRefused) {
  for (const char* fields : {
           "X-Original-URI: /a\r\n",
           "X-Original-Method: GET\r\n",
           "X-Original-Method: GET\r\nX-Original-URI: /a\r\nX-Original-URI: /b\r\n",
           "X-Original-Method: GET\r\nX-Original-Method: POST\r\nX-Original-URI: /a\r\n",
           "X-Original-Method: G(T\r\nX-Original-URI: /a\r\n",
           "X-Original-Method: GET\r\nX-Original-URI: a\r\n",
           "X-Original-Method: GET\r\nX-Original-URI: /a b\r\n",
           "X-Original-Method: GET\r\nX-Original-URI: /a#b\r\n",
           "X-Original-Method: GET\r\nX-Original-URI: http://shop.example?a\r\n",
       }) {
    const Read read(forward_auth("nginx"),
                    "GET /forward_auth/nginx HTTP/1.0\r\n" + std::string(fields) + "\r\n");
    EXPECT_NE(read.asked.trouble, "") << fields;
  }
}

TEST(Asked, ATargetInAbsoluteFormIsItsPath) {
  const Read read(forward_auth("haproxy"),
                  "HEAD /forward_auth/haproxy HTTP/1.1\r\nHost: weir\r\nX-Original-Method: GET\r\n"
                  "X-Original-URI: HTTP://shop.example:80/a/../login?b\r\n\r\n");
  EXPECT_EQ(read.asked.trouble, "");
  EXPECT_EQ(read.request.target, "/login?b");
  EXPECT_EQ(read.request.path, "/login");
}

TEST(Asked, HostsWithoutPortInLowerCase) {
  std::array<char, net::kHostMax> room;
  Request out;
  const auto host_of = [&](std::string_view authority) {
    return read_host(authority, room, out).empty() ? std::string(out.host) : "wrong";
  };
  EXPECT_EQ(host_of("A.Example:80"), "a.example");
  EXPECT_EQ(host_of("a.example."), "a.example");
  EXPECT_EQ(host_of("[::1]:80"), "[::1]");
  EXPECT_EQ(host_of("a.example:"), "a.example");
  EXPECT_EQ(host_of("[::1]:"), "[::1]");
  EXPECT_EQ(host_of(""), "");
  EXPECT_EQ(out.host.data(), nullptr);
  // A host that the proxy refuses is not read as another: `a..` would pass a policy for `a`.
  for (const char* wrong :
       {"[::1", "a.example..", "a..b", "a:99999", "a::", ":", "a b", "a,b", ".a"})
    EXPECT_EQ(host_of(wrong), "wrong") << wrong;
  EXPECT_EQ(host_of(std::string(net::kHostMax + 1, 'a')), "wrong");
}

TEST(Asked, AHostThatTheProxyRefusesIsRefused) {
  const Read read(forward_auth("caddy"),
                  "GET /forward_auth/caddy HTTP/1.1\r\nHost: weir\r\nX-Forwarded-Method: GET\r\n"
                  "X-Forwarded-Uri: /a\r\nX-Forwarded-Host: shop.example..\r\n\r\n");
  EXPECT_EQ(read.asked.trouble, "the host of the request is neither HOST nor HOST:PORT");
}

TEST(Doors, AreFoundByTheirPathAlone) {
  const std::vector<Door> doors = {kEnvoy, forward_auth("nginx")};
  const auto name = [&](std::string_view target) {
    const Door* const door = find_door(doors, target);
    return door == nullptr ? "none" : door->caller->name;
  };
  EXPECT_EQ(name("/ext_authz/a"), "ext_authz");
  EXPECT_EQ(name("/ext_authz//a"), "ext_authz");
  EXPECT_EQ(name("/ext_authz"), "ext_authz");
  EXPECT_EQ(name("/ext_authz?x"), "ext_authz");
  EXPECT_EQ(name("/ext_authzx"), "none");
  EXPECT_EQ(name("/forward_auth/nginx"), "nginx");
  EXPECT_EQ(name("/forward_auth/nginx?x=1"), "nginx");
  EXPECT_EQ(name("/forward_auth/nginx/a"), "none");
  EXPECT_EQ(name("/forward_auth/caddy"), "none");
  EXPECT_EQ(name("/v1/events"), "none");
}

TEST(Doors, ARefusalStaysOneForEveryCaller) {
  EXPECT_EQ(kEnvoy.refusal_status(429), 429);
  EXPECT_EQ(kEnvoy.refusal_status(503), 429) << "Envoy takes 5xx for a failure, which may pass";
  EXPECT_EQ(kEnvoy.refusal_status(200), 403);
  EXPECT_EQ(kEnvoy.refusal_status(302), 302);
  Door nginx = forward_auth("nginx");
  EXPECT_EQ(nginx.refusal_status(503), 503);
  nginx.deny_status = {{429, 403}, {503, 401}};
  EXPECT_EQ(nginx.refusal_status(429), 403);
  EXPECT_EQ(nginx.refusal_status(503), 401);
  EXPECT_EQ(nginx.refusal_status(404), 404);
}

}  // namespace
}  // namespace weir::authz::asked_test
