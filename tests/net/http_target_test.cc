#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/http/target.h"

namespace weir::net::http_target_test {
namespace {

constexpr PathRules kPlain{};
constexpr PathRules kFolded{.fold_case = true};

/// Owns what a target is and where its readings lie: exactly the promised room.
struct Read {
  explicit Read(std::string_view text, const PathRules& rules = kPlain)
      : copy(text.begin(), text.end()),
        scratch(normal_path_room(text.size())),
        refusal(normalise_target({copy.data(), copy.size()}, rules, scratch, out)) {}

  std::vector<char> copy, scratch;
  NormalTarget out;
  HttpRefusal refusal;
};

/// The path that policies match, "ambiguous" or "refused".
std::string path_of(std::string_view target, const PathRules& rules = kPlain) {
  const Read read(target, rules);
  if (read.refusal != HttpRefusal::none) {
    EXPECT_EQ(read.refusal, HttpRefusal::path_escape);
    return "refused";
  }
  return read.out.is_ambiguous() ? "ambiguous" : std::string{read.out.path};
}

/// The target that the app gets.
std::string target_of(std::string_view target) { return std::string{Read(target).out.target}; }

std::string lax_of(std::string_view target, const PathRules& rules = kPlain) {
  return std::string{Read(target, rules).out.lax};
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

TEST(NormalTarget, LettersOfAFoldedPathAreKeptBesideIt) {
  for (const std::string target : {"/API/Login", "/%41PI/%c3%a4;V=1//X.", "/A%2fB/../C;x/D%7c"}) {
    const Read read(target, kFolded);
    const std::string_view cased = read.out.cased_path;
    std::string folded(cased);
    fold_letters(folded);
    EXPECT_EQ(folded, read.out.path);
    EXPECT_EQ(cased, Read(target).out.path);
  }
  EXPECT_EQ(Read("/api/login", kFolded).out.cased_path, "");
  EXPECT_EQ(Read("/API//Login").out.cased_path, "");
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
  for (const std::string target : {"/a%00", "/a%", "/a%4", "/a%zz", "/a%4g", "/%%61", "/a%u0061",
                                   "/a%4/b", "/a;%zz", "/%00/../b"}) {
    EXPECT_EQ(path_of(target), "refused") << target;
  }
  EXPECT_EQ(path_of("/a?%2f%00%zz\\"), "/a");  // the query is the app's
}

TEST(NormalTarget, AmbiguousEscapes) {
  constexpr PathRules kSlashes{.keep_encoded_slash = true};
  constexpr PathRules kEscapes{.keep_other_escapes = true};
  for (const std::string target :
       {"/a%2fb", "/a%2Fb", "/a%5cb", "/a%5Cb", "/a\\b", "/..%2fx", "/x;%2f/%2f"}) {
    EXPECT_EQ(path_of(target), "ambiguous") << target;
    EXPECT_EQ(path_of(target, kEscapes), "ambiguous") << target;
    EXPECT_NE(path_of(target, kSlashes), "ambiguous") << target;
  }
  for (const std::string target :
       {"/%c0%af",       "/%c0%ae%c0%ae/x", "/%c1%81",       "/%e0%80%af",
        "/%e0%9f%bf",    "/%f0%80%80%af",   "/%f0%8f%bf%bf", "/%ed%a0%80",
        "/%f4%90%80%80", "/%f5%80%80%80",   "/%ff",          "/%80",
        "/%c3",          "/%c3x",           "/%c3%28",       "/%e2%82",
        "/%e2%82x",      "/%c3/%a4",        "/a%0ab",        "/a%7f",
        "/%1f"}) {
    EXPECT_EQ(path_of(target), "ambiguous") << target;
    EXPECT_EQ(path_of(target, kSlashes), "ambiguous") << target;
    EXPECT_NE(path_of(target, kEscapes), "ambiguous") << target;
  }
  EXPECT_EQ(path_of("/@babel%2fcore", kSlashes), "/@babel%2Fcore");
  EXPECT_EQ(path_of("/api/queues/%2F/q", kSlashes), "/api/queues/%2F/q");
  EXPECT_EQ(path_of("/%c4%e3%ba%c3", kEscapes), "/%C4%E3%BA%C3");
}

TEST(NormalTarget, WhatALaxServerReads) {
  struct Row {
    std::string_view target, lax;
  };
  for (const auto& [target, lax] :
       std::initializer_list<Row>{{"/api%2flogin", "/api/login"},
                                  {"/api%5Clogin", "/api/login"},
                                  {"/api\\login", "/api/login"},
                                  {"/x/..%2fapi%2flogin", "/api/login"},
                                  {"/x%2f../api/login", "/api/login"},
                                  {"/x%2f..%2f..%2fapi/login", "/api/login"},
                                  {"/%2f/api/login%2f", "/api/login"},
                                  {"/api/login%0a", "/api/login"},
                                  {"/api/lo%ffgin", "/api/login"},
                                  {"/api%c0%aflogin", "/api/login"},
                                  {"/api%e0%80%aflogin", "/api/login"},
                                  {"/x/%c0%ae%c0%ae/api/login", "/api/login"},
                                  {"/%c1%a1pi/login", "/api/login"},
                                  {"/%c4%e3", "/"},
                                  {"/a/%2e%2e%2f..%2f%ff", "/"}}) {
    EXPECT_EQ(lax_of(target), lax) << target;
  }
  EXPECT_EQ(lax_of("/API%2fLogin", kFolded), "/api/login");
  EXPECT_EQ(lax_of("/a%2fb%ff", {.keep_encoded_slash = true}), "/a%2Fb");
  EXPECT_EQ(lax_of("/a%2fb%ff", {.keep_other_escapes = true}), "/a/b%FF");
  EXPECT_EQ(lax_of("/a%20b"), "");
}

TEST(NormalTarget, SlashesMergedBeforeDotsAreResolved) {
  const auto merged_of = [](std::string_view target) {
    return std::string{Read(target).out.merged};
  };
  for (const auto& [target, merged] : std::vector<std::pair<std::string, std::string>>{
           {"/x%2f%2f..%2fgraphql", "/graphql"},
           {"//x%2f%2F..%c0%afgr%61phql", "/graphql"},
           {"/a/x%2f%2f%2f..%2fb", "/a/b"},
           {"/x%2f%2f..", "/"},
           {"/x%2f..%2fgraphql", ""},  // the same either way
           {"/x//..%2fgraphql", "/graphql"},
           {"/x//../graphql", ""}}) {  // the app gets it resolved
    EXPECT_EQ(merged_of(target), merged) << target;
  }
  EXPECT_EQ(lax_of("/x%2f%2f..%2fgraphql"), "/x/graphql");
}

TEST(NormalTarget, Utf8) {
  EXPECT_EQ(path_of("/%c3%a4"), "/%C3%A4");
  EXPECT_EQ(path_of("/%E4%BD%A0%E5%A5%BD"), "/%E4%BD%A0%E5%A5%BD");
  EXPECT_EQ(path_of("/%f0%9f%98%80"), "/%F0%9F%98%80");
  EXPECT_EQ(path_of("/%ef%bf%bd%ee%80%80%ed%9f%bf%f4%8f%bf%bf%df%bf%c2%80%e0%a0%80"),
            "/%EF%BF%BD%EE%80%80%ED%9F%BF%F4%8F%BF%BF%DF%BF%C2%80%E0%A0%80");
}

TEST(NormalTarget, TheAppGetsRfc3986sNormalForm) {
  EXPECT_EQ(target_of("/api//login/"), "/api//login/");
  EXPECT_EQ(target_of("/api/./login;x=1"), "/api/login;x=1");
  EXPECT_EQ(target_of("/graphql/.."), "/");
  EXPECT_EQ(target_of("/graphql/%2e%2e?a=/../b"), "/?a=/../b");
  EXPECT_EQ(target_of("/a/b/../c"), "/a/c");
  EXPECT_EQ(target_of("/a/b/.."), "/a/");
  EXPECT_EQ(target_of("/a/."), "/a/");
  EXPECT_EQ(target_of("/.."), "/");
  EXPECT_EQ(target_of("/a//.."), "/a/");
  EXPECT_EQ(target_of("/a//../b"), "/a/b");
  EXPECT_EQ(target_of("/%61%2f%5c%3a%ff?%2f"), "/a%2F%5C%3A%FF?%2f");
  EXPECT_EQ(target_of("/a."), "/a.");
  EXPECT_EQ(target_of("/A%41"), "/AA");
  EXPECT_EQ(target_of("/a|b?c|d"), "/a%7Cb?c|d");
  EXPECT_EQ(Read("/A/../B", kFolded).out.target, "/B");  // letters as they came
  EXPECT_EQ(Read("/A/../B", kFolded).out.path, "/b");
}

TEST(NormalTarget, WhatIsJudgedIsTheFoldedFormOfWhatIsForwarded) {
  // Dots first, as the app that gets it reads it; then what some servers fold.
  EXPECT_EQ(path_of("/a//../b"), "/a/b");
  EXPECT_EQ(path_of("/a/..;/b"), "/b");
  EXPECT_EQ(target_of("/a/..;/b"), "/a/..;/b");
  for (const std::string target : {"/a//../b", "/x/..;/y/%2e./z;p/", "/a/.../b//c.", "/%41;x/.."}) {
    EXPECT_EQ(path_of(target_of(target)), path_of(target)) << target;
  }
}

TEST(NormalTarget, NoCopyWhenNormalAlready) {
  const std::string target = "/api/v1.2/users/@me?x=%2f#";
  NormalTarget out;
  ASSERT_EQ(normalise_target(target, kPlain, {}, out), HttpRefusal::none);
  EXPECT_EQ(out.path.data(), target.data());
  EXPECT_EQ(out.target.data(), target.data());
  EXPECT_TRUE(out.is_plain());
  EXPECT_EQ(out.path, "/api/v1.2/users/@me");
  EXPECT_EQ(out.query, "x=%2f#");
}

TEST(NormalTarget, SaysWherePhpMayRunASegment) {
  for (const char* script : {"/index.php/x", "/a/I.PHP/b", "/x.php7/y", "/x.phar/y", "/.phtml/y",
                             "/a/x%2ephp/y", "/x.php%2fy", "//x.php//y", "/a.b/x.php/y"}) {
    EXPECT_TRUE(Read(script, kPlain).out.has_script) << script;
    EXPECT_FALSE(Read(script, kPlain).out.is_plain()) << script;
  }
  for (const char* none : {"/index.php", "/index.php/", "/x.php?a/b", "/php/x", "/x.phpx/y",
                           "/x.php77/y", "/a.b/c", "/.ph/p"}) {
    EXPECT_FALSE(Read(none, kPlain).out.has_script) << none;
  }
}

TEST(NormalTarget, IsIdempotent) {
  for (const std::string target :
       {"/%2561pi/%3B;a//../b./", "/a|b/%7c/%E4%BD%A0/./x", "/..;a/..b/."}) {
    for (const PathRules& rules : {kPlain, kFolded}) {
      const std::string once = path_of(target, rules);
      EXPECT_EQ(path_of(once, rules), once);
    }
  }
}

}  // namespace
}  // namespace weir::net::http_target_test
