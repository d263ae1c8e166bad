#include <gtest/gtest.h>

#include "config/import/imported.h"
#include "tests/policies/rate_limit_service.h"

/// Files of envoyproxy/ratelimit, as they are.
namespace weir::policies::rate_limit_file_test {
namespace {

using namespace rate_limit_service;

constexpr const char* kShop = R"(
domain: shop
descriptors:
  - key: path
    value: /login
    rate_limit: {unit: minute, requests_per_unit: 2}
    descriptors:
      - key: user
        rate_limit: {unit: SECOND, requests_per_unit: 1}
      - key: user
        value: vip
        rate_limit: {unlimited: true}
  - key: path
    value: /free
  - key: path
    rate_limit: {unit: hour, requests_per_unit: 3}
  - key: tree
    value: oak*
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: tree
    value: "*birch*"
    share_threshold: true
    rate_limit: {unit: month, requests_per_unit: 2}
  - key: year
    rate_limit: {unit: year, requests_per_unit: 1}
)";

TEST(EnvoyRateLimitFile, MatchesTheMostExactOfEachStep) {
  Service service("ratelimit: {}\npolicies: []\n", {kShop});
  EXPECT_FALSE(service.over("shop", {{"path", "/login"}}, 2));
  EXPECT_TRUE(service.over("shop", {{"path", "/login"}}));
  EXPECT_FALSE(service.over("shop", {{"path", "/free"}}, 1000)) << "listed without a limit";
  EXPECT_FALSE(service.over("shop", {{"path", "/a"}}, 3)) << "each other value by itself";
  EXPECT_TRUE(service.over("shop", {{"path", "/a"}}));
  EXPECT_FALSE(service.over("shop", {{"path", "/b"}}, 3));
  EXPECT_FALSE(service.over("shop", {{"path", "/login"}, {"user", "ann"}}));
  EXPECT_TRUE(service.over("shop", {{"path", "/login"}, {"user", "ann"}}));
  EXPECT_FALSE(service.over("shop", {{"path", "/login"}, {"user", "vip"}}, 1000));
  EXPECT_FALSE(service.over("shop", {{"user", "ann"}, {"path", "/login"}}, 1000)) << "the order";
  EXPECT_FALSE(service.over("shop", {{"path", "/a"}, {"user", "ann"}}, 1000)) << "deeper than any";
  EXPECT_FALSE(service.over("nowhere", {{"path", "/login"}}, 1000));
}

TEST(EnvoyRateLimitFile, WildcardsCountEachValueUnlessTheyShare) {
  Service service("policies: []\n", {kShop});
  EXPECT_FALSE(service.over("shop", {{"tree", "oak1"}}));
  EXPECT_TRUE(service.over("shop", {{"tree", "oak1"}}));
  EXPECT_FALSE(service.over("shop", {{"tree", "oak2"}}));
  EXPECT_FALSE(service.over("shop", {{"tree", "a birch"}}));
  EXPECT_FALSE(service.over("shop", {{"tree", "birches"}}));
  EXPECT_TRUE(service.over("shop", {{"tree", "silver birch"}})) << "all birches are one";
  EXPECT_FALSE(service.over("shop", {{"tree", "elm"}}, 99));
  EXPECT_FALSE(service.over("shop", {{"year", "x"}}));
  EXPECT_TRUE(service.over("shop", {{"year", "x"}})) << "a year is 365 days";
}

TEST(EnvoyRateLimitFile, TellsLimitAndResetAsTheFileSaysIt) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - {key: a, rate_limit: {name: of-a, unit: minute, requests_per_unit: 5}}
  - {key: b, rate_limit: {unlimited: true}}
)"});
  // 1,700,000,000 s is 20 s into its minute.
  service.pass(milliseconds{100});
  const auto status = service.call("d", {{{{"a", ""}}}, {{{"b", "x"}}}, {{{"c", "x"}}}}).statuses;
  ASSERT_EQ(status.size(), 3U);
  EXPECT_EQ(status[0].name, "of-a");
  EXPECT_EQ(status[0].requests, 5);
  EXPECT_EQ(status[0].remaining, 4);
  EXPECT_EQ(status[0].reset, milliseconds{39'900});
  EXPECT_EQ(reset_seconds(status[0].reset), 40) << "rounded up";
  EXPECT_TRUE(status[1].unlimited);
  EXPECT_FALSE(status[1].has_limit);
  EXPECT_FALSE(status[2].unlimited);
  EXPECT_EQ(reset_seconds(milliseconds{900}), 1);
  EXPECT_EQ(reset_seconds(milliseconds{0}), 0);
}

TEST(EnvoyRateLimitFile, TriesCountAlsoWhereTheyAreOver) {
  Service service("policies: []\n", {R"(
domain: d
descriptors: [{key: a, rate_limit: {unit: hour, requests_per_unit: 10}}]
)"});
  EXPECT_FALSE(service.over("d", {{"a", "x"}}, 8));
  EXPECT_TRUE(service.over("d", {{"a", "x"}}, 8));
  EXPECT_TRUE(service.over("d", {{"a", "x"}}, 1)) << "16 and 1 is over 10";
  EXPECT_TRUE(service.over("d", {{"a", "x"}}, 0)) << "a look at what is over";
  EXPECT_FALSE(service.over("d", {{"a", "y"}}, 10));
  EXPECT_FALSE(service.over("d", {{"a", "y"}}, 0)) << "full is not over";
}

TEST(EnvoyRateLimitFile, ShadowModeAnswersOkAndTellsTheLimit) {
  Service service("policies: []\n", {R"(
domain: d
descriptors: [{key: a, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}]
)"});
  for (int i = 0; i < 3; ++i) {
    const auto answer = service.call("d", {{{{"a", "x"}}}});
    EXPECT_FALSE(answer.over);
    EXPECT_FALSE(answer.statuses[0].over);
    EXPECT_EQ(answer.statuses[0].requests, 1);
    EXPECT_EQ(answer.statuses[0].remaining, 0);
  }
}

TEST(EnvoyRateLimitFile, ReplacedLimitsAreNotCountedInThatCall) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - {key: all, rate_limit: {name: all, unit: hour, requests_per_unit: 1}}
  - key: plan
    value: gold
    rate_limit: {name: gold, unit: hour, requests_per_unit: 9, replaces: [{name: all}, {name: no}]}
)"});
  const Asked all{{{"all", "x"}}}, gold{{{"plan", "gold"}}};
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(service.call("d", {all, gold}).over) << i;
  EXPECT_FALSE(service.call("d", {all, {{{"plan", "tin"}}}}).over);
  EXPECT_TRUE(service.call("d", {all, {{{"plan", "tin"}}}}).over);
  const auto replaced = service.call("d", {gold, all});
  EXPECT_FALSE(replaced.over) << "in whatever order they come";
  EXPECT_FALSE(replaced.statuses[1].has_limit);
  EXPECT_FALSE(replaced.statuses[1].unlimited);
}

TEST(EnvoyRateLimitFile, WhatHasNoLimitSaysSoWhereItIsReplacedToo) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - {key: free, rate_limit: {name: free, unlimited: true}}
  - {key: plan, rate_limit: {unit: hour, requests_per_unit: 9, replaces: [{name: free}]}}
)"});
  EXPECT_TRUE(service.call("d", {{{{"free", "x"}}}, {{{"plan", "y"}}}}).statuses[0].unlimited);
}

TEST(EnvoyRateLimitFile, QuotasRefuseOnlyTogether) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - {key: a, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: b, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 2}}
  - {key: c, rate_limit: {unit: hour, requests_per_unit: 4}}
)"});
  const Asked a{{{"a", "x"}}}, b{{{"b", "x"}}}, c{{{"c", "x"}}};
  EXPECT_FALSE(service.call("d", {a, b}).over);
  const auto second = service.call("d", {a, b});
  EXPECT_FALSE(second.over) << "b still has some";
  EXPECT_TRUE(second.statuses[0].over);
  EXPECT_TRUE(service.call("d", {a, b}).over);
  EXPECT_TRUE(service.call("d", {a}).over);
  EXPECT_TRUE(service.call("d", {a, c}).over) << "all its quotas are over, though c is not";
  EXPECT_FALSE(service.call("d", {c}).over);
  EXPECT_FALSE(service.call("d", {c, c}).over);
  EXPECT_TRUE(service.call("d", {c}).over);
}

constexpr char kQuotasWithout[] = R"(
domain: d
descriptors:
  - {key: a, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 0}}
  - {key: free, quota_mode: true, rate_limit: {unlimited: true}}
  - {key: none, quota_mode: true, descriptors: [{key: x, rate_limit: {unit: hour, requests_per_unit: 1}}]}
  - {key: b, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 9}}
)";

TEST(EnvoyRateLimitFile, AQuotaWithoutALimitKeepsNoOtherFromRefusing) {
  std::string imported = config::import_envoy_rate_limits({{"a.yaml", kQuotasWithout, true}}).yaml;
  ASSERT_TRUE(imported.starts_with("weir: 1\n"));
  Service file("policies: []\n", {kQuotasWithout}), policies(imported.substr(8));
  const Asked a{{{"a", "x"}}}, b{{{"b", "x"}}}, free{{{"free", "x"}}}, none{{{"none", "x"}}};
  for (Service* const service : {&file, &policies}) {
    EXPECT_TRUE(service->call("d", {a, free}).over);
    EXPECT_TRUE(service->call("d", {free, a}).over);
    EXPECT_TRUE(service->call("d", {a, none}).over);
    EXPECT_FALSE(service->call("d", {a, b, free}).over);
    EXPECT_FALSE(service->call("d", {free, none}).over);
  }
}

TEST(EnvoyRateLimitFile, WhereAllAreQuotasThatIsSoForDescriptorsWithoutARuleToo) {
  Service service("ratelimit: {quota: true}\npolicies: []\n", {R"(
domain: d
descriptors:
  - {key: a, rate_limit: {unit: hour, requests_per_unit: 0}}
  - {key: b, rate_limit: {unlimited: true}}
)"});
  const Asked a{{{"a", "x"}}}, b{{{"b", "x"}}}, unknown{{{"c", "x"}}};
  EXPECT_TRUE(service.call("d", {a}).over);
  EXPECT_FALSE(service.call("d", {a, unknown}).over);
  EXPECT_FALSE(service.call("d", {unknown}).over);
  EXPECT_TRUE(service.call("d", {a, b}).over) << "what is unlimited is not a quota";
}

TEST(EnvoyRateLimitFile, EntriesNeverRunTogether) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - key: m
    rate_limit: {unit: hour, requests_per_unit: 1}
    descriptors: [{key: n, rate_limit: {unit: hour, requests_per_unit: 1}}]
)"});
  EXPECT_FALSE(service.over("d", {{"m", "y_n_q"}}));
  EXPECT_FALSE(service.over("d", {{"m", "y"}, {"n", "q"}}));
  EXPECT_TRUE(service.over("d", {{"m", "y_n_q"}}));
  EXPECT_FALSE(service.over("d", {{"m_y", "n_q"}}, 99));
}

TEST(EnvoyRateLimitFile, TheSameKeyMayStandAtSeveralDepths) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - key: k
    descriptors: [{key: k, rate_limit: {unit: hour, requests_per_unit: 1}}]
)"});
  EXPECT_FALSE(service.over("d", {{"k", "a"}, {"k", "b"}}));
  EXPECT_FALSE(service.over("d", {{"k", "b"}, {"k", "a"}}));
  EXPECT_TRUE(service.over("d", {{"k", "a"}, {"k", "b"}}));
}

TEST(EnvoyRateLimitFile, FilesMayAddToADomainWhereThatIsSaid) {
  const std::vector<std::string> files{
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: hour, requests_per_unit: 1}}]\n",
      "domain: d\ndescriptors: [{key: b, rate_limit: {unit: hour, requests_per_unit: 1}}]\n"};
  Service service("ratelimit: {merge_domains: true}\npolicies: []\n", files);
  EXPECT_FALSE(service.over("d", {{"a", "1"}}));
  EXPECT_TRUE(service.over("d", {{"a", "1"}}));
  EXPECT_FALSE(service.over("d", {{"b", "1"}}));
  EXPECT_TRUE(service.over("d", {{"b", "1"}}));
}

TEST(EnvoyRateLimitFile, WordsOfYamlThatOthersReadAsTextsStand) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - {key: on, value: 007, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: b, value: yes, rate_limit: {unlimited: yes}}
)"});
  EXPECT_FALSE(service.over("d", {{"on", "007"}}));
  EXPECT_TRUE(service.over("d", {{"on", "007"}}));
  EXPECT_FALSE(service.over("d", {{"b", "yes"}}, 99));
}

TEST(EnvoyRateLimitFile, NumbersAreReadAsThere) {
  const std::pair<const char*, std::uint32_t> numbers[] = {{"0x1F", 31},
                                                           {"0o17", 15},
                                                           {"017", 15},
                                                           {"0b11", 3},
                                                           {"1_000", 1000},
                                                           {"+5", 5},
                                                           {"1e+3", 1000},
                                                           {"09", 9},
                                                           {"0", 0},
                                                           {"00", 0},
                                                           {"", 0},
                                                           {"~", 0},
                                                           {"4294967295", 4'294'967'295}};
  for (const auto& [spelled, meant] : numbers) {
    Service service("policies: []\n",
                    {std::string("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, "
                                 "requests_per_unit: ") +
                     spelled + "}}]\n"});
    EXPECT_EQ(service.call("d", {{{{"a", ""}}}}).statuses[0].requests, meant) << spelled;
  }
  for (const char* spelled :
       {"4294967296", "-1", "1.5", "0x", "1e+12", "five", "nan", "inf", "''", "[1]"}) {
    const auto found =
        problems_of(std::string("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, "
                                "requests_per_unit: ") +
                    spelled + "}}]\n");
    ASSERT_FALSE(found.empty()) << spelled;
    EXPECT_EQ(found.front(), "2: \"requests_per_unit\" is 0 to 4294967295") << spelled;
  }
}

TEST(EnvoyRateLimitFile, MergeKeysBringWhatIsNotThereItself) {
  Service service("policies: []\n", {R"(
domain: d
descriptors:
  - key: path
    value: /a
    rate_limit: &limit
      unit: hour
      requests_per_unit: 1
  - key: path
    value: /b
    rate_limit:
      requests_per_unit: 2
      <<: *limit
  - &user
    key: user
    rate_limit: {unit: minute, requests_per_unit: 3}
  - <<: [{key: tenant}, *user]
)"});
  const auto status =
      service
          .call("d",
                {{{{"path", "/a"}}}, {{{"path", "/b"}}}, {{{"user", "u"}}}, {{{"tenant", "t"}}}})
          .statuses;
  ASSERT_EQ(status.size(), 4U);
  EXPECT_EQ(status[0].requests, 1);
  EXPECT_EQ(status[1].requests, 2);
  EXPECT_EQ(status[2].requests, 3);
  EXPECT_EQ(status[3].requests, 3);
  EXPECT_EQ(problems_of("domain: d\ndescriptors:\n- {<<: 5, key: a}\n").front(),
            "3: a merge key (<<) takes a map, or a list of maps");
  const auto ours = problems_of("domain: d\ndescriptors: []\n", "policies:\n- {<<: {name: a}}\n");
  EXPECT_NE(std::find(ours.begin(), ours.end(), "3: merge keys (<<) are not used here"),
            ours.end());
}

TEST(EnvoyRateLimitFile, SaysWhatIsWrongWithIt) {
  const auto one = [](std::string descriptors) {
    const auto found = problems_of("domain: d\ndescriptors:\n" + descriptors);
    return found.empty() ? std::string("nothing") : found.front();
  };
  EXPECT_EQ(problems_of("descriptors: []\n").front(), "1: \"domain\" is empty");
  EXPECT_EQ(problems_of("").front(), "1: \"domain\" is missing: the file is empty");
  EXPECT_EQ(one("- {value: x}\n"), "3: a descriptor needs \"key\"");
  EXPECT_EQ(one("- {key: a, rate_limit: {unit: fortnight, requests_per_unit: 1}}\n"),
            "3: \"fortnight\" is not a unit");
  EXPECT_EQ(one("- {key: a, rate_limit: {requests_per_unit: 1}}\n"),
            "3: a rate limit needs \"unit\"");
  EXPECT_EQ(one("- {key: a, rate_limit: {unlimited: true, unit: day}}\n"),
            "3: a rate limit that is unlimited has no unit");
  EXPECT_EQ(one("- {key: a, ratelimit: {}}\n"), "3: unknown key \"ratelimit\" in a descriptor");
  EXPECT_EQ(one("- {key: a, share_threshold: true}\n"),
            "3: \"share_threshold\" is for values with a * alone");
  EXPECT_EQ(one("- {key: 'a*', share_threshold: true}\n").find("share_threshold"),
            std::string::npos);
  EXPECT_EQ(one("- {key: a, rate_limit: {unit: day, requests_per_unit: -1}}\n"),
            "3: \"requests_per_unit\" is 0 to 4294967295");
  EXPECT_EQ(one("- {key: a}\n- {key: a}\n"), "4: this descriptor is given twice");
  const auto deep = [&](int levels) {
    std::string list;
    for (int i = 1; i < levels; ++i) list += "[{key: a, descriptors: ";
    list += "[{key: a, rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: b}]}}]";
    for (int i = 1; i < levels; ++i) list += "}]";
    return problems_of("domain: d\ndescriptors: " + list + "\n");
  };
  EXPECT_TRUE(deep(32).empty());
  EXPECT_EQ(deep(33).front(), "2: descriptors lie at most 32 deep");
  EXPECT_EQ(one("- a\n"), "3: \"descriptors\" is a list of maps, and this is none");
  EXPECT_EQ(one("- {key: a, rate_limit: {name: x, unit: day, replaces: [{name: x}]}}\n"),
            "3: a rate limit does not replace itself");
  EXPECT_EQ(one("- {key: a, rate_limit: {name: x, unit: day, replaces: [{}]}}\n"),
            "3: each of \"replaces\" is a map with a \"name\"");
  EXPECT_EQ(one("- {key: a}\n"), "nothing");
  EXPECT_EQ(one("- {key: 'a*', rate_limit: {unit: day, requests_per_unit: 1}}\n"),
            "3: the * of the key \"a*\" is not a pattern");
}

}  // namespace
}  // namespace weir::policies::rate_limit_file_test
