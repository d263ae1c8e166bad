#include "policies/set/lineage.h"

#include <gtest/gtest.h>

#include "tests/policies/world.h"

// The counts that a reload would empty, reported before it.
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
  for (const ReloadEffect& change : predict_reload(before, after)) out += text_of(change) + "\n";
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
  // A counter of events does not keep amounts.
  EXPECT_EQ(foretold(now, now + policy("sums", "1h", ", metric: sum(int(header.x_gold))")),
            "policy \"sums\": sum over the last 1h is new: it counts from the load on, and its "
            "window is whole 1h later\n");
}

// Beside any other policy, each kind either begins with a history, or says from when it counts.
TEST(Lineage, SaysOfEveryKindFromWhenItCounts) {
  const std::string kept =
      "policies:\n" + policy("sums", "1h", ", metric: sum(int(header.x_gold)), retain: 24h") +
      policy("faces", "{last: 1h, exact: true}", ", metric: distinct(header.x_user), retain: 24h");
  for (const char* metric :
       {"count", "max(int(header.x_gold))", "min(int(header.x_gold))", "avg(int(header.x_gold))",
        "exists(header.x_user)", "sum(int(header.x_other))", "distinct(header.x_other)"}) {
    for (const auto& [window, whole] :
         {std::pair{"2h", "2h later"}, std::pair{"{last: 2h, exact: true}", "2h later"},
          std::pair{"{every: 1h}", "1h later at most"},
          std::pair{"{calendar: day}", "later at most"}}) {
      for (const char* share : {"", ", share: redis"}) {
        if (*share != '\0' && std::string_view(metric).starts_with("exists")) continue;
        const std::string told = foretold(
            kept, kept + policy("new", window, std::string(", metric: ") + metric + share));
        EXPECT_TRUE(told.starts_with("policy \"new\": ")) << metric << " " << window;
        EXPECT_NE(told.find("is new: it counts from the load on, and its window is whole "),
                  told.npos)
            << told;
        EXPECT_TRUE(told.ends_with(std::string(whole) + "\n")) << told;
      }
    }
  }
  EXPECT_EQ(foretold(kept, kept + policy("new", "{events: 5}", ", metric: avg(int(header.x_gold))"))
                .find("is whole"),
            std::string::npos)
      << "the last events have no such time";
}

TEST(Lineage, TellsWindowsThatBeginEmptyFromThoseWithAHistory) {
  EXPECT_EQ(foretold("policies:\n" + policy("a", "10m"), "policies:\n" + policy("a", "20m")),
            "policy \"a\": count over the last 20m begins empty, and its window is whole 20m later "
            "(now: count over the last 10m)\n");
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
  EXPECT_EQ(
      foretold("policies:\n" + policy("a", "10m"),
               "policies:\n" + policy("a", "10m", ", version: 2")),
      "policy \"a\": count over the last 10m begins empty, and its window is whole 10m later\n");
}

TEST(Lineage, TellsWhatComesBackAndWhatItLacks) {
  const auto told = [](const std::string& running, const std::string& next) {
    const auto before = lineage("policies:\n" + policy("a", running));
    const auto after = lineage("policies:\n" + policy("a", next));
    const std::string closed[] = {after.front().identity};
    std::string out;
    for (const ReloadEffect& change : predict_reload(before, after, closed))
      out += text_of(change) + "\n";
    return out;
  };
  EXPECT_EQ(
      told("{every: 2h}", "{every: 1h}"),
      "policy \"a\": count over every 1h comes back with what it held, and with what came since "
      "then (now: count over every 2h)\n");
  EXPECT_EQ(told("10m", "{calendar: day}").find("with what came since then") != std::string::npos,
            true);
  EXPECT_EQ(
      told("{every: 2h}", "10m"),
      "policy \"a\": count over the last 10m comes back with what it held; what came since then "
      "is missing (now: count over every 2h)\n");
}

TEST(Lineage, KnowsThatABucketGoesOn) {
  const auto rate = [](const char* window) { return "policies:\n" + policy("a", window); };
  EXPECT_EQ(
      foretold(rate("{rate: 10/s, burst: 20}"), rate("{rate: 10/s, burst: 40}")),
      "policy \"a\": count over a rate of 10/s with a burst of 40 begins with the history that "
      "is there (now: count over a rate of 10/s with a burst of 20)\n");
  EXPECT_NE(foretold(rate("{rate: 10/s, burst: 20}"), rate("{every: 1h}")).find("begins empty"),
            std::string::npos);
}

/// The room that a replica has for keys is its own matter; a local table is another one.
TEST(Lineage, SaysThatAnotherRoomEmptiesALocalCounter) {
  const auto with = [](const char* keys, const char* more) {
    return "policies:\n" + policy("a", "{every: 1h}", std::string(", keys: ") + keys + more);
  };
  for (const char* share : {", share: redis", ", share: {redis: {sync: 200ms}}"}) {
    EXPECT_EQ(foretold(with("1000", share), with("2000", share)), "") << share;
    EXPECT_EQ(foretold("policies:\n" + policy("a", "{every: 1h}", share), with("2000", share)), "");
  }
  EXPECT_EQ(foretold(with("1000", ""), with("2000", "")),
            "policy \"a\": count over every 1h, room for 2000 keys begins empty, and its window is "
            "whole 1h later at most (now: count over "
            "every 1h, room for 1000 keys)\n");
  // Two policies that share one counter count it once, in the larger room.
  World world(kHead + ("policies:\n" + policy("a", "1h", ", share: redis, keys: 1000") +
                       policy("b", "1h", ", share: redis, keys: 3000")));
  ASSERT_EQ(world.set_->counters.size(), 1U);
  EXPECT_EQ(world.set_->counters.front().keys, 3000U);
}

TEST(Lineage, KnowsThatRedisHasNoHistory) {
  for (const char* share : {", share: redis", ", share: {redis: {sync: 200ms}}"}) {
    EXPECT_EQ(foretold("policies:\n" + policy("a", "10m", share),
                       "policies:\n" + policy("a", "5m", share)),
              "policy \"a\": count over the last 5m begins empty, and its window is whole 5m later "
              "(now: count over the last 10m), in "
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
