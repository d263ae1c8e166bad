#include "policies/set/routes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir::policies::routes_test {
namespace {

class RoutesTest : public testing::Test {
 protected:
  RoutesTest() {
    const char* routes[] = {"POST /api/login",
                            "* /api/*",
                            "GET /api/users/{id}",
                            "GET /api/users/me",
                            "GET /",
                            "* /*",
                            "GET /api/users/{id}/posts/{post}"};
    for (std::uint16_t i = 0; const char* text : routes)
      routes_.add(*Route::parse(text).route, i++);
  }
  std::vector<int> match(std::string_view method, std::string_view path) {
    std::vector<int> out;
    routes_.match(method, path, [&](std::uint16_t id) { out.push_back(id); });
    std::sort(out.begin(), out.end());
    return out;
  }
  Routes routes_;
};

TEST_F(RoutesTest, FindsEveryRouteThatMatches) {
  using Ids = std::vector<int>;
  EXPECT_EQ(match("POST", "/api/login"), (Ids{0, 1, 5}));
  EXPECT_EQ(match("GET", "/api/login"), (Ids{1, 5}));
  EXPECT_EQ(match("GET", "/api/users/me"), (Ids{1, 2, 3, 5}));
  EXPECT_EQ(match("GET", "/api/users/7/posts/9"), (Ids{1, 5, 6}));
  EXPECT_EQ(match("GET", "/"), (Ids{4}));
  EXPECT_EQ(match("GET", "/api"), (Ids{5}));
  EXPECT_EQ(match("post", "/api/login"), (Ids{1, 5})) << "methods are case-sensitive";
  EXPECT_EQ(match("GET", "/API/login"), (Ids{5})) << "paths are case-sensitive";
}

TEST_F(RoutesTest, GetCoversHead) {
  using Ids = std::vector<int>;
  EXPECT_EQ(match("HEAD", "/api/users/me"), (Ids{1, 2, 3, 5})) << "servers run GET's handler";
  EXPECT_EQ(match("HEAD", "/"), (Ids{4}));
  routes_.add(*Route::parse("HEAD /").route, 9);
  EXPECT_EQ(match("HEAD", "/"), (Ids{4, 9}));
  EXPECT_EQ(match("GET", "/"), (Ids{4})) << "HEAD is for HEAD alone";
  EXPECT_EQ(match("HEAD", "/api/login"), (Ids{1, 5})) << "POST is not";
  EXPECT_EQ(match("head", "/"), (Ids{}));
}

TEST(Route, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* says;
    std::size_t offset;
  } cases[] = {
      {"/api/login", "a method and a path", 0}, {"PO ST/x", "starts with \"/\"", 3},
      {"GET api", "starts with \"/\"", 4},      {"GET /a?b=1", "tested with `when`", 6},
      {"GET /*/b", "must come last", 5},        {"GET /a{b}", "whole segments", 5},
      {"GET /{1}", "needs a name", 5},          {"GET /a//b", "normal form", 7},
      {"G(T /a", "not an HTTP method", 0},
  };
  for (const auto& c : cases) {
    const auto parsed = Route::parse(c.text);
    EXPECT_FALSE(parsed.route) << c.text;
    EXPECT_NE(parsed.problem.find(c.says), std::string::npos) << c.text << ": " << parsed.problem;
    EXPECT_EQ(parsed.offset, c.offset) << c.text;
  }
}

TEST(Route, CanonicalTextIgnoresNamesOfParameters) {
  EXPECT_EQ(Route::parse("GET  /a/{x}/*").route->canonical(), "GET /a/{}/*");
  EXPECT_EQ(Route::parse("GET /a/{y}/*").route->canonical(), "GET /a/{}/*");
}

TEST(PathSegment, CountsFromZero) {
  EXPECT_EQ(path_segment("/a/bc/d", 0), "a");
  EXPECT_EQ(path_segment("/a/bc/d", 1), "bc");
  EXPECT_EQ(path_segment("/a/bc/d", 2), "d");
  EXPECT_EQ(path_segment("/a/bc/d", 3), "");
  EXPECT_EQ(path_segment("/", 0), "");
}

}  // namespace
}  // namespace weir::policies::routes_test
