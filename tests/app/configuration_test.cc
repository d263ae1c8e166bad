#include "app/support/configuration.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "app/support/recipes.h"

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

/// The errors of an event with this route; a hint stands behind " | ".
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
  // The event's fields are not known: what reads them may be right.
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
            (std::set<std::uint32_t>{3}));
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
  const std::uint64_t seed = std::random_device{}();
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
  const std::uint64_t seed = std::random_device{}();
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
