#include "net/http/door_guard.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_path.h"

namespace weir::test::door_guard_test {
namespace {

net::SocketAddress address(const char* text, std::uint16_t port = 8481) {
  return net::SocketAddress::tcp(*Address::parse(text), port);
}

int status_for(const net::SocketAddress& bound,
               std::vector<std::pair<std::string, std::string>> fields,
               net::TokenFile* token = nullptr, std::vector<std::string> hosts = {}) {
  net::HttpRequest request;
  request.fields = std::move(fields);
  net::DoorGuard guard(bound, token, std::move(hosts));
  const auto refusal = guard.check(request);
  return refusal ? refusal->status : 200;
}

}  // namespace

TEST(DoorGuard, RefusesHostsThatARebindingPageWouldHave) {
  struct Case {
    const char *bound, *host;
    int status;
  };
  for (const Case& c : {Case{"127.0.0.1", "127.0.0.1:8481", 200},
                        {"127.0.0.1", "localhost", 200},
                        {"127.0.0.1", "LOCALHOST:9", 200},
                        {"127.0.0.1", "[::1]:8481", 200},
                        {"127.0.0.1", "127.8.9.1", 200},
                        {"127.0.0.1", "evil.example", 403},
                        {"127.0.0.1", "127.0.0.1.evil.example", 403},
                        {"127.0.0.1", "localhost.evil.example:8481", 403},
                        {"127.0.0.1", "", 403},
                        {"127.0.0.1", "10.0.0.5", 403},
                        {"127.0.0.1", "localhost:port", 403},
                        {"127.0.0.1", "[::1", 403},
                        {"127.0.0.1", "[::1]x", 403},
                        {"127.0.0.1", "0x7f000001", 403},
                        {"127.0.0.1", "2130706433", 403},
                        {"127.0.0.1", "0.0.0.0", 403},
                        {"127.0.0.1", "localhost@evil", 403},
                        {"10.0.0.5", "10.0.0.5:8481", 200},
                        {"10.0.0.5", "10.0.0.6:8481", 403},
                        {"10.0.0.5", "localhost", 200},
                        {"0.0.0.0", "10.9.8.7:8481", 200},
                        {"::", "[2001:db8::1]", 200},
                        {"0.0.0.0", "pod.example", 403},
                        {"::1", "[::1]:8481", 200},
                        {"127.0.0.1", "[::ffff:127.0.0.1]", 200}}) {
    EXPECT_EQ(status_for(address(c.bound), {{"host", c.host}}), c.status)
        << c.bound << " " << c.host;
  }
}

TEST(DoorGuard, TakesNamesThatTheOperatorGives) {
  const auto with = [](const char* host) {
    return status_for(address("127.0.0.1"), {{"host", host}}, nullptr, {"weir", "weir.example"});
  };
  EXPECT_EQ(with("weir"), 200);
  EXPECT_EQ(with("Weir:8484"), 200);
  EXPECT_EQ(with("weir.example:80"), 200);
  EXPECT_EQ(with("localhost"), 200);
  EXPECT_EQ(with("x.weir.example"), 403);
  EXPECT_EQ(with("evil.example"), 403);
  EXPECT_EQ(with(""), 403);
}

/// The Host is checked because a rebound page has no token; a caller with one is no such page.
TEST(DoorGuard, WhoHasTheTokenComesByAnyName) {
  const TempPath file;
  file.write("s3cret");
  net::TokenFile token(file.path);
  for (const char* bound : {"10.0.0.5", "0.0.0.0", "127.0.0.1"}) {
    for (const char* host : {"weir.example", "weir:8481", "10.0.0.6", "localhost"}) {
      const auto with = [&](const char* authorization) {
        return status_for(address(bound), {{"host", host}, {"authorization", authorization}},
                          &token);
      };
      EXPECT_EQ(with("Bearer s3cret"), 200) << bound << " " << host;
      EXPECT_EQ(with("Bearer wrong"), 401) << bound << " " << host;
      EXPECT_EQ(status_for(address(bound), {{"host", host}}, &token), 401) << bound << " " << host;
      EXPECT_EQ(status_for(address(bound),
                           {{"host", host},
                            {"origin", "http://evil.example"},
                            {"authorization", "Bearer s3cret"}},
                           &token),
                403);
    }
  }
}

TEST(DoorGuard, ReadsTheTokenOfRegularFilesAlone) {
  const TempPath file;
  const auto read_of = [&](const std::string& text) {
    file.write(text);
    return net::read_token(file.path);
  };
  EXPECT_EQ(read_of(" \tsecret\r\n"), "secret");
  EXPECT_EQ(read_of(std::string(4096, 'x')), std::string(4096, 'x'));
  EXPECT_EQ(read_of(std::string(4097, 'x')), std::nullopt);
  EXPECT_EQ(read_of(" \n"), std::nullopt);
  ASSERT_EQ(::unlink(file.path.c_str()), 0);
  EXPECT_EQ(net::read_token(file.path), std::nullopt);
  ASSERT_EQ(::mkfifo(file.path.c_str(), 0600), 0);
  EXPECT_EQ(net::read_token(file.path), std::nullopt) << "and does not wait for a writer";
}

TEST(DoorGuard, RefusesPagesOfOtherOrigins) {
  struct Case {
    const char* origin;
    int status;
  };
  for (const Case& c : {Case{"http://localhost:8481", 200},
                        {"http://evil.example", 403},
                        {"null", 403},
                        {"https://localhost:8481", 403},
                        {"http://localhost:3000", 403},
                        {"", 403},
                        {"http://localhost:8481.evil.example", 403}}) {
    EXPECT_EQ(status_for(address("127.0.0.1"), {{"host", "localhost:8481"}, {"origin", c.origin}}),
              c.status)
        << c.origin;
  }
  const auto site = [](const char* value) {
    return status_for(address("127.0.0.1"), {{"host", "localhost"}, {"sec-fetch-site", value}});
  };
  EXPECT_EQ(site("same-origin"), 200);
  EXPECT_EQ(site("none"), 200);
  EXPECT_EQ(site("cross-site"), 403);
  EXPECT_EQ(site("same-site"), 403);
}

TEST(DoorGuard, WantsATokenOfDoorsThatOthersCanReach) {
  EXPECT_FALSE(net::DoorGuard::needs_token(address("127.0.0.1")));
  EXPECT_FALSE(net::DoorGuard::needs_token(address("::1")));
  EXPECT_FALSE(net::DoorGuard::needs_token(*net::SocketAddress::unix_path("/run/x.sock")));
  EXPECT_TRUE(net::DoorGuard::needs_token(address("0.0.0.0")));
  EXPECT_TRUE(net::DoorGuard::needs_token(address("::")));
  EXPECT_TRUE(net::DoorGuard::needs_token(address("10.0.0.5")));
}

TEST(DoorGuard, ComparesTheBearerToken) {
  const TempPath file;
  file.write("  s3cret-token \n");
  net::TokenFile token(file.path);
  const auto with = [&token](const char* authorization) {
    return status_for(address("10.0.0.5"), {{"host", "10.0.0.5"}, {"authorization", authorization}},
                      &token);
  };
  EXPECT_EQ(with("Bearer s3cret-token"), 200);
  EXPECT_EQ(with("bearer s3cret-token"), 200);
  EXPECT_EQ(with("Bearer s3cret-toke"), 401);
  EXPECT_EQ(with("Bearer s3cret-token2"), 401);
  EXPECT_EQ(with("Bearer "), 401);
  EXPECT_EQ(with("Basic s3cret-token"), 401);
  EXPECT_EQ(with("s3cret-token"), 401);
  EXPECT_EQ(status_for(address("10.0.0.5"), {{"host", "10.0.0.5"}}, &token), 401);
  EXPECT_EQ(status_for(address("10.0.0.5"),
                       {{"host", "10.0.0.5"},
                        {"authorization", "Bearer s3cret-token"},
                        {"authorization", "Bearer x"}},
                       &token),
            401);
}

TEST(DoorGuard, TakesARotatedTokenAndLetsNobodyInWithoutOne) {
  TempPath file;
  file.write("first");
  net::TokenFile token(file.path);
  EXPECT_TRUE(token.check("first"));
  const TempPath next;
  next.write("second");
  ASSERT_EQ(::rename(next.path.c_str(), file.path.c_str()), 0);
  EXPECT_EQ(token.check("first").error(), Error::refused);
  EXPECT_TRUE(token.check("second"));
  ::unlink(file.path.c_str());
  EXPECT_EQ(token.check("second").error(), Error::unavailable);
  file.write(" \n");
  EXPECT_EQ(token.check("").error(), Error::unavailable);
  file.write(std::string(5000, 'x'));
  EXPECT_EQ(token.check(std::string(5000, 'x')).error(), Error::unavailable);
}

}  // namespace weir::test::door_guard_test
