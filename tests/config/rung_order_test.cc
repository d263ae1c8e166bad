#include <gtest/gtest.h>

#include "config/load.h"

namespace weir::config::rung_order_test {
namespace {

/// The rungs that never act, by their index.
std::vector<std::size_t> idle_rungs(std::string_view rungs, std::string_view head = "window: 1m") {
  std::string text =
      "weir: 1\nlists: {l: {of: ip, kind: gray}}\nnotify: {ops: {log: true}}\n"
      "tables: {t: {by: ip, values: {\"*\": 5}}}\n"
      "events: {a: {match: GET /a}, b: {match: GET /b}}\n"
      "policies:\n  - name: p\n    key: ip\n    " +
      std::string(head) + "\n" +
      (head.find("sequence") == std::string_view::npos ? "    watch: request\n" : "") +
      "    then:\n" + std::string(rungs);
  const Loaded loaded = load_text("weir.yaml", text);
  EXPECT_FALSE(loaded.problems.has_errors())
      << render_human(loaded.problems, loaded.views(), false);
  if (!loaded.model) return {};
  std::vector<std::size_t> out;
  const auto& then = loaded.model->policies.front().then;
  for (const Problem& problem : loaded.problems.all()) {
    if (!problem.message.starts_with("this rung never acts")) continue;
    for (std::size_t i = 0; i < then.size(); ++i) {
      if (then[i].where.line == problem.where.line) out.push_back(i);
    }
  }
  return out;
}

using Rungs = std::vector<std::size_t>;

TEST(RungOrder, a_rung_that_only_tells_is_outdone_by_any_that_acts) {
  EXPECT_EQ(idle_rungs("      - {over: 5, do: flag}\n      - {over: 10, notify: ops}\n"), Rungs{1});
  EXPECT_EQ(idle_rungs("      - {over: 5, notify: ops}\n      - {over: 5, do: flag}\n"), Rungs{0});
  EXPECT_EQ(idle_rungs("      - {over: 5, score: 3}\n      - {at: 5, do: graylist, for: 1m}\n"),
            Rungs{0});
  EXPECT_EQ(
      idle_rungs("      - {over: 5, notify: ops}\n      - {over: 5, notify: ops, score: 1}\n"),
      Rungs{0})
      << "of equally severe ones the later acts";
  EXPECT_EQ(idle_rungs("      - {under: 5, notify: ops}\n      - {under: 6, do: flag}\n"),
            Rungs{0});
  EXPECT_EQ(idle_rungs("      - {over: t, notify: ops}\n      - {over: t, do: flag}\n"), Rungs{0});
  EXPECT_EQ(
      idle_rungs("      - {over: 9, if: 'value > 1', notify: ops}\n      - {over: 5, do: flag}\n"),
      Rungs{0});
  EXPECT_EQ(
      idle_rungs("      - {notify: ops}\n      - {do: flag}\n", "sequence: [a, b]\n    within: 1m"),
      Rungs{0})
      << "a pattern's rungs always hold";
}

TEST(RungOrder, a_rung_that_acts_somewhere_is_well) {
  for (const char* rungs :
       {"      - {over: 5, notify: ops}\n      - {over: 10, do: flag}\n",
        "      - {over: 5, do: flag}\n      - {over: 10, do: flag, notify: ops}\n",
        "      - {over: 5, do: flag}\n      - {over: 10, do: deny, for: 1m}\n",
        "      - {at: 5, notify: ops}\n      - {over: 5, do: flag}\n",
        "      - {over: 10, in: 1h, notify: ops}\n      - {over: 5, do: flag}\n",
        "      - {over: 10, notify: ops}\n      - {over: 5, if: 'value > 20', do: flag}\n",
        "      - {over: 10, notify: ops}\n      - {over: 5, do: flag, mode: shadow}\n",
        "      - {over: 10, notify: ops}\n      - {over: 5, do: flag, mode: disabled}\n",
        "      - {over: 10, notify: ops}\n      - {under: 50, do: flag}\n",
        "      - {over: 10, notify: ops}\n      - {over: 5, do: graylist, list: l, for: 1m}\n",
        "      - {over: t, notify: ops}\n      - {over: 5, do: flag}\n"}) {
    EXPECT_EQ(idle_rungs(rungs), Rungs{}) << rungs;
  }
  EXPECT_EQ(idle_rungs("      - {do: flag}\n      - {over: 3, notify: ops}\n",
                       "window: {leaky: 5, drain: 1s}"),
            Rungs{});
}

TEST(RungOrder, the_warning_says_what_to_write) {
  const Loaded loaded = load_text("weir.yaml", R"(weir: 1
notify: {ops: {log: true}}
policies:
  - name: p
    watch: request
    window: 1m
    then:
      - {over: 5, do: flag}
      - {over: 10, notify: ops}
)");
  EXPECT_EQ(
      render_human(loaded.problems, loaded.views(), false),
      R"(weir.yaml:9:9: warning: this rung never acts: where it holds, {over: 5, do: flag} holds too, and only the severest acts
  9 |       - {over: 10, notify: ops}
    |         ^ give it that "do" as well, or write notify: ops there: rungs without "do" are the least severe
1 warning in 1 file
)");
}

}  // namespace
}  // namespace weir::config::rung_order_test
