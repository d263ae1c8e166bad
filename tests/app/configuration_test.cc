#include "app/support/configuration.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "app/support/recipes.h"
#include "tests/support/seed.h"

namespace weir::app::configuration_test {
namespace {

/// Where errors are: lines from 1.
std::set<std::uint32_t> lines_of(const std::string& yaml) {
  const Configuration made = compile(config::load_text("weir.yaml", yaml));
  std::set<std::uint32_t> out;
  for (const config::Problem& problem : made.loaded.problems.all()) {
    if (problem.severity == config::Problem::Severity::error) out.insert(problem.where.line);
  }
  EXPECT_EQ(made.good(), out.empty());
  return out;
}

const std::string kHead =
    "weir: 1\n"
    "events: {login: {match: POST /api/login, fields: {user: body.username}}}\n"
    "lists: {office: {of: ip, kind: allow, entries: [10.0.0.0/8]}}\n"
    "policies:\n";

TEST(Configuration, EveryProblemIsToldAtOnce) {
  EXPECT_EQ(
      lines_of(
          kHead +
          "  - {name: a, watch: login, key: ip, windw: 10m, then: [{over: 5, do: flag}]}\n"
          "  - {name: b, watch: login, when: 'user > 5 + \"x\"', key: ip, window: 10m, "
          "then: [{over: 5, do: flag}]}\n"
          "  - {name: c, watch: login, key: nobody, window: 10m, then: [{over: 5, do: flag}]}\n"
          "  - {name: d, watch: logn, key: ip, window: 10m, then: [{over: 5, do: flag}]}\n"
          "  - {name: e, watch: login, key: ip, window: 10m, then: [{over: 5, do: flag}]}\n"
          "views:\n"
          "  - {name: v, watch: login, by: nothing, metric: count, window: {every: 1m}}\n"
          "  - {name: w, watch: login, by: ip, metrc: count, window: {every: 1m}}\n"
          "proxy: {timeouts: {conect: 1s}}\n"),
      (std::set<std::uint32_t>{5, 6, 7, 8, 11, 12, 13}));
}

/// The errors of an event with this route; a hint follows " | ".
std::vector<std::string> errors_of_route(const std::string& route) {
  const Configuration made =
      compile(config::load_text("weir.yaml", "weir: 1\nevents:\n  e: {match: '" + route +
                                                 "'}\npolicies: [{name: p, watch: e, "
                                                 "window: 10m, then: [{over: 5, do: flag}]}]\n"));
  std::vector<std::string> out;
  for (const config::Problem& problem : made.loaded.problems.all()) {
    EXPECT_EQ(problem.where.line, 3U);
    EXPECT_EQ(problem.where.column, 14U + route.find('/')) << route;
    out.push_back(problem.hint.empty() ? problem.message : problem.message + " | " + problem.hint);
  }
  return out;
}

TEST(Configuration, RoutesThatNoPathMatchesAreErrors) {
  for (const char* fine : {"GET /", "* /*", "GET /a/{id}/*", "GET /a%7Cb", "GET /caf%C3%A9",
                           "GET /a/", "GET /A:b@c!$&'',=~"}) {
    EXPECT_EQ(errors_of_route(fine), std::vector<std::string>{}) << fine;
  }
  for (const char* doubtful : {"GET /a%2Fb", "GET /%5C", "GET /a/%FF"}) {
    const auto warnings = errors_of_route(doubtful);
    ASSERT_EQ(warnings.size(), 1U) << doubtful;
    EXPECT_TRUE(warnings[0].starts_with("where a policy can refuse")) << warnings[0];
  }
  for (const char* never : {"GET /%00", "GET /%zz", "GET /a/%4"}) {
    const auto errors = errors_of_route(never);
    ASSERT_EQ(errors.size(), 1U) << never;
    EXPECT_TRUE(errors[0].starts_with("no request can have this path")) << errors[0];
  }
  const std::pair<const char*, const char*> others[] = {{"GET /caf\xc3\xa9", "/caf%C3%A9"},
                                                        {"GET /%41", "/A"},
                                                        {"GET /a%7c", "/a%7C"},
                                                        {"GET /a%2fb", "/a%2Fb"},
                                                        {"GET /{id}/b./c", "/x/b/c"}};
  for (const auto& [other, normal] : others) {
    const auto errors = errors_of_route(other);
    ASSERT_EQ(errors.size(), 1U) << other;
    EXPECT_EQ(errors[0],
              "paths are matched in their normal form, which this one is not | its normal "
              "form is " +
                  std::string(normal));
  }
}

TEST(Configuration, NothingIsToldThatOnlyFollows) {
  const std::string policy =
      "  - {name: a, watch: login, when: 'user == \"x\"', key: user, window: 10m, then: [{over: 5, "
      "do: flag}]}\n"
      "  - {name: b, watch: login, key: nobody, window: 10m, then: [{over: 5, do: flag}]}\n";
  // The event's fields are not known: expressions that read them may be right.
  EXPECT_EQ(lines_of("weir: 1\n"
                     "events: {login: {match: POST /api/login, felds: {user: body.username}}}\n"
                     "policies:\n" +
                     policy),
            (std::set<std::uint32_t>{2}));
  EXPECT_EQ(lines_of("weir: 1\n"
                     "events: {login: {match: POST /api/login, fields: {user: body.username}}}\n"
                     "tables: {t: {by: user, file: missing.csv}}\n"
                     "policies:\n" +
                     policy),
            (std::set<std::uint32_t>{3, 6}));
}

/// A mistake in an event, a field, a list, a table or a whole file hides none elsewhere, and those
/// that only follow from it are not told.
TEST(Configuration, WhatCannotBeReadHidesNothing) {
  struct Case {
    const char* what;
    std::string yaml;
    std::set<std::uint32_t> lines;
  };
  const auto policies = [](const std::string& first, const std::string& second) {
    return "policies:\n  - {name: a, key: ip, window: 10m, then: [{over: 5, do: flag}], " + first +
           "}\n  - {name: b, key: ip, window: 10m, then: [{over: 5, do: flag}], " + second + "}\n";
  };
  const std::string login = "events: {login: {match: POST /api/login}}\n";
  const Case cases[] = {
      {"an event without a route",
       "events: {login: {match: login}}\n" +
           policies("watch: login, when: 'user == \"x\"'", "watch: login, when: 'ip + 1 > 2'"),
       {2, 5}},
      {"an event whose route does not compile",
       "events: {login: {match: GET /a/./b}}\n" +
           policies("watch: login, when: 'user == \"x\"'", "watch: login, when: 'ip + 1 > 2'"),
       {2, 5}},
      {"a list whose kind is none",
       "lists: {bad: {of: ip, kind: blok}}\n"
       "policies: [{name: p, watch: request, key: ip, window: 10m, then: [{over: 5, do: deny, for: "
       "1h, list: "
       "bad}]}]\n",
       {2}},
      {"an event of a name that is none",
       "events: {log-in: {match: GET /a}}\n" +
           policies("watch: log-in", "watch: log-in, when: 'ip + 1 > 2'"),
       {2, 5}},
      {"an event whose parent is not there",
       "events: {a: {is: nothing}}\n" +
           policies("watch: a, when: user == 1", "watch: request, when: 'user == 1'"),
       {2, 5}},
      {"events that are kinds of themselves",
       "events: {a: {is: b}, b: {is: a}}\n" +
           policies("watch: [a, b], when: user == 1", "watch: b, when: 'ip + 1 > 2'"),
       {2, 5}},
      {"a field that is not text",
       "fields: {user: [body.username], tier: header.x_tier}\n" + login +
           policies("watch: login, when: 'size(user) > 5 and user + 1 > 2'",
                    "watch: login, when: nobody == 1"),
       {2, 6}},
      {"a field whose expression is wrong",
       "fields: {user: 'ip + 1', tier: header.x_tier}\n" + login +
           policies("watch: login, when: 'user + 1 > 2'", "watch: login, when: 'tier + 1 > 2'"),
       {2, 6}},
      {"a field of an event",
       "events: {login: {match: POST /a, fields: {user: {a: b}}}}\n" +
           policies("watch: login, when: 'user > 1'", "watch: login, when: nobody == 1"),
       {2, 5}},
      {"a list without its fields",
       "lists: {banned: {kind: deny}}\n" +
           policies("watch: request, when: 'inList(\"banned\", ip, path)'",
                    "watch: request, when: 'inList(\"baned\", ip)'"),
       {2, 5}},
      {"a table with a limit that is none",
       "tables: {t: {by: path, values: {/a: many}}}\n" +
           policies("watch: request, when: 'lookup(\"t\", path, ip) == 1'",
                    "watch: request, when: 'ip + 1 > 2'"),
       {2, 5}},
      {"sections of the server",
       "proxy: {timeouts: {conect: 1s}}\ndefaults: {windw: 1}\n" +
           policies("watch: request", "watch: request, when: 'ip + 1 > 2'"),
       {2, 3, 6}},
      {"a policy with two mistakes",
       policies("watch: request", "watch: request, windw: 1m,\n    when: 'ip + 1 > 2'"),
       {4, 5}},
      {"a policy without a window, and a key that is none",
       "policies:\n  - name: a\n    watch: request\n    key: nobody\n    then: [{over: 5, do: "
       "flag}]\n",
       {3, 5}},
  };
  for (const Case& c : cases) EXPECT_EQ(lines_of("weir: 1\n" + c.yaml), c.lines) << c.what;
}

TEST(Configuration, AFileThatCannotBeReadHidesNothingInTheOthers) {
  const Configuration made = compile(config::load_texts(
      {{"weir.yaml",
        "weir: 1\npolicies:\n"
        "  - {name: a, watch: there, key: user, window: 1m, then: [{over: 5, do: deny, for: 1h, "
        "list: banned}]}\n"
        "  - {name: b, watch: request, key: ip, window: 1m, when: 'ip + 1 > 2', then: [{over: 5, "
        "do: deny}]}\n",
        false,
        {}},
       {"events.yaml", "events: {there: {match: GET /a}\n", false, {}}}));
  std::set<std::string> places;
  for (const config::Problem& problem : made.loaded.problems.all())
    places.insert(made.loaded.files[problem.where.file].name + ":" +
                  std::to_string(problem.where.line));
  EXPECT_EQ(places.count("weir.yaml:4"), 1U);
  EXPECT_EQ(places.count("weir.yaml:3"), 0U);
}

TEST(Configuration, NoWarningIsMadeUpByWhatIsWrongElsewhere) {
  const Configuration made = compile(config::load_text(
      "weir.yaml",
      "weir: 1\n"
      "fields: {user: header.x_user}\n"
      "policies:\n"
      "  - {name: a, watch: request, key: user, windw: 10m, then: [{over: 5, do: flag}]}\n"
      "  - {name: b, watch: request, key: user, window: 10m, then: [{over: 5, do: deny}]}\n"));
  EXPECT_EQ(made.loaded.problems.errors(), 1U);
  EXPECT_EQ(made.loaded.problems.warnings(), 0U);
}

TEST(Configuration, EachMistakeIsToldWhateverElseIsWrong) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::array<std::string, 8> mistakes = {
      "windw: 10m, key: ip",
      "window: 10m, key: nobody",
      "window: 10m, key: ip, when: 'ip + 1 > 2'",
      "window: 10m, key: ip, when: 'user == '",
      "window: ten, key: ip",
      "window: 10m, key: ip, guard: nothing",
      "window: 10m, key: ip, metric: sum(user.x",
      "window: {last: 1h, calendar: day}, key: ip",
  };
  for (int round = 0; round < 200; ++round) {
    std::string yaml = kHead;
    std::set<std::uint32_t> wrong;
    for (std::uint32_t line = 5; line < 15; ++line) {
      const bool is_wrong = random() % 3 == 0;
      if (is_wrong) wrong.insert(line);
      yaml += "  - {name: p" + std::to_string(line) + ", watch: login, " +
              (is_wrong ? mistakes[random() % mistakes.size()] : "window: 10m, key: user") +
              ", then: [{over: 5, do: flag}]}\n";
    }
    EXPECT_EQ(lines_of(yaml), wrong) << yaml;
  }
}

TEST(Configuration, WhatIsHalfRightIsCompiledWithoutHarm) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::size_t drafts = 0;
  for (const Recipe& recipe : recipes()) {
    for (int round = 0; round < 60; ++round) {
      std::string text(recipe.text);
      for (std::uint64_t change = random() % 3; change-- != 0;) {
        const std::size_t at = random() % text.size();
        if (random() % 2 == 0) {
          text[at] = "x:{}[],'\"5 \n-"[random() % 13];
        } else {
          text.erase(at, 1 + random() % 12);
        }
      }
      const Configuration made = compile(config::load_text("weir.yaml", text));
      EXPECT_NE(made.good(), made.loaded.problems.has_errors()) << text;
      if (made.loaded.draft) ++drafts;
    }
  }
  EXPECT_GT(drafts, 0U);
}

}  // namespace
}  // namespace weir::app::configuration_test
