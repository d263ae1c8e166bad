// The facts that a set knows before its first event (compile_shortcuts.cc).
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/policies/world.h"

namespace weir::policies::compile_shortcuts_test {
namespace {

constexpr const char* kEvents = R"(
events:
  login: {match: POST /login, fields: {user: query.user, lon: double(query.lon), lat: double(query.lat)}}
  failed: {is: login, when: status == 401}
  pay: {match: POST /pay}
)";

/// The set of these policies; `rest`: further sections of the file.
struct Compiled {
  explicit Compiled(const std::string& policies, const std::string& rest = {})
      : world(kEvents + rest + "policies:\n" + policies) {}
  const PolicySet& set() const { return *world.set_; }
  const Binding& binding(std::string_view policy, std::size_t k = 0) const {
    return set().find_policy(policy)->bindings.at(k);
  }
  World world;
};

/// A policy of one rung over `key` (as YAML).
std::string policy(const std::string& name, const std::string& key, const std::string& rung,
                   const std::string& more = {}) {
  return "  - {name: " + name + ", watch: login, key: " + key + ", window: 1m, " + more +
         "then: [" + rung + "]}\n";
}

TEST(CompileShortcuts, EqualKeysAreHashedOnce) {
  const Compiled c(policy("a", "ip", "{over: 1, do: flag}") +
                   policy("b", "ip", "{over: 2, do: flag}") +
                   policy("masked", "ip/24", "{over: 1, do: flag}") +
                   policy("both", "[ip, user]", "{over: 1, do: flag}") +
                   policy("turned", "[user, ip]", "{over: 1, do: flag}"));
  EXPECT_NE(c.binding("a").key_id, kNoKey);
  EXPECT_EQ(c.binding("a").key_id, c.binding("b").key_id);
  EXPECT_NE(c.binding("a").key_id, c.binding("masked").key_id);
  EXPECT_NE(c.binding("both").key_id, c.binding("turned").key_id) << "the order is of the key";
  EXPECT_EQ(c.set().keys, 4U);
}

TEST(CompileShortcuts, AListThatIsAskedByThePolicysKeySharesItsHash) {
  const Compiled c(policy("a", "user", "{over: 1, do: flag}"),
                   "lists: {known: {of: user, kind: gray, effect: flag}}\n");
  EXPECT_EQ(c.set().find_list("known")->bindings.at(0).key_id, c.binding("a").key_id);
}

TEST(CompileShortcuts, AKeyThatIsAnotherForEachBindingIsHashedByEach) {
  const Compiled c(
      policy("near", "[user, {near: {lon: lon, lat: lat, radius: 100m}}]", "{over: 1, do: flag}"));
  EXPECT_EQ(c.binding("near").key_id, kNoKey);
}

TEST(CompileShortcuts, ThresholdsThatAreNumbersAreKnownAtLoad) {
  const Compiled c(policy("numbers", "ip", "{over: 5, do: flag}, {at: 9, do: deny}") +
                   policy("computed", "ip", "{over: 5, do: flag}, {over: 'size(user)', do: deny}"));
  ASSERT_EQ(c.binding("numbers").limits.size(), 2U);
  EXPECT_EQ(c.binding("numbers").limits[0], Number(5));
  EXPECT_EQ(c.binding("numbers").limits[1], Number(9));
  EXPECT_TRUE(c.binding("computed").limits.empty()) << "all of them, or none";
}

TEST(CompileShortcuts, AReadingIsCalmUpToTheLowestThreshold) {
  const Compiled c(policy("over", "ip", "{over: 5, do: flag}, {over: 9, do: deny}") +
                   policy("at", "ip", "{at: 5, do: flag}, {over: 9, do: deny}"));
  EXPECT_EQ(c.binding("over").calm, 5);
  EXPECT_EQ(c.binding("at").calm, 4);
}

TEST(CompileShortcuts, NothingIsCalmUnlessThresholdsAloneDecide) {
  const Compiled c(policy("under", "ip", "{under: 5, do: flag}") +
                   policy("computed", "ip", "{over: 'size(user)', do: flag}") +
                   policy("fraction", "ip", "{over: 0.5, do: flag}", "metric: avg(size(user)), ") +
                   "  - {name: leaky, watch: login, key: ip, window: {leaky: 3, drain: 1s}, then: "
                   "[{do: flag}]}\n");
  for (const char* name : {"under", "computed", "fraction", "leaky"}) {
    EXPECT_FALSE(c.binding(name).calm) << name;
  }
}

TEST(CompileShortcuts, APolicyIsPlainIfOnlyItsKeyIsToBeAsked) {
  const Compiled c(
      policy("flags", "ip", "{over: 5, do: flag}") +
      policy("denies", "user", "{over: 5, do: deny}") +
      policy("when", "[ip, user]", "{over: 5, do: flag}", "when: 'user != \"x\"', ") +
      policy("sum", "ip", "{over: 5, do: flag}", "metric: sum(size(user)), ") +
      policy("lists", "[user, ip]", "{over: 5, do: graylist, for: 1m}") +
      policy("guards", "ip/24", "{over: 5, do: deny}", "guard: [login, pay], ") +
      policy("computed", "user", "{over: 'size(user)', do: flag}", "charge: always, "));
  EXPECT_TRUE(c.binding("flags").plain);
  EXPECT_TRUE(c.binding("denies").plain);
  for (const char* name : {"when", "sum", "lists", "guards", "computed"}) {
    EXPECT_FALSE(c.binding(name).plain) << name;
  }
}

TEST(CompileShortcuts, WhatMakesUpAMemberIsHashedOnceWithAKeyOfTheSame) {
  const Compiled c(
      policy("a", "user", "{over: 1, do: flag}") +
      policy("users", "ip", "{over: 1, do: flag}", "metric: distinct(user), ") +
      policy("lengths", "ip", "{over: 1, do: flag}", "metric: distinct(size(user)), "));
  EXPECT_EQ(c.binding("users").member_id, c.binding("a").key_id);
  EXPECT_EQ(c.binding("lengths").member_id, kNoKey) << "computed, not a slot";
}

TEST(CompileShortcuts, OnlyRungsThatRefuseCapTheirCounter) {
  const Compiled c(policy("flags", "ip", "{over: 5, do: flag}") +
                   policy("denies", "ip", "{over: 5, do: flag}, {over: 9, do: deny}") +
                   policy("under", "ip", "{under: 5, do: deny}"));
  EXPECT_FALSE(c.set().find_policy("flags")->caps);
  EXPECT_TRUE(c.set().find_policy("denies")->caps);
  EXPECT_FALSE(c.set().find_policy("denies")->rungs[0].caps);
  EXPECT_TRUE(c.set().find_policy("denies")->rungs[1].caps);
  EXPECT_FALSE(c.set().find_policy("under")->caps) << "a low reading can't be refused beforehand";
}

TEST(CompileShortcuts, ACounterOfSeveralPoliciesIsMarked) {
  const Compiled c(policy("a", "ip", "{over: 1, do: flag}") +
                   policy("b", "ip", "{over: 2, do: flag}") +
                   policy("c", "user", "{over: 2, do: flag}"));
  const auto common = [&](const char* name) {
    return c.set().counters[c.set().find_policy(name)->counters.front()].common;
  };
  EXPECT_TRUE(common("a"));
  EXPECT_TRUE(common("b"));
  EXPECT_FALSE(common("c"));
}

TEST(CompileShortcuts, WhatASetHasNoneOfIsNotLookedFor) {
  const Compiled plain(policy("a", "ip", "{over: 1, do: flag}"));
  EXPECT_FALSE(plain.set().any_lists);
  EXPECT_FALSE(plain.set().any_shadow);
  EXPECT_FALSE(plain.set().any_in_flight);
  EXPECT_FALSE(plain.set().any_answer_work);

  const Compiled all(
      policy("a", "ip", "{over: 1, do: flag}", "reset: failed, ") +
          policy("shadow", "user", "{over: 1, do: deny}", "mode: shadow, ") +
          "  - {name: flying, watch: login, key: user, metric: in_flight, then: [{over: 9, do: "
          "deny}]}\n",
      "lists: {known: {of: ip, kind: gray, effect: flag}}\n");
  EXPECT_TRUE(all.set().any_lists);
  EXPECT_TRUE(all.set().any_shadow);
  EXPECT_TRUE(all.set().any_in_flight);
  EXPECT_TRUE(all.set().any_answer_work);
}

TEST(CompileShortcuts, SlotsOfAnswersAndThoseThatAreNotKeptUntilThenAreKnown) {
  const Compiled c(
      "  - {name: a, watch: failed, key: ip, when: 'body.n == 1', window: 1m, then: [{over: 1, do: "
      "flag}]}\n");
  const auto holds = [](const std::vector<SlotId>& slots, std::optional<SlotId> slot) {
    return slot && std::find(slots.begin(), slots.end(), *slot) != slots.end();
  };
  EXPECT_TRUE(holds(c.set().of_answers, c.set().slots.find("status")));
  EXPECT_FALSE(holds(c.set().of_answers, c.set().slots.find("ip")));
  EXPECT_TRUE(holds(c.set().not_kept, c.set().slots.find("body.n")));
  EXPECT_FALSE(holds(c.set().not_kept, c.set().slots.find("ip")));
}

}  // namespace
}  // namespace weir::policies::compile_shortcuts_test
