#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "net/http/target.h"
#include "tests/policies/world.h"
#include "tests/support/seed.h"

namespace weir::policies::strict_paths_test {
namespace {

constexpr std::string_view kEvents =
    "events:\n"
    "  login: {match: POST /api/login}\n"
    "  pay: {match: 'POST /users/{id}/pay'}\n"
    "  graphql: {match: '* /graphql/*'}\n"
    "  search: {match: 'GET /search/*'}\n"
    "  failed: {is: login, when: 'status == 401'}\n";

std::string policy(std::string_view watch, std::string_view rung, std::string_view more = "") {
  return "  - {name: " + std::string(watch) + std::to_string(rung.size() + more.size()) +
         ", watch: " + std::string(watch) + ", key: ip, window: 1m, then: [" + std::string(rung) +
         "]" + std::string(more) + "}\n";
}

/// Whether the proxy refuses such a path under these policies.
bool refused(const PolicySet& set, std::string_view method, std::string_view target) {
  std::vector<char> room(net::normal_path_room(target.size()));
  net::NormalTarget read;
  EXPECT_EQ(net::normalise_target(target, set.path_rules, room, read), net::HttpRefusal::none);
  return set.refuses_path(method, read);
}

TEST(StrictPaths, OnlyWhereAPolicyCanRefuse) {
  const World w(std::string(kEvents) + "policies:\n" + policy("login", "{over: 5, do: deny}") +
                policy("search", "{over: 5, do: flag}"));
  const PolicySet& set = w.driver.set();
  for (const char* is : {"/api%2flogin", "/api%5clogin", "/x/..%2fapi/login", "/api/login%0a",
                         "/api/login%ff", "/api%c0%aflogin", "/api/login%2f", "//api%2flogin;a"}) {
    EXPECT_TRUE(refused(set, "POST", is)) << is;
    EXPECT_FALSE(refused(set, "GET", is)) << is;
  }
  for (const char* free : {"/@babel%2fcore", "/api/queues/%2F/q", "/%c4%e3%ba%c3", "/search/a%2fb",
                           "/api/login2%0a", "/api/logi%2fn"}) {
    EXPECT_FALSE(refused(set, "POST", free)) << free;
    EXPECT_FALSE(refused(set, "GET", free)) << free;
  }
}

TEST(StrictPaths, WhatCanRefuse) {
  struct Row {
    std::string name, policies;
    bool strict;
  };
  const std::vector<Row> rows = {
      {"flags", policy("login", "{over: 5, do: flag}"), false},
      {"a gray list that flags", policy("login", "{over: 5, do: graylist, for: 1m}"), false},
      {"challenges", policy("login", "{over: 5, do: challenge}"), true},
      {"bans", policy("login", "{over: 5, do: deny, for: 1h}"), true},
      {"in shadow", policy("login", "{over: 5, do: deny}", ", mode: shadow"), false},
      {"disabled", policy("login", "{over: 5, do: deny}", ", mode: disabled"), false},
      {"by the answer", policy("failed", "{over: 5, do: deny}"), true},
      {"guards it", policy("search", "{over: 5, do: deny}", ", guard: login"), true},
      {"watches it for others", policy("login", "{over: 5, do: deny}", ", guard: search"), true},
      {"every request", policy("request", "{over: 5, do: deny}"), true},
      {"another route", policy("search", "{over: 5, do: deny}"), false},
  };
  for (const auto& [name, policies, strict] : rows) {
    const World w(std::string(kEvents) + "policies:\n" + policies);
    EXPECT_EQ(refused(w.driver.set(), "POST", "/api%2flogin"), strict) << name;
  }
}

TEST(StrictPaths, ARouteThatFoldingHides) {
  const World w(std::string(kEvents) + "policies:\n" + policy("pay", "{over: 5, do: deny}") +
                policy("graphql", "{over: 5, do: deny}"));
  for (const char* dodge : {"/users/.../pay", "/users/;x/pay", "/graphql/..;/x", "//graphql/..;/x",
                            "/users//...;/pay"}) {
    EXPECT_TRUE(refused(w.driver.set(), "POST", dodge)) << dodge;
  }
  // The judged path has a refusing route, or neither reading has one.
  for (const char* fine :
       {"/users/7/pay/", "//users/7/pay", "/users/7;v=1/pay", "/graphql/x/..", "/graphql//x",
        "/users//pay", "/shop/.../pay", "/a//b", "/graphql/%2e%2e"}) {
    EXPECT_FALSE(refused(w.driver.set(), "POST", fine)) << fine;
  }
}

TEST(StrictPaths, ARouteThatPhpRuns) {
  const World w(
      "events:\n"
      "  login: {match: POST /login}\n"
      "  script: {match: POST /login.php}\n"
      "  deep: {match: POST /app/pay}\n"
      "  front: {match: 'POST /front.php/*'}\n"
      "  free: {match: POST /free}\n"
      "policies:\n" +
      policy("login", "{over: 5, do: deny}") + policy("script", "{over: 5, do: deny}") +
      policy("deep", "{over: 5, do: deny}") + policy("front", "{over: 5, do: deny}") +
      policy("free", "{over: 5, do: flag}"));
  for (const char* dodge :
       {"/index.php/login", "/INDEX.PHP/login", "/index.php5/login", "/x.phtml/login/",
        "/x.phar//login", "/a/b/index.php/login", "/a.php/index.php/login", "/index%2Ephp/login",
        "/index.php./login", "/index.php;v=1/login", "/login.php/x", "/login.php/x/y.css",
        "/app/index.php/pay", "/.php/login", "/index.php%2flogin"}) {
    EXPECT_TRUE(refused(w.driver.set(), "POST", dodge)) << dodge;
    EXPECT_FALSE(refused(w.driver.set(), "GET", dodge)) << dodge;
  }
  for (const char* fine : {"/login.php", "/login.php/", "/index.php/other", "/index.phpx/login",
                           "/php/login", "/index.html/login", "/index.php/free", "/front.php/x/y",
                           "/front.php/other", "/x/login.php", "/a.b/login.c"}) {
    EXPECT_FALSE(refused(w.driver.set(), "POST", fine)) << fine;
  }
}

TEST(StrictPaths, APolicyThatSeesBothReadingsRefusesNeither) {
  const World w(
      "events:\n"
      "  login: {match: POST /login}\n"
      "  by_script: {match: POST /index.php/login}\n"
      "policies:\n"
      "  - {name: p, watch: [login, by_script], key: ip, window: 1m, then: [{over: 5, do: "
      "deny}]}\n");
  EXPECT_FALSE(refused(w.driver.set(), "POST", "/index.php/login"));
  EXPECT_TRUE(refused(w.driver.set(), "POST", "/other.php/login"));
  const World two(
      "events:\n"
      "  login: {match: POST /login}\n"
      "  by_script: {match: POST /index.php/login}\n"
      "policies:\n" +
      policy("login", "{over: 5, do: deny}") + policy("by_script", "{over: 5, do: deny}"));
  EXPECT_TRUE(refused(two.driver.set(), "POST", "/index.php/login"))
      << "the policy of login does not see it";
}

TEST(StrictPaths, FoldedRoutesMatchFoldedPaths) {
  const World w(
      "proxy: {upstream: http://127.0.0.1:1, path: {case: fold}}\n"
      "events: {login: {match: POST /API/Log%C3%84in}}\n"
      "policies:\n" +
      policy("login", "{over: 5, do: deny}"));
  std::size_t found = 0;
  w.driver.set().routes.match("POST", "/api/log%C3%84in", [&](std::uint16_t) { ++found; });
  EXPECT_EQ(found, 1U);
}

/// A request with what servers may read in its path, as doors bring it.
class Doubtful {
 public:
  Doubtful(World& world, std::string target) : target_(std::move(target)) {
    room_.resize(net::normal_path_room(target_.size()));
    EXPECT_EQ(net::normalise_target(target_, world.driver.set().path_rules, room_, read_),
              net::HttpRefusal::none);
    request_ = asked_.view(world.now);
    request_.target = read_.target;
    request_.path = read_.path;
    request_.cased_path = read_.cased_path;
    request_.readings = read_.is_plain() ? nullptr : &read_;
  }
  const Request& view() const { return request_; }

 private:
  std::string target_;
  std::vector<char> room_;
  net::NormalTarget read_;
  TestRequest asked_{"POST /"};
  Request request_;
};

std::uint64_t denied(const World& world, const char* name) {
  return world.stats.totals("policy", name).verdicts[static_cast<std::size_t>(Action::deny)];
}

TEST(StrictPaths, ARefusalForThePathNamesWhoRefusesAndCountsNothing) {
  for (const auto& [tell, says] :
       {std::pair<std::string, std::string>{", tell: full", R"("policy":"p","field":"path")"},
        {"", "servers read its escapes or segments in different ways."},
        {", tell: nothing", ""}}) {
    World w(std::string(kEvents) + "policies:\n" + policy("search", "{over: 0, do: deny}") +
            "  - {name: p, watch: login, key: ip, window: 1m, then: [{over: 1, do: deny" + tell +
            "}]}\n");
    for (int i = 0; i < 3; ++i) {
      const Doubtful doubtful(w, "/api%2flogin");
      const Verdict& verdict = w.start(doubtful.view());
      ASSERT_EQ(verdict.kind, Verdict::Kind::refuse);
      EXPECT_EQ(verdict.defect, "path");
      EXPECT_EQ(verdict.status, 400);
      const Effect effect = w.text.render(w.driver.set(), w.plan(), verdict, w.instant());
      EXPECT_NE(effect.body.find(says), std::string_view::npos) << effect.body;
      EXPECT_EQ(effect.body.empty(), says.empty());
    }
    EXPECT_EQ(denied(w, "p"), 3U);
    EXPECT_EQ(w.start(Doubtful(w, "/api/login").view()).kind, Verdict::Kind::pass);
    EXPECT_EQ(w.start(Doubtful(w, "/api/login").view()).kind, Verdict::Kind::refuse);
  }
}

TEST(StrictPaths, AListThatRefusesIsNamedWhereNoPolicyIs) {
  World w(std::string(kEvents) +
          "lists: {accounts: {of: id, kind: deny, entries: ['7']}}\n"
          "policies:\n" +
          policy("pay", "{over: 5, do: flag}"));
  const Verdict& verdict = w.start(Doubtful(w, "/users%2f7/pay").view());
  ASSERT_EQ(verdict.kind, Verdict::Kind::refuse);
  ASSERT_TRUE(verdict.standings.front().list);
  EXPECT_EQ(w.driver.set().lists[*verdict.standings.front().list].name, "accounts");
}

TEST(StrictPaths, ShadowModeCountsWhatItWouldRefuseForThePathAndNothingElseOfIt) {
  World w(
      std::string(kEvents) + "policies:\n" +
      "  - {name: s, watch: login, key: ip, window: 1m, mode: shadow, then: [{over: 1, do: "
      "deny}]}\n"
      "  - {name: all, watch: request, key: ip, window: 1m, mode: shadow, then: [{over: 9, do: "
      "challenge}]}\n"
      "  - {name: rung, watch: request, key: ip, window: 1m, then: [{over: 1, do: flag}, {over: "
      "9, do: deny, mode: shadow}]}\n"
      "  - {name: flags, watch: request, key: ip, window: 1m, mode: shadow, then: [{over: 9, "
      "do: flag}]}\n");
  const auto shadows = [&](const char* name) {
    return w.stats.totals("policy", name).shadows[static_cast<std::size_t>(Action::deny)];
  };
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(w.start(Doubtful(w, "/api%2flogin").view()).kind, Verdict::Kind::pass);
  EXPECT_EQ(shadows("s"), 3U);
  EXPECT_EQ(shadows("all"), 3U);
  EXPECT_EQ(shadows("rung"), 3U);
  EXPECT_EQ(shadows("flags"), 0U);
  EXPECT_EQ(w.stats.totals("policy", "s").events, 0U);
  EXPECT_EQ(w.stats.totals("policy", "rung").events, 3U) << "its enforced rung counts them";
  EXPECT_EQ(w.start(Doubtful(w, "/api/login").view()).kind, Verdict::Kind::pass);
  EXPECT_EQ(shadows("s"), 3U) << "the first that counts";
  // No route of theirs.
  w.start(Doubtful(w, "/x%2fy").view());
  EXPECT_EQ(shadows("s"), 3U);
  EXPECT_EQ(shadows("all"), 4U);
}

TEST(StrictPaths, AnEnforcedRefusalGoesBeforeThoseInShadow) {
  World w(std::string(kEvents) + "policies:\n" + policy("login", "{over: 5, do: deny}") +
          "  - {name: s, watch: request, window: 1m, mode: shadow, then: [{over: 1, do: deny}]}\n");
  EXPECT_EQ(w.start(Doubtful(w, "/api%2flogin").view()).kind, Verdict::Kind::refuse);
  EXPECT_EQ(w.stats.totals("policy", "s").shadows[static_cast<std::size_t>(Action::deny)], 0U);
}

// Against a model that asks in the plainest way: does any way in which some server may read the
// path bring it to a route on which something can refuse?
TEST(StrictPaths, RandomPathsAgainstANaiveModel) {
  const World w(std::string(kEvents) + "policies:\n" + policy("login", "{over: 5, do: deny}") +
                policy("graphql", "{over: 5, do: deny}"));
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::array<std::string_view, 16> kPieces = {
      "/api", "/login", "/graphql", "/x",  "%2f",   "%5C",    "..",   "/..",
      "/.",   "%0a",    "%ff",      "api", "login", "%2e%2e", "/%2F", "graphql"};
  for (int i = 0; i < 20'000; ++i) {
    std::string sent = "/";
    for (auto n = random() % 6; n > 0; --n) sent += kPieces[random() % kPieces.size()];
    std::vector<char> room(net::normal_path_room(sent.size()));
    net::NormalTarget read;
    ASSERT_EQ(net::normalise_target(sent, {}, room, read), net::HttpRefusal::none);
    const std::string path(read.forward);  // the path that a server reads
    // The model: a server that decodes slashes and drops what it cannot read, then resolves dots.
    std::string decoded;
    bool odd = false;
    for (std::size_t at = 0; at < path.size(); ++at) {
      const std::string escape = path.substr(at, 3);
      const bool slash = escape == "%2f" || escape == "%5C" || escape == "%2F";
      const bool junk = escape == "%0A" || escape == "%FF";
      odd = odd || slash || junk;
      if (slash) decoded += '/';
      if (escape == "%2e") decoded += '.';
      if (escape[0] != '%') decoded += path[at];
      if (escape[0] == '%') at += 2;
    }
    // Some servers merge slashes before they resolve dots, others after.
    bool login = false;
    bool graphql = false;
    for (const bool merges : {false, true}) {
      std::vector<std::string> segments;
      std::string segment;
      for (const char c : decoded + "/") {
        if (c != '/') {
          segment += c;
          continue;
        }
        if (segment == "..") {
          if (!segments.empty()) segments.pop_back();
        } else if (segment != "." && !(merges && segment.empty())) {
          segments.push_back(segment);
        }
        segment.clear();
      }
      for (std::string& each : segments) each.erase(each.find_last_not_of('.') + 1);
      std::erase(segments, "");
      login = login || segments == std::vector<std::string>{"api", "login"};
      graphql = graphql || (segments.size() > 1 && segments[0] == "graphql");
    }
    if (odd && (login || graphql)) {
      EXPECT_TRUE(refused(w.driver.set(), "POST", sent)) << sent;
    }
  }
}

}  // namespace
}  // namespace weir::policies::strict_paths_test
