#include <algorithm>
#include <random>

#include "config/load.h"
#include "core/chars/ascii.h"
#include "net/http/target.h"
#include "policies/set/compile.h"
#include "tests/policies/expr_support.h"
#include "tests/support/seed.h"

/// Conditions that can never hold, or never fail, since a text is no pattern and an attribute has
/// one spelling: each is warned of, with what to write.
namespace weir::policies::test::never_warnings_test {
namespace {

struct Case {
  const char* text;
  const char* report;  ///< `message | hint`; empty: nothing is said
};

std::string said_of(const std::string& text, bool folds = false) {
  SlotTable table;
  Scope scope(table, "login");
  scope.folds = folds;
  scope.fields["user"] = table.computed(*compiled("body.username", scope));
  config::Problems problems;
  EXPECT_TRUE(compile_condition(text_at(text), scope, problems)) << text << report(problems);
  std::string out;
  for (const config::Problem& problem : problems.all()) {
    if (!out.empty()) out += "\n";
    out += problem.message + (problem.hint.empty() ? "" : " | " + problem.hint);
  }
  return out;
}

class NeverWarnings : public ::testing::TestWithParam<Case> {};

TEST_P(NeverWarnings, say_what_to_write) {
  EXPECT_EQ(said_of(GetParam().text), GetParam().report) << GetParam().text;
}

constexpr Case kStars[] = {
    {R"x(path == "/api/*")x",
     R"x("/api/*" is compared letter by letter: the * stands for itself | write path.startsWith("/api/"))x"},
    {R"x(path != "/api/**")x",
     R"x("/api/**" is compared letter by letter: the * stands for itself | write not path.startsWith("/api/"))x"},
    {R"x("/api/*" == path)x",
     R"x("/api/*" is compared letter by letter: the * stands for itself | write path.startsWith("/api/"))x"},
    {R"x(path in ["/a", "/b/*"])x",
     R"x("/b/*" is compared letter by letter: the * stands for itself | write path.startsWith("/b/"))x"},
    {R"x(path == "*.php")x",
     R"x("*.php" is compared letter by letter: the * stands for itself | write path.endsWith(".php"))x"},
    {R"x(path == "*admin*")x",
     R"x("*admin*" is compared letter by letter: the * stands for itself | write path.contains("admin"))x"},
    {R"x(path == "/a/*/b.js")x",
     R"x("/a/*/b.js" is compared letter by letter: the * stands for itself | write path.matches(r"^/a/[^/]*/b\.js$"))x"},
    {R"x(path.startsWith("/api/*"))x",
     R"x("/api/*" is compared letter by letter: the * stands for itself | write path.startsWith("/api/"))x"},
    {R"x(path.endsWith("*.php"))x",
     R"x("*.php" is compared letter by letter: the * stands for itself | write path.endsWith(".php"))x"},
    {R"x(path.contains("/*/x"))x",
     R"x("/*/x" is compared letter by letter: the * stands for itself | write path.matches("/[^/]*/x"))x"},
    {R"x(url.lowerAscii().startsWith("/api/*"))x",
     R"x("/api/*" is compared letter by letter: the * stands for itself | write url.lowerAscii().startsWith("/api/"))x"},
    {R"x(host == "*.example.com")x",
     R"x("*.example.com" is compared letter by letter: the * stands for itself | write host.endsWith(".example.com"))x"},
    {R"x(host == "*")x",
     R"x(host is never "*": here it does not mean any host | leave the test out)x"},
    {R"x(header.user_agent == "*bot*")x",
     R"x("*bot*" is compared letter by letter: the * stands for itself | write header.user_agent.contains("bot"))x"},
    {R"x(user.contains("*test*"))x",
     R"x("*test*" is compared letter by letter: the * stands for itself | write user.contains("test"))x"},
    {R"x(user == "read:*")x", ""},
    {R"x(header.accept == "image/*")x", ""},
    {R"x(header.accept.contains("*/*"))x", ""},
    {R"x(header.if_match == "*")x", ""},
    {R"x(query.q == "*")x", ""},
    {R"x(path == "/api")x", ""},
};

constexpr Case kAlternatives[] = {
    {R"x(path == "/a|/b")x",
     R"x("/a|/b" is compared letter by letter: the | does not mean "or" | write path in ["/a", "/b"])x"},
    {R"x(path != "/a|/b")x",
     R"x("/a|/b" is compared letter by letter: the | does not mean "or" | write not (path in ["/a", "/b"]))x"},
    {R"x(path.contains("a|b"))x",
     R"x("a|b" is compared letter by letter: the | does not mean "or" | write path.contains("a") or path.contains("b"))x"},
    {R"x(header.user_agent.contains("bot|crawler"))x",
     R"x("bot|crawler" is compared letter by letter: the | does not mean "or" | write header.user_agent.contains("bot") or header.user_agent.contains("crawler"))x"},
    {R"x(path.startsWith("/a/*|/b/"))x",
     R"x("/a/*|/b/" is compared letter by letter: the | does not mean "or" | write path.startsWith("/a/") or path.startsWith("/b/"))x"},
    {R"x(path.contains("a|b|c|d|e|f|g|h"))x",
     R"x("a|b|c|d|e|f|g|h" is compared letter by letter: the | does not mean "or" | write a test for each, joined by or)x"},
    {R"x(method == "GET|POST")x",
     R"x("GET|POST" is compared letter by letter: a request has one method | write method in ["GET", "POST"])x"},
    {R"x(method == "GET, POST")x",
     R"x("GET, POST" is compared letter by letter: a request has one method | write method in ["GET", "POST"])x"},
    {R"x(method != "GET POST")x",
     R"x("GET POST" is compared letter by letter: a request has one method | write not (method in ["GET", "POST"]))x"},
    {R"x(method == "ANY")x",
     R"x(method is never "ANY": here it does not mean any method | leave the test out)x"},
    {R"x(method == "POSTT")x", R"x("POSTT" is a method of its own here | did you mean POST?)x"},
    {R"x(method in ["GET", "DELET"])x",
     R"x("DELET" is a method of its own here | did you mean DELETE?)x"},
    {R"x(method != "GTE")x", R"x("GTE" is a method of its own here | did you mean GET?)x"},
    {R"x(method in ["SET", "PURGE", "READ"])x", ""},  // methods of some apps
    {R"x(method.startsWith("POSTT"))x", ""},
    {R"x(method in ["get"])x", R"x(method is never "get": methods are in capitals | write "GET")x"},
    {R"x(user == "auth0|5f7")x", ""},
    {R"x(user.startsWith("auth0|"))x", ""},
};

constexpr Case kPatterns[] = {
    {R"x(path == "/users/{id}")x",
     R"x("/users/{id}" is compared letter by letter: {id} stands for itself | write path.matches("^/users/[^/]+$"))x"},
    {R"x(path == "/users/:id/x")x",
     R"x("/users/:id/x" is compared letter by letter: :id stands for itself | write path.matches("^/users/[^/]+/x$"))x"},
    {R"x(path == "^/api/.*")x",
     R"x("^/api/.*" is compared letter by letter: only matches() takes patterns | write path.matches("^/api/.*$"))x"},
    {R"x(path == "/api/(a|b)")x",
     R"x("/api/(a|b)" is compared letter by letter: only matches() takes patterns | write path.matches("^/api/(a|b)$"))x"},
    {R"x(path.endsWith(".*php"))x",
     R"x(".*php" is compared letter by letter: only matches() takes patterns | write path.matches(".*php$"))x"},
    {R"x(path.matches("/api/*"))x",
     R"x(in a pattern * repeats what is before it: / | write path.startsWith("/api/"), or .* for any text in a pattern)x"},
    {R"x(path.matches("^/api/*/x$"))x",
     R"x(in a pattern * repeats what is before it: / | write .* for any text, [^/]* for a segment)x"},
    {R"x(path.matches("/api/*.php"))x",
     R"x(in a pattern * repeats what is before it: / | write .* for any text, [^/]* for a segment)x"},
    {R"x(path.matches("/api/.*"))x", ""},
    {R"x(path.matches("^/api/*$"))x", ""},
    {R"x(path.matches("^/a[/*]/"))x", ""},
    {R"x(path.matches("/x"))x", ""},
    {R"x(header.referer.matches("^https?:/*x"))x", ""},
    {R"x(path == "/v1/users:batch")x", ""},
};

constexpr Case kSpellings[] = {
    {R"x(path.startsWith("api"))x",
     R"x(path never begins with "api": a path begins with / | write "/api")x"},
    {R"x(path.endsWith("/x/"))x",
     R"x(path never ends with "/x/": policies match a path without the slash at its end | write "/x", which holds for both)x"},
    {R"x(path.contains("?x="))x",
     R"x(path never contains "?x=": a path has no query | test the query by itself: query.name == "...")x"},
    {R"x(path.contains("../"))x",
     R"x(path never contains "../": policies match a path without dots at the end of a segment)x"},
    {R"x(path == "/caf%c3%a9")x",
     R"x(path is never "/caf%c3%a9": the digits of an escape are in capitals | write "/caf%C3%A9")x"},
    {R"x(path.contains("<script"))x",
     R"x(path never contains "<script": in a path, blanks, signs such as < and letters beyond ASCII are escaped | write "%3Cscript")x"},
    {R"x(url == "https://shop.example/a")x",
     R"x(url is never "https://shop.example/a": url is path and query, and begins with / | test the host by itself: host == "...")x"},
    {R"x(host == "https://shop.example/a")x",
     R"x(host is never "https://shop.example/a": a host comes without a scheme | write "shop.example")x"},
    {R"x(host == "shop.example/a")x",
     R"x(host is never "shop.example/a": a host comes without a path | write "shop.example")x"},
    {R"x(host == "shop.example.")x",
     R"x(host is never "shop.example.": a host comes without the dot at its end | write "shop.example")x"},
    {R"x(host.endsWith(".example."))x",
     R"x(host never ends with ".example.": a host comes without the dot at its end | write ".example")x"},
    {R"x(host.startsWith("shop."))x", ""},
    {R"x(host.endsWith(".Example.com"))x",
     R"x(host never ends with ".Example.com": a host is in small letters | write ".example.com")x"},
    {R"x(path.upperAscii() == "/A")x", ""},
    {R"x(path.startsWith("/api/"))x", ""},
    {R"x(path.startsWith("/a/") && path.endsWith(".php") && path.contains("/b/"))x", ""},
    {R"x(host.endsWith(":1]"))x", ""},
    {R"x(path.contains(""))x", ""},
    // The result of lowerAscii() and upperAscii() on an attribute; of two, the outer one counts.
    {R"x(path.lowerAscii() == "/caf%c3%a9")x", ""},
    {R"x(path.lowerAscii().contains("%3cscript"))x", ""},
    {R"x(path.lowerAscii().contains("<script"))x",
     R"x(path.lowerAscii() never contains "<script": in a path, blanks, signs such as < and letters beyond ASCII are escaped | write "%3cscript")x"},
    {R"x(path.lowerAscii() == "/caf%C3%a9")x",
     R"x(path.lowerAscii() is never "/caf%C3%a9": lowerAscii() gives small letters | write "/caf%c3%a9")x"},
    {R"x(path.upperAscii().trim() == "/CAF%C3%A9")x", ""},
    {R"x(host.upperAscii().trim() == "SHOP.EXAMPLE")x", ""},
    {R"x(host.upperAscii().lowerAscii().endsWith("Example"))x",
     R"x(host.upperAscii().lowerAscii() never ends with "Example": a host is in small letters | write "example")x"},
    {R"x(scheme.upperAscii() == "HTTPS")x", ""},
    {R"x(method.lowerAscii().trim() == "get")x", ""},
    {R"x(path == "/a;v=1")x",
     R"x("/a;v=1" does not find the parameters of a path: policies match a path without ;parameters | write "/a")x"},
    // Signs that a user looks for literally.
    {R"x(url.contains("/*"))x", ""},
    {R"x(url.contains("/**/"))x", ""},
    {R"x(url.contains("*/"))x", ""},
    {R"x(url.contains("..\\"))x", ""},
};

INSTANTIATE_TEST_SUITE_P(Stars, NeverWarnings, ::testing::ValuesIn(kStars));
INSTANTIATE_TEST_SUITE_P(Alternatives, NeverWarnings, ::testing::ValuesIn(kAlternatives));
INSTANTIATE_TEST_SUITE_P(Patterns, NeverWarnings, ::testing::ValuesIn(kPatterns));
INSTANTIATE_TEST_SUITE_P(Spellings, NeverWarnings, ::testing::ValuesIn(kSpellings));

TEST(NeverWarnings, CapitalsOfAFoldedPath) {
  EXPECT_EQ(said_of(R"x(path == "/Foo/%C3%A9")x"), "");
  EXPECT_EQ(
      said_of(R"x(path == "/Foo/%C3%A9")x", true),
      R"x(path is never "/Foo/%C3%A9": with proxy.path: {case: fold} a path is in lower case | write "/foo/%C3%A9")x");
  EXPECT_EQ(
      said_of(R"x(path.startsWith("/Foo"))x", true),
      R"x(path never begins with "/Foo": with proxy.path: {case: fold} a path is in lower case | write "/foo")x");
  EXPECT_EQ(
      said_of(R"x(path in ["/a", "/B"])x", true),
      R"x(path is never "/B": with proxy.path: {case: fold} a path is in lower case | write "/b")x");
  EXPECT_EQ(said_of(R"x(path == "/foo/%C3%A9")x", true), "");
  // A part may begin within an escape.
  EXPECT_EQ(said_of(R"x(path.contains("2F"))x", true), "");
  EXPECT_EQ(said_of(R"x(path.endsWith("C3%A9"))x", true), "");
  EXPECT_NE(said_of(R"x(path.contains("2FB"))x", true), "");
  EXPECT_NE(said_of(R"x(path.contains("Goo"))x", true), "");
}

/// There is no warning that no path has a text, if the path of some request has it.
TEST(NeverWarnings, SayNothingOfWhatSomePathHas) {
  const std::uint32_t seed = weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto any = [&](std::size_t n) { return random() % n; };
  const auto never = [](const std::string& text) {
    const std::string said = said_of(text);
    return said.find(" is never ") != std::string::npos ||
           said.find(" never contains ") != std::string::npos ||
           said.find(" never begins with ") != std::string::npos ||
           said.find(" never ends with ") != std::string::npos;
  };
  constexpr std::string_view kPieces[] = {
      "/", "a",   "B",   ".",   ";", "%3b", "%c3%A9", "%3C", "=", "~", "%61", "%2e", "%7c",
      "|", "%20", "%25", "%5b", "[", "-",   ":",      "@",   "'", "(", "+",   ",",   "%3f"};
  int paths = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string target = "/";
    for (std::size_t n = any(9); n > 0; --n) target += kPieces[any(std::size(kPieces))];
    std::vector<char> room(net::normal_path_room(target.size()));
    net::NormalTarget normal;
    PathRules rules;
    rules.fold_case = any(2) == 0;
    if (net::normalise_target(target, rules, room, normal) != net::HttpRefusal::none) continue;
    std::string path(normal.path);
    const bool lowered = any(2) == 0;
    if (lowered) std::transform(path.begin(), path.end(), path.begin(), ascii::lower);
    ++paths;
    const std::string subject = lowered ? "path.lowerAscii()" : "path";
    const std::size_t from = any(path.size()), size = 1 + any(path.size() - from);
    const std::pair<std::string, std::string> tests[] = {{" == ", path},
                                                         {".startsWith", path.substr(0, size)},
                                                         {".endsWith", path.substr(from)},
                                                         {".contains", path.substr(from, size)}};
    for (const auto& [function, text] : tests) {
      const bool call = function[0] == '.';
      const std::string test =
          subject + function + (call ? "(" : "") + expr::quoted(text) + (call ? ")" : "");
      EXPECT_FALSE(never(test)) << test << " of " << target;
    }
  }
  EXPECT_GT(paths, 1000);
}

/// RE2 refuses these by itself.
TEST(GlobErrors, SayWhatToWrite) {
  const auto hint_of = [](const std::string& text) {
    SlotTable table;
    Scope scope(table, "login");
    config::Problems problems;
    EXPECT_FALSE(compile_condition(text_at(text), scope, problems)) << text;
    return problems.all().at(0).hint;
  };
  EXPECT_EQ(hint_of(R"x(path.matches("*.php"))x"),
            R"x(in a pattern .* is any text; here write path.endsWith(".php"))x");
  EXPECT_EQ(hint_of(R"x(path.matches("^/api/**$"))x"),
            R"x(in a pattern .* is any text; here write path.startsWith("/api/"))x");
  EXPECT_EQ(hint_of(R"x(path.matches("(a"))x"), "patterns are RE2's");
}

/// The same texts as entries of a list and as keys of a table, which are looked up literally.
TEST(NeverEntries, AreWarnedOf) {
  const auto said = [](const std::string& yaml) {
    config::Loaded loaded = config::load_text("t.yaml", "weir: 1\n" + yaml);
    EXPECT_TRUE(loaded.model) << yaml;
    if (!loaded.model) return std::string();
    EXPECT_NE(compile(*loaded.model, loaded.problems), nullptr) << yaml;
    std::string out;
    for (const config::Problem& problem : loaded.problems.all())
      out += problem.message + " | " + problem.hint + "\n";
    return out;
  };
  EXPECT_EQ(said("lists: {l: {of: path, kind: deny, entries: ['/wp-admin/*', /xmlrpc.php]}}\n"),
            "\"/wp-admin/*\" is compared letter by letter: the * stands for itself | write whole "
            "values here; a policy can have when: 'path.startsWith(\"/wp-admin/\")'\n");
  EXPECT_EQ(said("lists: {l: {of: method, kind: deny, entries: [trace]}}\n"),
            "method is never \"trace\": methods are in capitals | write \"TRACE\"\n");
  const std::string rungs =
      "then: [{over: t, do: flag}, {over: t, in: 1h, do: deny, tell: nothing}]";
  EXPECT_EQ(said("tables: {t: {by: path, values: {/a/*: 5, /b: 6, '*': 7}}}\npolicies: [{name: p, "
                 "watch: request, key: ip, window: 1m, " +
                 rungs + "}]\n"),
            "\"/a/*\" is compared letter by letter: the * stands for itself | write whole values "
            "here; a policy can have when: 'path.startsWith(\"/a/\")'\n");
}

}  // namespace
}  // namespace weir::policies::test::never_warnings_test
