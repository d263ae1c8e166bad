#include "config/text/merge.h"

#include <gtest/gtest.h>

#include "config/load.h"

namespace weir::config::merge_test {
namespace {

std::string spelling_of(std::string_view text) {
  Problems problems;
  const Tree tree = parse_tree(text, 0, problems);
  return tree.root() == nullptr ? "" : spelling(*tree.root());
}

std::string shown(const Loaded& loaded) {
  return render_human(loaded.problems, loaded.views(), false);
}

TEST(Spelling, layout_and_order_make_no_difference_but_words_do) {
  const std::string one = spelling_of("{of: ip, kind: gray, entries: [a, {key: b, why: 'c d'}]}");
  EXPECT_EQ(
      spelling_of("kind: gray   # why\nof: ip\nentries:\n  - a\n  - why: 'c d'\n    key: b\n"),
      one);
  for (const char* other :
       {"{of: ip, kind: deny, entries: [a, {key: b, why: 'c d'}]}",
        "{of: ip, kind: gray, entries: [{key: b, why: 'c d'}, a]}",
        "{of: ip, kind: gray, entries: [a, {key: b, why: c}]}",
        "{of: ip, kind: gray, entries: ['a', {key: b, why: 'c d'}]}",
        "{of: ip, kind: gray, entries: [a, {key: b}]}", "{of: ip, kind: gray}", "[]", "x"}) {
    EXPECT_NE(spelling_of(other), one) << other;
  }
  EXPECT_NE(spelling_of("{a: 1b}"), spelling_of("{a1: b}"));
  EXPECT_NE(spelling_of("[a, b]"), spelling_of("[[a], b]"));
}

constexpr std::string_view kPart =
    "fields: {user: header.x_user_id}\n"
    "events: {login: {match: POST /login, fields: {name: body.name}}}\n"
    "lists: {gray_users: {of: user, kind: gray}}\n"
    "tables: {most: {by: user, values: {\"*\": 5}}}\n"
    "notify: {ops: {log: true}}\n";

TEST(MergeEqual, what_several_files_define_alike_is_one) {
  const Loaded loaded = load_texts(
      {{"weir.yaml", "weir: 1\n" + std::string(kPart)},
       {"a.yaml", std::string(kPart)},
       {"b.yaml", "lists:\n  gray_users:\n    kind: gray   # in another layout\n    of: user\n"}});
  EXPECT_EQ(shown(loaded), "");
  ASSERT_TRUE(loaded.model);
  EXPECT_EQ(loaded.model->fields.size(), 1U);
  EXPECT_EQ(loaded.model->events.size(), 1U);
  EXPECT_EQ(loaded.model->lists.size(), 1U);
  EXPECT_EQ(loaded.model->tables.size(), 1U);
  EXPECT_EQ(loaded.model->notify.size(), 1U);
}

TEST(MergeEqual, what_two_files_define_differently_names_both) {
  const Loaded loaded = load_texts({{"weir.yaml", "weir: 1\n"},
                                    {"a.yaml", "fields:\n  user: header.x_user_id\n"},
                                    {"b.yaml", "fields: {user: cookie.uid}\n"}});
  EXPECT_EQ(shown(loaded),
            R"(b.yaml:1:10: error: field "user" is defined in two files, and the definitions differ
  1 | fields: {user: cookie.uid}
    |          ^~~~ the other one is at a.yaml:2
1 error in 1 file
)");
}

TEST(MergeEqual, policies_and_views_are_never_merged) {
  const std::string text =
      "policies: [{name: p, watch: request, window: 1m, then: [{over: 1, do: flag}]}]\n";
  const Loaded loaded = load_texts({{"weir.yaml", "weir: 1\n" + text}, {"a.yaml", text}});
  EXPECT_NE(shown(loaded).find("policy \"p\" is defined twice"), std::string::npos)
      << shown(loaded);
}

}  // namespace
}  // namespace weir::config::merge_test
