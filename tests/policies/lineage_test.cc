#include "policies/set/lineage.h"

#include <gtest/gtest.h>

#include "tests/policies/world.h"

// What a reload would empty, said before it.
namespace weir::policies::lineage_test {
namespace {

constexpr char kHead[] =
    "redis: {url: 'redis://127.0.0.1:6379', secret: s}\nfields: {user: header.x_user}\n";

std::string policy(const std::string& name, const std::string& window,
                   const std::string& more = "") {
  return "  - {name: " + name + ", watch: request, key: ip, window: " + window + more +
         ", then: [{over: 5, do: deny}]}\n";
}

std::vector<Lineage> lineage(const std::string& yaml) {
  World world(kHead + yaml);
  return lineage_of(*world.set_);
}

std::string foretold(const std::string& running, const std::string& next) {
  std::string out;
  const auto before = lineage(running), after = lineage(next);
  for (const Inheritance& change : foretell_reload(before, after)) out += text_of(change) + "\n";
  return out;
}

TEST(Lineage, SaysNothingOfWhatGoesOn) {
  const std::string now = "policies:\n" + policy("a", "10m") + policy("b", "1h");
  EXPECT_EQ(foretold(now, now), "");
  EXPECT_EQ(foretold(now, "policies:\n" + policy("renamed", "10m") + policy("b", "1h")), "");
  EXPECT_EQ(foretold(now, now + "lists: {l: {of: user, kind: gray}}\n"), "");
}

TEST(Lineage, SaysFromWhenANewIndicatorCounts) {
  const std::string now = "policies:\n" + policy("a", "10m", ", retain: 24h");
  EXPECT_EQ(foretold(now, now + policy("new", "1d", ", when: 'path == \"/x\"'")),
            "policy \"new\": count over the last 24h is new: it counts from the load on, and its "
            "window is whole 24h later\n");
  EXPECT_EQ(foretold(now, now + policy("same-events", "12h")),
            "policy \"same-events\": count over the last 12h begins with the history that is "
            "there\n");
  // Amounts are not kept by who counts.
  EXPECT_EQ(foretold(now, now + policy("sums", "1h", ", metric: sum(int(header.x_gold))")),
            "policy \"sums\": sum over the last 1h is new: it counts from the load on, and its "
            "window is whole 1h later\n");
}

TEST(Lineage, TellsWindowsThatBeginEmptyFromThoseWithAHistory) {
  EXPECT_EQ(foretold("policies:\n" + policy("a", "10m"), "policies:\n" + policy("a", "20m")),
            "policy \"a\": count over the last 20m begins empty (now: count over the last 10m)\n");
  EXPECT_EQ(
      foretold("policies:\n" + policy("a", "10m"),
               "policies:\n" + policy("a", "{last: 5m, buckets: 30}")),
      "policy \"a\": count over the last 5m in 30 buckets begins with the history that is there "
      "(now: count over the last 10m)\n");
  EXPECT_EQ(
      foretold("policies:\n" + policy("a", "10m", ", retain: 1h"),
               "policies:\n" + policy("a", "20m")),
      "policy \"a\": count over the last 20m begins with the history that is there (now: count "
      "over exactly the last 10m, kept for 1h)\n");
  EXPECT_EQ(foretold("policies:\n" + policy("a", "10m"),
                     "policies:\n" + policy("a", "10m", ", version: 2")),
            "policy \"a\": count over the last 10m begins empty\n");
}

TEST(Lineage, KnowsThatRedisHasNoHistory) {
  for (const char* share : {", share: redis", ", share: {redis: {sync: 200ms}}"}) {
    EXPECT_EQ(
        foretold("policies:\n" + policy("a", "10m", share),
                 "policies:\n" + policy("a", "5m", share)),
        "policy \"a\": count over the last 5m begins empty (now: count over the last 10m), in "
        "Redis too\n");
  }
}

TEST(Lineage, TellsOfListsAndPatterns) {
  EXPECT_EQ(foretold("lists: {l: {of: user, kind: gray}}\n",
                     "lists: {l: {of: user, kind: gray, effect: delay, hold: 1s}}\n"),
            "");
  EXPECT_EQ(foretold("lists: {l: {of: user, kind: gray}}\n", "lists: {l: {of: ip, kind: gray}}\n"),
            "list \"l\": list of ip begins empty (now: list of user)\n");
  EXPECT_EQ(foretold("lists: {l: {of: ip, kind: gray}}\n", "lists: {l: {of: ip/24, kind: gray}}\n"),
            "list \"l\": list of ip begins empty\n");
  EXPECT_EQ(foretold("lists: {l: {of: user, kind: gray}, m: {of: ip, kind: gray}}\n",
                     "lists: {m: {of: ip, kind: gray}}\n"),
            "list \"l\": list of user is not in the new configuration\n");
  const auto pattern = [](const char* within) {
    return "policies: [{name: p, sequence: [request, request], within: " + std::string(within) +
           ", key: ip, then: [{do: flag}]}]\n";
  };
  EXPECT_EQ(foretold(pattern("2s"), pattern("2s")), "");
  EXPECT_NE(foretold(pattern("2s"), pattern("3s")).find("begins empty"), std::string::npos);
}

TEST(Lineage, ForetellsWhatTheBankDoes) {
  const std::string ten = "policies:\n" + policy("a", "{last: 10m, exact: true}");
  for (const auto& [next, kept] : {std::pair{policy("a", "{last: 5m, exact: true}"), true},
                                   std::pair{policy("a", "{last: 1h, exact: true}"), false},
                                   std::pair{policy("b", "{last: 10m, exact: true}"), true},
                                   std::pair{policy("a", "{every: 1h}"), false}}) {
    World world(kHead + ten);
    for (int i = 0; i < 5; ++i) {
      world.now += milliseconds{1000};
      EXPECT_EQ(world.send(TestRequest("GET /")), "pass");
    }
    world.use(kHead + ("policies:\n" + next));
    EXPECT_EQ(world.send(TestRequest("GET /")), kept ? "deny" : "pass") << next;
    const std::string told = foretold(ten, "policies:\n" + next);
    EXPECT_EQ(told.find("begins empty") == std::string::npos, kept) << told;
  }
}

}  // namespace
}  // namespace weir::policies::lineage_test
