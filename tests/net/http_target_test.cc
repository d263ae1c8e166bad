#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/http/target.h"

namespace weir::net::http_target_test {
namespace {

constexpr PathRules kStrict{};
constexpr PathRules kRfc{.strict = false};
constexpr PathRules kFolded{.strict = true, .fold_case = true};

/// Path in normal form, or "refused". The scratch has exactly the promised room.
std::string path_of(std::string_view target, const PathRules& rules = kStrict) {
  const std::vector<char> copy(target.begin(), target.end());
  std::vector<char> scratch(normal_path_room(target.size()));
  NormalTarget out;
  const HttpRefusal refusal = normalise_target({copy.data(), copy.size()}, rules, scratch, out);
  if (refusal != HttpRefusal::none) {
    EXPECT_EQ(refusal, HttpRefusal::path_escape);
    return "refused";
  }
  return std::string{out.path};
}

TEST(NormalTarget, NoSpellingDodgesARoute) {
  for (const std::string spelling :
       {"/api/login",         "//api/login",       "/api//login",         "///api///login",
        "/api/./login",       "/./api/login",      "/api/login/",         "/api/login//",
        "/api/login/.",       "/api/login/./",     "/api/x/../login",     "/api/login/x/..",
        "/../api/login",      "/../../api/login",  "/api/login;x=1",      "/api;v=2/login",
        "/api/login;",        "/api/;x/login",     "/;/api/login",        "/api/login;x=1/",
        "/api/x/..;/login",   "/api/.;/login",     "/%61pi/login",        "/%61%70%69/%6Cogin",
        "/%61%70%69/%6cogin", "/api/%2e/login",    "/api/%2E/login",      "/api/x/%2e%2e/login",
        "/api/x/.%2e/login",  "/api/x/%2E./login", "/api/login.",         "/api/login...",
        "/api./login",        "/api/login%2e",     "/api/login/%2e",      "/api/.../login",
        "/api/x/..//login",   "/api/login?",       "/api/login/?a=/../b", "/api/login;x?y"}) {
    EXPECT_EQ(path_of(spelling), "/api/login") << spelling;
  }
}

TEST(NormalTarget, CaseAsConfigured) {
  EXPECT_EQ(path_of("/API/Login"), "/API/Login");
  EXPECT_EQ(path_of("/API/Login", kFolded), "/api/login");
  EXPECT_EQ(path_of("/%41PI/login", kFolded), "/api/login");
  EXPECT_EQ(path_of("/%41PI/login"), "/API/login");
  EXPECT_EQ(path_of("/a%c3%a4", kFolded), "/a%C3%A4");
}

TEST(NormalTarget, DifferentPathsStayDifferent) {
  EXPECT_EQ(path_of("/"), "/");
  EXPECT_EQ(path_of("//"), "/");
  EXPECT_EQ(path_of("/."), "/");
  EXPECT_EQ(path_of("/.."), "/");
  EXPECT_EQ(path_of("/;x"), "/");
  EXPECT_EQ(path_of("/a.b/c..d"), "/a.b/c..d");
  EXPECT_EQ(path_of("/.well-known/x"), "/.well-known/x");
  EXPECT_EQ(path_of("/..a"), "/..a");
  EXPECT_EQ(path_of("/a%20b"), "/a%20b");
  EXPECT_EQ(path_of("/a+b"), "/a+b");
  EXPECT_EQ(path_of("/%25%36%31pi"), "/%2561pi");  // decoded once: the app sees `%61pi`
  EXPECT_EQ(path_of("/%2561pi"), "/%2561pi");
  EXPECT_EQ(path_of("/a%252fb"), "/a%252fb");
  EXPECT_EQ(path_of("/a%3Bb"), "/a%3Bb");
  EXPECT_EQ(path_of("/a%3fb"), "/a%3Fb");
  EXPECT_EQ(path_of("/a%23b"), "/a%23b");
  EXPECT_EQ(path_of("/a%0ab"), "/a%0Ab");
}

TEST(NormalTarget, OneFormForWhatMayStandBareOrNot) {
  EXPECT_EQ(path_of("/v1%3alogin%40x%2c%21"), "/v1:login@x,!");
  EXPECT_EQ(path_of("/v1:login@x,!"), "/v1:login@x,!");
  EXPECT_EQ(path_of("/a|b\"c"), "/a%7Cb%22c");
  EXPECT_EQ(path_of("/a%7cb%22c"), "/a%7Cb%22c");
  EXPECT_EQ(path_of("/[]"), "/%5B%5D");
  EXPECT_EQ(path_of("/||||"), "/%7C%7C%7C%7C");
}

TEST(NormalTarget, RefusedEscapes) {
  for (const std::string target :
       {"/a%2fb",        "/a%2Fb",     "/a%5cb",        "/a%5Cb",
        "/a\\b",         "/a%00",      "/a%",           "/a%4",
        "/a%zz",         "/a%4g",      "/%%61",         "/a%u0061",
        "/a%4/b",        "/..%2fx",    "/%c0%af",       "/%c0%ae%c0%ae/x",
        "/%c1%81",       "/%e0%80%af", "/%e0%9f%bf",    "/%f0%80%80%af",
        "/%f0%8f%bf%bf", "/%ed%a0%80", "/%f4%90%80%80", "/%f5%80%80%80",
        "/%ff",          "/%80",       "/%c3",          "/%c3x",
        "/%c3%28",       "/%e2%82",    "/%e2%82x",      "/%c3/%a4",
        "/x;%2f/%2f"}) {
    EXPECT_EQ(path_of(target), "refused") << target;
  }
  EXPECT_EQ(path_of("/a?%2f%00%zz\\"), "/a");  // the query is the app's
}

TEST(NormalTarget, Utf8) {
  EXPECT_EQ(path_of("/%c3%a4"), "/%C3%A4");
  EXPECT_EQ(path_of("/%E4%BD%A0%E5%A5%BD"), "/%E4%BD%A0%E5%A5%BD");
  EXPECT_EQ(path_of("/%f0%9f%98%80"), "/%F0%9F%98%80");
  EXPECT_EQ(path_of("/%ef%bf%bd%ee%80%80%ed%9f%bf%f4%8f%bf%bf%df%bf%c2%80%e0%a0%80"),
            "/%EF%BF%BD%EE%80%80%ED%9F%BF%F4%8F%BF%BF%DF%BF%C2%80%E0%A0%80");
}

TEST(NormalTarget, PlainRfc3986WhenNotStrict) {
  EXPECT_EQ(path_of("/api//login/", kRfc), "/api//login/");
  EXPECT_EQ(path_of("/api/./login;x=1", kRfc), "/api/login;x=1");
  EXPECT_EQ(path_of("/a/b/../c", kRfc), "/a/c");
  EXPECT_EQ(path_of("/a/b/..", kRfc), "/a/");
  EXPECT_EQ(path_of("/a/.", kRfc), "/a/");
  EXPECT_EQ(path_of("/..", kRfc), "/");
  EXPECT_EQ(path_of("/a//..", kRfc), "/a/");
  EXPECT_EQ(path_of("/%61%2f%5c%3a%ff", kRfc), "/a%2F%5C%3A%FF");
  EXPECT_EQ(path_of("/a.", kRfc), "/a.");
  EXPECT_EQ(path_of("/a%4", kRfc), "refused");
}

TEST(NormalTarget, NoCopyWhenNormalAlready) {
  const std::string target = "/api/v1.2/users/@me?x=%2f#";
  NormalTarget out;
  ASSERT_EQ(normalise_target(target, kStrict, {}, out), HttpRefusal::none);
  EXPECT_EQ(out.path.data(), target.data());
  EXPECT_EQ(out.path, "/api/v1.2/users/@me");
  EXPECT_EQ(out.query, "x=%2f#");
}

TEST(NormalTarget, IsIdempotent) {
  for (const std::string target :
       {"/%2561pi/%3B;a//../b./", "/a|b/%7c/%E4%BD%A0/./x", "/..;a/..b/."}) {
    for (const PathRules& rules : {kStrict, kRfc, kFolded}) {
      const std::string once = path_of(target, rules);
      EXPECT_EQ(path_of(once, rules), once);
    }
  }
}

}  // namespace
}  // namespace weir::net::http_target_test
