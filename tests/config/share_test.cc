#include <gtest/gtest.h>

#include "config/parse.h"

namespace weir::config::share_test {
namespace {

/// Every problem as `LINE: message (hint)`.
std::vector<std::string> problems_of(const std::string& redis, const std::string& policy,
                                     Model* out = nullptr) {
  Problems problems;
  const Model model =
      parse({{"weir.yaml",
              "weir: 1\n" + redis + "policies:\n  - {name: p, watch: request, " + policy + "}\n"}},
            {}, problems);
  if (out != nullptr) *out = model;
  std::vector<std::string> texts;
  for (const Problem& problem : problems.all()) {
    texts.push_back(problem.message + (problem.hint.empty() ? "" : " (" + problem.hint + ")"));
  }
  return texts;
}

using Texts = std::vector<std::string>;
const std::string kRedis = "redis: {url: redis://127.0.0.1, secret: s}\n";
const std::string kRest = "window: 10m, then: [{over: 5, do: deny}]";

TEST(Share, CountersOfAllReplicasAndWhatHoldsWithoutRedis) {
  Model model;
  EXPECT_EQ(problems_of(kRedis, "share: redis, on_error: {local: 0.2}, " + kRest, &model), Texts{});
  ASSERT_TRUE(model.policies.at(0).share && model.policies[0].on_error);
  EXPECT_EQ(model.policies[0].on_error->what, OnErrorDef::What::local);
  EXPECT_EQ(model.policies[0].on_error->part, 0.2);
  EXPECT_EQ(problems_of(kRedis, "share: redis, on_error: deny, " + kRest, &model), Texts{});
  EXPECT_EQ(model.policies.at(0).on_error->what, OnErrorDef::What::deny);
  EXPECT_EQ(problems_of("", "share: local, " + kRest, &model), Texts{});
  EXPECT_FALSE(model.policies.at(0).share);
}

TEST(Share, CountsThatAreExchanged) {
  Model model;
  EXPECT_EQ(problems_of(kRedis, "share: {redis: {sync: 200ms}}, " + kRest, &model), Texts{});
  ASSERT_TRUE(model.policies.at(0).share && model.policies[0].share->sync);
  EXPECT_EQ(model.policies[0].share->sync->value, milliseconds{200});
  EXPECT_EQ(
      problems_of(kRedis, "share: {redis: {sync: 1s}}, metric: sum(1), on_error: local, " + kRest),
      Texts{});

  const auto why = [](const std::string& policy) {
    const Texts texts = problems_of(kRedis, policy);
    return texts.size() == 1 ? texts.front() : std::to_string(texts.size()) + " problems";
  };
  EXPECT_EQ(why("share: {redis: {}}, " + kRest), "\"share: {redis: ...}\" needs \"sync\"");
  EXPECT_EQ(why("share: {redis: {sync: 1ms}}, " + kRest),
            "\"sync\" must be between 10ms and 10s, not 1ms");
  EXPECT_EQ(why("share: {redis: {sync: 1s, x: 1}}, " + kRest),
            "unknown key \"x\" in \"share: {redis: ...}\" (allowed is sync)");
  EXPECT_EQ(why("share: {redes: {sync: 1s}}, " + kRest),
            "unknown key \"redes\" in \"share\" (did you mean \"redis\"?)");
  EXPECT_EQ(
      why("share: {redis: {sync: 1s}}, metric: exists(path), window: 10m, then: [{at: 1, do: "
          "deny}]"),
      "asks Redis for each request in spite of \"sync\": whether another replica has seen it is "
      "known only by "
      "asking (write share: redis)");
  EXPECT_EQ(
      why("share: {redis: {sync: 1s}}, metric: distinct(path), window: {leaky: 5, drain: 1m}, "
          "then: [{over: 4, do: deny}]"),
      "asks Redis for each request in spite of \"sync\": a bucket's level from other replicas does "
      "not "
      "say "
      "which members are in it (write share: redis)");
  EXPECT_EQ(
      problems_of(kRedis,
                  "share: {redis: {sync: 1s}}, metric: in_flight, then: [{over: 5, do: deny}]"),
      Texts{});
  EXPECT_EQ(why("share: {redis: {sync: 1s}}, metric: max(1), " + kRest),
            "asks Redis for each request in spite of \"sync\": a minimum or maximum leaves its "
            "window with its event, and "
            "other replicas do not have that event (write window: {every: ...}, or share: redis)");
  EXPECT_EQ(
      why("share: {redis: {sync: 1s}}, metric: avg(1), window: {last: 1h, exact: true}, "
          "then: [{over: 5, do: deny}]"),
      "asks Redis for each request in spite of \"sync\": replicas exchange an average in buckets "
      "(leave out exact, or write share: redis)");
  for (const char* metric :
       {"max(1), window: {every: 1h}", "min(1), window: {calendar: day}", "avg(1), window: 1h",
        "avg(1), window: {every: 1h}", "count, window: {every: 1h, from: first}",
        "distinct(path), window: 1h", "distinct(path), window: {every: 1h}"}) {
    EXPECT_EQ(problems_of(kRedis, "share: {redis: {sync: 1s}}, metric: " + std::string(metric) +
                                      ", then: [{over: 5, do: deny}]"),
              Texts{})
        << metric;
  }
  EXPECT_EQ(why("share: {redis: {sync: 1s}}, window: {events: 9}, then: [{over: 5, do: deny}]"),
            "asks Redis for each request in spite of \"sync\": each replica would have different "
            "last events (write "
            "share: redis)");
  EXPECT_EQ(
      why("share: {redis: {sync: 1s}}, metric: avg(1), window: {every: 1h, from: first}, "
          "then: [{over: 5, do: deny}]"),
      "asks Redis for each request in spite of \"sync\": only for counts and sums Redis knows when "
      "the first event was (leave out from, or write share: redis)");
  // A warning: the policy is shared, and asks. One such metric or rung is enough.
  const std::string two =
      "metrics: {a: {watch: request, metric: count, window: 10m}, "
      "b: {watch: request, metric: exists(path), window: 10m}}, then: [{if: 'a > 5', do: deny}]";
  EXPECT_EQ(
      problems_of(kRedis, "share: {redis: {sync: 1s}}, on_error: deny, " + two, &model).size(), 1U);
  ASSERT_EQ(model.policies.size(), 1U);
  ASSERT_TRUE(model.policies[0].share);
  EXPECT_FALSE(model.policies[0].share->sync);
  EXPECT_EQ(why("share: {redis: {sync: 1s}}, window: 10m, then: [{over: 5, in: 1s, do: deny}]"),
            "\"sync\" is too slow for a window of 1s (exchange counts at least twice in a window)");
  EXPECT_EQ(why("share: {redis: {sync: 1s}}, window: {leaky: 2, drain: 1ms}, then: [{do: flag}]"),
            "\"sync\" is too slow for a bucket that becomes empty in less than two exchanges "
            "(exchange at least twice in capacity x drain)");
  EXPECT_EQ(
      why("share: redis, on_error: {local: 0.1}, metric: in_flight, then: [{over: 3, do: deny}]"),
      "while Redis is away this part of the limit 3 is less than one event: the rung holds for "
      "every one (take a larger part, or write on_error: deny)");
  EXPECT_EQ(
      problems_of(kRedis,
                  "share: redis, on_error: {local: 0.1}, window: 1h, then: [{over: 10, do: deny}]"),
      Texts{});
  EXPECT_EQ(why("share: {redis: {sync: 1s}}, on_error: deny, " + kRest),
            "with \"sync\" a request does not ask Redis, so on_error never applies "
            "(leave out on_error: weir continues with the counts that it has)");
}

TEST(Share, ListsOfAllReplicas) {
  const auto problems_of_list = [](const std::string& redis, const std::string& list,
                                   Model& model) {
    Problems problems;
    model = parse(
        {{"weir.yaml", "weir: 1\n" + redis + "lists: {a: {of: ip, kind: gray, " + list + "}}\n"}},
        {}, problems);
    Texts texts;
    for (const Problem& problem : problems.all()) texts.push_back(problem.message);
    return texts;
  };
  Model model;
  EXPECT_EQ(problems_of_list(kRedis, "share: redis", model), Texts{});
  EXPECT_TRUE(model.lists.at(0).share);
  EXPECT_EQ(problems_of_list("", "share: local", model), Texts{});
  EXPECT_FALSE(model.lists.at(0).share);
  EXPECT_EQ(problems_of_list("", "share: redis", model),
            (Texts{"\"share: redis\" needs \"redis\": say where Redis is"}));
  EXPECT_EQ(problems_of_list("redis: {url: redis://127.0.0.1}\n", "share: redis", model),
            (Texts{"without \"secret\" keys are hashed by a constant that everybody knows"}));
}

TEST(Share, Patterns) {
  const auto problems_of_pattern = [](const std::string& policy) {
    Problems problems;
    const std::string text = "weir: 1\n" + kRedis +
                             "events: {a: {match: GET /a}, b: {match: GET /b}}\n"
                             "policies:\n  - {name: p, key: ip, then: [{do: deny}], " +
                             policy + "}\n";
    const Model model = parse({{"weir.yaml", text}}, {}, problems);
    Texts texts;
    for (const Problem& problem : problems.all()) {
      EXPECT_EQ(problem.where.line, 5U);
      texts.push_back(problem.message + " (" + problem.hint + ")");
    }
    return texts;
  };
  EXPECT_EQ(problems_of_pattern("sequence: [a, b], within: 1m, share: redis, on_error: deny"),
            Texts{});
  EXPECT_EQ(problems_of_pattern("pair: [a, b], within: {before: 1s}, share: redis"), Texts{});
  EXPECT_EQ(problems_of_pattern("pair: [a, b], share: redis"),
            (Texts{"without \"within\" a pair waits for the end of input, which never comes "
                   "with share: redis (write within: 5s, or {before: 3s, after: 5s})"}));
  EXPECT_EQ(
      problems_of_pattern("sequence: [a, b], within: 1m, share: {redis: {sync: 1s}}"),
      (Texts{"asks Redis for each request in spite of \"sync\": replicas cannot add up a pattern "
             "(write share: redis)"}));
  EXPECT_EQ(problems_of_pattern("sequence: [a, b], within: 1m, share: redis, "
                                "on_error: {local: 0.5}"),
            (Texts{"a pattern has no limit to take a part of (write on_error: local)"}));
}

TEST(Share, WhatCannotBe) {
  EXPECT_EQ(problems_of("", "share: redis, " + kRest),
            (Texts{"\"share: redis\" needs \"redis\": say where Redis is "
                   "(write redis: {url: redis://127.0.0.1:6379})"}));
  EXPECT_EQ(problems_of("redis: {url: redis://127.0.0.1}\n", "share: redis, " + kRest),
            (Texts{"without \"secret\" keys are hashed by a constant that everybody knows "
                   "(write secret_file, the same on every replica)"}));
  EXPECT_EQ(problems_of(kRedis, "on_error: allow, " + kRest),
            (Texts{"\"on_error\" is about the shared store, and this policy counts alone "
                   "(write share: redis)"}));
  EXPECT_EQ(problems_of(kRedis, "share: redis, on_error: {local: 2}, " + kRest),
            (Texts{"\"2\" is not a part of the limits "
                   "(write a number over 0, up to 1: with 5 replicas, 0.2 keeps the total within "
                   "the limit)"}));
  EXPECT_EQ(problems_of(kRedis, "share: redis, then: [{if: 'true', do: flag}]"),
            (Texts{"a policy that counts nothing has nothing to share "
                   "(give it a window, such as window: 10m)"}));
  EXPECT_EQ(problems_of(kRedis, "share: redis, retain: 1h, " + kRest),
            (Texts{"a shared counter keeps no events beyond its window"}));
  EXPECT_EQ(problems_of(kRedis, "share: redis, clock: event, late: 1m, " + kRest),
            (Texts{"a shared counter uses the clock of the store, not the times of events "
                   "(leave out clock or share)"}));
  const std::string near = "key: {near: {lon: x, lat: y, radius: 1000m}}, " + kRest;
  const std::string xy = "fields: {x: double(header.x), y: double(header.y)}\n" + kRedis;
  EXPECT_EQ(problems_of(xy, "share: redis, " + near), Texts{});
  EXPECT_EQ(problems_of(xy, "share: {redis: {sync: 1s}}, " + near),
            (Texts{"asks Redis for each request in spite of \"sync\": a place with a radius is "
                   "counted in nine cells "
                   "(write share: redis, or cell: 6)"}));
}

}  // namespace
}  // namespace weir::config::share_test
