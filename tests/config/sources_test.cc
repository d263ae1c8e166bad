#include <gtest/gtest.h>

#include "config/load.h"
#include "config/table_check.h"
#include "config/table_edit.h"
#include "config/text/table_file.h"

namespace weir::config::sources_test {
namespace {

Loaded load(const std::string& text) { return load_text("weir.yaml", "weir: 1\n" + text); }

std::string first_problem(const std::string& text) {
  const Loaded loaded = load(text);
  return loaded.problems.all().empty() ? "" : loaded.problems.all().front().message;
}

TEST(Sources, OfListsAreFilesAndUrls) {
  const Loaded loaded = load(
      "lists:\n"
      "  a: {of: ip, kind: deny, file: bad.txt}\n"
      "  b: {of: ip, kind: deny, url: https://lists.example.net/bad.txt}\n"
      "  c: {of: ip, kind: deny, url: {url: https://lists.example.net/bad.txt, every: 5m, sha256: "
      "https://lists.example.net/bad.sha256, token_file: token, ca_file: ca.pem}}\n");
  ASSERT_TRUE(loaded.model) << loaded.problems.all().front().message;
  const std::vector<ListDef>& lists = loaded.model->lists;
  EXPECT_EQ(lists[0].file->value, "bad.txt");
  EXPECT_EQ(lists[1].url->every, std::chrono::minutes{1});
  EXPECT_EQ(lists[2].url->every, std::chrono::minutes{5});
  EXPECT_EQ(lists[2].url->sha256->value, "https://lists.example.net/bad.sha256");
}

TEST(Sources, ThatMakeNoSenseAreErrors) {
  const auto list = [](const std::string& source) {
    return first_problem("lists: {a: {of: ip, kind: deny, " + source + "}}\n");
  };
  EXPECT_EQ(list("url: ftp://x/y"), "\"ftp://x/y\" is not a URL that weir can fetch");
  EXPECT_EQ(list("url: {every: 5m}"), "what is fetched needs \"url\"");
  EXPECT_EQ(list("file: x, url: https://x/y"), "a list has \"file\" or \"url\", not both");
  EXPECT_EQ(list("url: {url: https://x/y, sha256: abc}"), "\"abc\" is neither a SHA-256 nor a URL");
  EXPECT_EQ(list("url: {url: https://x/y, signed_by: abc}"), "\"abc\" is not a public key");
  EXPECT_EQ(list("url: http://x/y"),
            "anybody on the network path can change what comes over http://");
  EXPECT_EQ(list("url: {redis: key}"),
            "a list does not come from a Redis key: entries of all replicas are those of \"share: "
            "redis\"");
}

TEST(Sources, OfIncludesAreUrlsAndKeys) {
  const Loaded loaded = load("include: [a.yaml, https://x/y.yaml, {redis: policies, every: 5s}]\n");
  ASSERT_TRUE(loaded.model);
  ASSERT_EQ(loaded.model->remotes.size(), 2u);
  EXPECT_EQ(loaded.model->remotes[0].name(), "https://x/y.yaml");
  EXPECT_EQ(loaded.model->remotes[1].name(), "redis:policies");
}

TEST(Sources, ApprovalIsAWordOfTheAdminDoor) {
  const Loaded loaded = load("admin: {approval: true}\n");
  ASSERT_TRUE(loaded.model);
  EXPECT_TRUE(loaded.model->server.admin.approval);
}

class Edits : public testing::Test {
 protected:
  std::string put(std::vector<std::string> path, std::optional<Number> limit) {
    return apply(TableEdit{"t", {{std::move(path), limit}}}, model_);
  }
  std::string all() const {
    std::string out;
    for (const TableCell& cell : cells_of(model_.tables.front()))
      out += path_text(cell.path) + "=" + limit_text(cell.limit) + " ";
    return out;
  }
  Model model_ = *load(
                      "fields: {a: header.x_a, b: header.x_b}\n"
                      "tables: {t: {by: [a, b], values: {x: {y: 1, \"*\": 2}, \"*\": 3}}}\n")
                      .model;
};

TEST_F(Edits, SetAndTakeOutLimits) {
  EXPECT_EQ(put({"x", "y"}, 10), "");
  EXPECT_EQ(put({"new", "z"}, 5), "");
  EXPECT_EQ(put({"x", "*"}, std::nullopt), "");
  EXPECT_EQ(all(), "x,y=10 *=3 new,z=5 ");
  EXPECT_EQ(put({"new", "z"}, std::nullopt), "");
  EXPECT_EQ(all(), "x,y=10 *=3 ") << "a level that is empty goes as well";
}

TEST_F(Edits, SayWhatIsWrong) {
  EXPECT_EQ(put({"x"}, 1), "\"x\" has limits below it: set one of them, such as x,*");
  EXPECT_EQ(put({"*", "y"}, 1), "\"*\" is a limit already, 3: take it out to set others below it");
  EXPECT_EQ(put({"x", "y", "z"}, 1), "\"x,y,z\" has 3 values, and the table is by 2");
  EXPECT_EQ(apply(TableEdit{"none", {}}, model_), "there is no table of that name");
}

TEST_F(Edits, ReadPathsWithCommasSlashesOrDots) {
  const TableDef& table = model_.tables.front();
  const std::vector<std::string> xy{"x", "y"};
  EXPECT_EQ(read_path(table, "x,y"), xy);
  EXPECT_EQ(read_path(table, "x/y"), xy);
  EXPECT_EQ(read_path(table, "x.y"), xy);
  EXPECT_EQ(read_path(table, "x,1.5"), (std::vector<std::string>{"x", "1.5"}));
  EXPECT_EQ(read_path(table, "*"), (std::vector<std::string>{"*"}));
}

TEST_F(Edits, SayThatAKeyHasTooManyValues) {
  const TableDef& table = model_.tables.front();
  EXPECT_EQ(wrong_path(table, "x,y"), "");
  EXPECT_EQ(wrong_path(table, "x"), "") << "one limit for all that follow";
  EXPECT_EQ(wrong_path(table, "x/y/z"), "") << "a value may have slashes";
  EXPECT_EQ(wrong_path(table, "x,y,z"), "\"x,y,z\" has 3 values, and the table is by a, b");
  EXPECT_EQ(put({"new", "y,z"}, 1), "");
  EXPECT_EQ(wrong_path(table, "new,y,z"), "") << "the file has a value with a comma";
}

TEST(Limits, BelowZeroAreToldOfWhatIsNeverBelow) {
  const auto told = [](const char* metric, const char* values) {
    const std::string amount = std::string(metric) == "count" ? "" : "(int(header.x_gold))";
    const Loaded loaded =
        load(("fields: {a: header.x_a, b: header.x_b}\n"
              "tables: {t: {by: [a, b], values: {x: {y: 1, \"*\": " +
              std::string(values) + "}}}}\npolicies: [{name: p, watch: request, key: ip, metric: " +
              metric + amount + ", window: 1h, then: [{over: t, do: deny}]}]\n"));
    std::string out;
    for (const Problem& problem : loaded.problems.all()) {
      if (problem.message.find("makes no sense") != std::string::npos)
        out += std::to_string(problem.where.line) + ": " + problem.message;
    }
    return out;
  };
  const std::string warning =
      "3: table \"t\": the limit -5 of \"x,*\" makes no sense: nothing is counted below 0";
  EXPECT_EQ(told("count", "5"), "");
  EXPECT_EQ(told("count", "-5"), warning);
  EXPECT_EQ(told("sum", "-5"), warning);
  EXPECT_EQ(told("min", "-5"), "");
  const Model unasked =
      *load("fields: {a: header.x_a}\ntables: {t: {by: a, values: {x: -1}}}\n").model;
  EXPECT_TRUE(may_be_negative(unasked, "t"));
}

TEST(Limits, BeyondSixtyFourBitsAreErrors) {
  const std::string wrong = "\"99999999999999999999\" does not fit into 64 bits";
  EXPECT_EQ(first_problem("policies: [{name: p, watch: request, key: ip, window: 1h, then: [{over: "
                          "99999999999999999999, do: deny}]}]\n"),
            wrong);
  EXPECT_EQ(first_problem("fields: {a: header.x_a}\ntables: {t: {by: a, values: {x: "
                          "99999999999999999999}}}\n"),
            wrong);
  TableDef table;
  table.by = {{"a", {}}};
  table.file = Text{"t.csv", {}};
  Problems problems;
  fill_table(table, "x,99999999999999999999\n", problems);
  ASSERT_EQ(problems.all().size(), 1u);
  EXPECT_EQ(problems.all()[0].message,
            "t.csv:1: " + wrong +
                ": a whole number is between -9223372036854775808 and 9223372036854775807");
}

/// The warnings of limits that cannot be reached, of a table with the limits 5 and `high`.
std::string unreachable(const std::string& high, const std::string& policy) {
  const Loaded loaded = load(
      "fields: {a: header.x_a, b: header.x_b}\n"
      "tables: {t: {by: [a, b], values: {x: {y: 5, \"*\": " +
      high + "}}}}\npolicies: [{name: p, watch: request, key: ip, " + policy + "}]\n");
  std::string out;
  for (const Problem& problem : loaded.problems.all()) {
    if (problem.message.find("table \"t\"") != std::string::npos)
      out += std::to_string(problem.where.line) + ":" + std::to_string(problem.where.column) + " " +
             problem.message + "\n";
  }
  return out;
}

TEST(Limits, AboveTheLargestReadingAreTold) {
  const std::string place = "3:50 table \"t\": the limit ";
  const auto warning = [&](const std::string& limit, const std::string& text) {
    return place + limit + " of \"x,*\" in policy \"p\" " + text + "\n";
  };
  const std::string kept = "metric: distinct(path), window: 1h, then: [{over: t, do: deny}]";
  EXPECT_EQ(unreachable("999", kept), "");
  EXPECT_EQ(unreachable("unlimited", kept), "");
  EXPECT_EQ(unreachable("1000", kept),
            warning("1000", "can never hold: this metric reads at most keep, which is 1000"));
  EXPECT_EQ(unreachable("1000", "keep: 2000, " + kept), "");
  const std::string at = "window: {last: 1h, exact: true}, then: [{at: t, do: deny}]";
  EXPECT_EQ(unreachable("1000", at), "");
  EXPECT_EQ(unreachable("1001", at),
            warning("1001", "can never hold: this metric reads at most keep, which is 1000"));
  EXPECT_EQ(unreachable("20", "window: {events: 20}, then: [{over: t, do: deny}]"),
            warning("20", "can never hold: the window has at most 20 events"));
  const std::string rate = "window: {rate: 1/s, burst: 20}, then: [{over: t, do: deny}]";
  EXPECT_EQ(unreachable("20", rate), "");
  EXPECT_EQ(unreachable("21", rate),
            warning("21", "is above the largest reading of the rate: its burst of 20, and 1 more"));
  EXPECT_EQ(unreachable("50001", "window: 1h, then: [{under: t, do: deny}]"),
            warning("50001", "always holds: this metric reads at most keep, which is 50000"));
  EXPECT_EQ(unreachable("1000000", "window: 1h, then: [{over: t, do: deny}]"), "")
      << "a count in buckets has no bound";
  EXPECT_EQ(unreachable("1000000", "window: 1h, then: [{over: t + 1, do: deny}]"), "");
}

TEST(Limits, AreBeyondTheReadingOnlyIfNoPolicyReachesThem) {
  const std::string both =
      "fields: {a: header.x_a}\ntables: {t: {by: a, values: {\"*\": 5}}}\npolicies:\n"
      "- {name: p, watch: request, key: a, window: {events: 20}, then: [{over: t, do: deny}]}\n";
  const Model one = *load(both).model;
  EXPECT_EQ(beyond_reading(one, "t", Number{19}), "");
  EXPECT_EQ(beyond_reading(one, "t", Number{20}),
            "can never hold: the window has at most 20 events");
  EXPECT_EQ(beyond_reading(one, "other", Number{20}), "");
  const Model two =
      *load(both + "- {name: q, watch: request, key: a, window: 1h, then: [{over: t, do: deny}]}\n")
           .model;
  EXPECT_EQ(beyond_reading(two, "t", Number{20}), "");
}

}  // namespace
}  // namespace weir::config::sources_test
