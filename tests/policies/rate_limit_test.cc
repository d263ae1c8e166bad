#include "policies/explain/rate_limit.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <tuple>

#include "config/import/imported.h"
#include "policies/judge/immediate_outbox.h"
#include "policies/set/sharing.h"
#include "tests/policies/world.h"

/// Calls of the rate limit service as events, without any door.
namespace weir::policies::rate_limit_test {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

struct Asked {
  Entries entries;
  std::int64_t hits = 1;
  std::optional<Descriptor::Limit> limit{};
};

struct Answered {
  bool over = false;
  std::vector<DescriptorStatus> statuses;
};

/// weir.yaml, and a file of envoyproxy/ratelimit beside it.
class Service {
 public:
  explicit Service(std::string yaml, std::vector<std::string> files = {}) : world_("policies: []") {
    std::vector<config::SourceText> texts{{"weir.yaml", "weir: 1\n" + std::move(yaml)}};
    for (std::string& file : files) {
      texts.push_back({"limits" + std::to_string(texts.size()) + ".yaml", std::move(file), true});
    }
    config::Problems problems;
    const config::Model model = config::parse(texts, {}, problems);
    all_quota_ = model.server.ratelimit.quota;
    world_.use(model, std::move(problems));
    world_.now = from_ms(1'700'000'000'000);
  }

  Answered call(std::string domain, std::vector<Asked> asked, bool insists = false) {
    std::vector<std::vector<DescriptorEntry>> entries(asked.size());
    std::vector<Descriptor> descriptors(asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (const auto& [key, value] : asked[i].entries) entries[i].push_back({key, value});
      descriptors[i] = {domain, entries[i], asked[i].hits, asked[i].limit};
    }
    std::vector<FoundDescriptor> found;
    const PolicySet& set = world_.driver.set();
    find_events(set, descriptors, found);
    Answered out;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!found[i].event) {
        out.statuses.push_back(status_of(found[i]));
        continue;
      }
      const Record record = record_of(found[i], descriptors[i], world_.now);
      JudgeOptions options;
      options.insists = insists;
      const Verdict& verdict = world_.start(record, options);
      out.statuses.push_back(status_of(set, world_.plan(), verdict, found[i], world_.instant()));
    }
    out.over = is_over(out.statuses, all_quota_);
    return out;
  }
  /// Whether a call with this one descriptor is over.
  bool over(std::string domain, Entries entries, std::int64_t hits = 1) {
    return call(std::move(domain), {{std::move(entries), hits, {}}}).over;
  }
  void pass(milliseconds time) { world_.now += time; }
  void share(const Sharing& sharing, Outbox& outbox) { world_.driver.share(sharing, outbox); }

 private:
  World world_;
  bool all_quota_ = false;
};

std::vector<std::string> problems_of(std::string file, std::string yaml = "policies: []\n") {
  config::Problems problems;
  config::parse({{"weir.yaml", "weir: 1\n" + yaml}, {"limits.yaml", std::move(file), true}}, {},
                problems);
  std::vector<std::string> out;
  for (const auto& problem : problems.all()) {
    out.push_back(std::to_string(problem.where.line) + ": " + problem.message);
  }
  return out;
}

TEST(RateLimit, CountsHitsOfAPolicyThatWatchesACall) {
  Service service(R"(
policies:
  - name: per-address
    watch: {domain: api, descriptors: {remote_address: "*"}}
    key: descriptor.remote_address
    window: 1m
    then: [{over: 5, do: deny}]
)");
  const auto first = service.call("api", {{{{"remote_address", "192.0.2.1"}}, 3, {}}});
  EXPECT_FALSE(first.over);
  ASSERT_EQ(first.statuses.size(), 1U);
  EXPECT_TRUE(first.statuses[0].has_limit);
  EXPECT_EQ(first.statuses[0].requests, 5);
  EXPECT_EQ(first.statuses[0].remaining, 2);
  EXPECT_EQ(first.statuses[0].unit, RateUnit::minute);
  EXPECT_EQ(first.statuses[0].name, "per-address");
  EXPECT_TRUE(service.over("api", {{"remote_address", "192.0.2.1"}}, 3)) << "3 + 3 is over 5";
  EXPECT_FALSE(service.over("api", {{"remote_address", "192.0.2.1"}}, 2)) << "refused: not counted";
  EXPECT_FALSE(service.over("api", {{"remote_address", "192.0.2.2"}}, 5)) << "another key";
  EXPECT_FALSE(service.over("api", {{"remote_address", "192.0.2.1"}}, 0)) << "a look is free";
  EXPECT_FALSE(service.over("web", {{"remote_address", "192.0.2.1"}}, 9)) << "another domain";
  EXPECT_FALSE(service.over("api", {{"remote_address", "192.0.2.1"}, {"path", "/"}}, 9))
      << "a descriptor with more entries is another";
}

/// The keys of a call in Redis, under those of envoyproxy/ratelimit.
std::vector<std::string> peer_keys(const std::string& settings, const std::string& file,
                                   std::vector<Asked> asked, std::string domain = "shop") {
  Service service("redis: {url: 'redis://127.0.0.1', secret: " + std::string(32, 's') +
                      "}\nratelimit: {redis_keys: envoyproxy" + settings + "}\npolicies: []\n",
                  {file});
  std::vector<std::string> out;
  ImmediateOutbox outbox([&](StoreOps& operations, TimePoint) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      EXPECT_EQ(operations[i].op.parts[0].counter->form, limiter::SharedForm::decimal);
      out.push_back(operations[i].key);
      operations.replies()[i] = {};
    }
  });
  const Sharing sharing{7, "mine", false, milliseconds{60'000}, milliseconds{60'000}};
  service.share(sharing, outbox);
  service.call(std::move(domain), std::move(asked));
  return out;
}

constexpr char kTheirShop[] = R"(domain: shop
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 5}
    descriptors:
      - {key: path, value: /login, rate_limit: {unit: hour, requests_per_unit: 9}}
  - {key: path, value: "/a/*", share_threshold: true, rate_limit: {unit: second, requests_per_unit: 5}}
  - {key: path, value: "/b/*", rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: shadow, shadow_mode: true, rate_limit: {unit: week, requests_per_unit: 1}}
  - {key: month, rate_limit: {unit: month, requests_per_unit: 1}}
  - {key: year, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: free, rate_limit: {unlimited: true}}
)";

TEST(RateLimit, CountsUnderTheKeysOfTheOtherService) {
  const auto key = [](Asked asked, const std::string& settings = "") {
    const auto all = peer_keys(settings, kTheirShop, {std::move(asked)});
    return all.size() == 1 ? all[0] : std::to_string(all.size()) + " keys";
  };
  // At 1,700,000,000 s, which is no beginning of any window but the second's.
  EXPECT_EQ(key({{{"user", "ann"}}}), "shop_user_ann_1699999980");
  EXPECT_EQ(key({{{"user", "ann"}}, 3}), "shop_user_ann_1699999980");
  EXPECT_EQ(key({{{"user", "ann"}, {"path", "/login"}}}), "shop_user_ann_path_/login_1699999200");
  EXPECT_EQ(key({{{"path", "/a/1"}}}), "shop_path_/a/*_1700000000");
  EXPECT_EQ(key({{{"path", "/b/1"}}}), "shop_path_/b/1_1699920000");
  EXPECT_EQ(key({{{"user", ""}}}), "shop_user__1699999980");
  EXPECT_EQ(key({{{"shadow", "x"}}}), "shop_shadow_x_1699488000");
  EXPECT_EQ(key({{{"month", "x"}}}), "shop_month_x_1697760000");
  EXPECT_EQ(key({{{"year", "x"}}}), "shop_year_x_1671408000");
  EXPECT_EQ(key({{{"user", "ann"}}}, ", redis_prefix: 'rl:'"), "rl:shop_user_ann_1699999980");
  EXPECT_EQ(key({{{"free", "x"}}}), "0 keys");
  EXPECT_EQ(key({{{"other", "x"}}}), "0 keys");
  EXPECT_EQ(key({{{"path", "/a/1"}}, 1, Descriptor::Limit{7, RateUnit::hour}}),
            "shop_path_/a/1_1699999200")
      << "a limit that the call brings along knows no pattern";
  EXPECT_EQ(key({{{"other", "x"}, {"y", ""}}, 1, Descriptor::Limit{7, RateUnit::day}}),
            "shop_other_x_y__1699920000");
}

TEST(RateLimit, TheKeysOfTheOtherServiceAreRedis) {
  const std::string redis =
      "redis: {url: 'redis://127.0.0.1', secret: " + std::string(32, 's') + "}\npolicies: []\n";
  const auto problems = [&](const std::string& settings) {
    const auto all = problems_of(kTheirShop, redis + "ratelimit: {" + settings + "}\n");
    return all.empty() ? std::string("none") : all.front();
  };
  EXPECT_EQ(problems("redis_keys: envoyproxy"), "none");
  EXPECT_EQ(problems("redis_keys: envoyproxy, share: redis"), "none");
  EXPECT_EQ(problems("redis_keys: weir, share: {redis: {sync: 200ms}}"), "none");
  const std::string contradiction =
      "4: envoyproxy/ratelimit's keys are asked for in Redis with each call";
  EXPECT_EQ(problems("redis_keys: envoyproxy, share: local"), contradiction);
  EXPECT_EQ(problems("redis_keys: envoyproxy, share: {redis: {sync: 200ms}}"), contradiction);
  EXPECT_EQ(problems("redis_prefix: x"),
            "4: \"redis_prefix\" is about the keys of envoyproxy/ratelimit");
  EXPECT_EQ(problems_of(kTheirShop, "ratelimit: {redis_keys: envoyproxy}\npolicies: []\n").front(),
            "2: \"share: redis\" needs \"redis\": where is it?");
}

/// Calls and reports (JudgeOptions::insists) in random order, beside sums that are kept by hand.
class RandomReports : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomReports, CountWholeWhateverRefusesThem) {
  struct Limit {
    std::string key;  // empty: one counter for all
    milliseconds window;
    std::int64_t most;
    bool shadow;
  };
  std::mt19937 random(GetParam());
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Limit> limits;
  std::string yaml = "policies:\n";
  for (int i = 0, n = 1 + pick(4); i < n; ++i) {
    static constexpr const char* kKeys[] = {"", "descriptor.user", "descriptor.tenant"};
    const Limit& limit = limits.emplace_back(Limit{
        kKeys[pick(3)], milliseconds{pick(2) == 0 ? 10'000 : 60'000}, 3 + pick(20), pick(4) == 0});
    yaml += "  - {name: p" + std::to_string(i) + ", watch: {domain: d}, " +
            (limit.key.empty() ? "" : "key: " + limit.key + ", ") + "metric: sum(hits_addend), " +
            "window: {every: " + std::to_string(limit.window.count() / 1000) + "s}, " +
            (limit.shadow ? "mode: shadow, " : "") + "then: [{over: " + std::to_string(limit.most) +
            ", do: deny}]}\n";
  }
  Service service(yaml);
  milliseconds now{1'700'000'000'000};
  std::map<std::tuple<std::size_t, std::string, std::int64_t>, std::int64_t> sums;
  for (int step = 0; step < 400; ++step) {
    const milliseconds passed{pick(3) == 0 ? pick(4'000) : 0};
    service.pass(passed);
    now += passed;
    const std::string user = "u" + std::to_string(pick(3)), tenant = "t" + std::to_string(pick(2));
    const bool report = pick(3) == 0;
    const std::int64_t hits = pick(5) == 0 ? pick(40) : pick(4);
    std::vector<std::int64_t*> mine;
    bool over = false;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const Limit& limit = limits[i];
      const std::string key = limit.key.empty()                ? ""
                              : limit.key == "descriptor.user" ? user
                                                               : tenant;
      mine.push_back(&sums[{i, key, now / limit.window}]);
      over |= !limit.shadow && *mine.back() + hits > limit.most;
    }
    const auto answered =
        service.call("d", {{{{"user", user}, {"tenant", tenant}}, hits, {}}}, report);
    ASSERT_EQ(answered.over, over) << "step " << step << " of\n" << yaml;
    if (report || !over)
      for (std::int64_t* sum : mine) *sum += hits;
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, RandomReports, ::testing::Range(1U, 31U));

TEST(RateLimit, TheNearestDescriptionIsTheEvent) {
  Service service(R"(
policies:
  - name: anybody
    watch: {domain: api, descriptors: {user: "*", plan: free}}
    key: descriptor.user
    window: 1m
    then: [{over: 1, do: deny}]
  - name: boss
    watch: {domain: api, descriptors: {plan: free, user: boss}}
    window: 1m
    then: [{over: 3, do: deny}]
  - name: bots
    watch: {domain: api, descriptors: {user: "bot-*", plan: free}}
    window: 1m
    then: [{over: 2, do: deny}]
  - name: all-of-it
    watch: {domain: api}
    window: 1m
    then: [{over: 100, do: deny}]
)");
  const auto passes = [&](std::string user) {
    int n = 0;
    while (n < 20 && !service.over("api", {{"user", user}, {"plan", "free"}})) ++n;
    return n;
  };
  EXPECT_EQ(passes("boss"), 3);
  EXPECT_EQ(passes("ann"), 1);
  EXPECT_EQ(passes("bot-1"), 2);
  EXPECT_EQ(passes("bot-2"), 0) << "bots share one counter";
  EXPECT_FALSE(service.over("api", {{"other", "x"}}, 90)) << "the domain's own";
  EXPECT_TRUE(service.over("api", {{"other", "x"}}, 9));
}

TEST(RateLimit, EveryDescriptorIsChargedWhateverBecomesOfTheOthers) {
  Service service(R"(
policies:
  - {name: a, watch: {domain: d, descriptors: {a: "*"}}, window: 1m, then: [{over: 1, do: deny}]}
  - {name: b, watch: {domain: d, descriptors: {b: "*"}}, window: 1m, then: [{over: 9, do: deny}]}
)");
  service.call("d", {{{{"a", "1"}}}});
  const auto both = service.call("d", {{{{"a", "1"}}}, {{{"b", "1"}}}, {{{"c", "1"}}}});
  EXPECT_TRUE(both.over);
  ASSERT_EQ(both.statuses.size(), 3U);
  EXPECT_TRUE(both.statuses[0].over);
  EXPECT_FALSE(both.statuses[1].over);
  EXPECT_EQ(both.statuses[1].remaining, 8);
  EXPECT_FALSE(both.statuses[2].has_limit);
}

TEST(RateLimit, ALimitOfLimitadorReadsTheLastOfEntriesWithOneKey) {
  std::string yaml = config::import_limitador(R"(
- {namespace: api, max_value: 2, seconds: 60, conditions: ["descriptors[0].m == 'slow'"], variables: ["descriptors[0].u"]}
- {namespace: api, max_value: 9, seconds: 60, conditions: ["descriptors[0]['m-n'] == 'slow'"], variables: ["descriptors[0]['u-v']"]}
)")
                         .yaml;
  const std::size_t at = yaml.find("weir: 1\n");
  ASSERT_NE(at, std::string::npos) << yaml;
  Service service(yaml.erase(0, at + 8));
  EXPECT_FALSE(service.over("api", {{"m", "api"}, {"m", "slow"}, {"u", "1"}, {"u", "2"}}, 2));
  EXPECT_TRUE(service.over("api", {{"m", "slow"}, {"u", "2"}}, 1)) << "2 counts, and not 1";
  EXPECT_FALSE(service.over("api", {{"m", "slow"}, {"u", "1"}}, 1));
  EXPECT_FALSE(service.over("api", {{"m", "slow"}, {"m", "api"}, {"u", "2"}}, 9))
      << "the last one is another";
  EXPECT_FALSE(service.over("api", {{"m-n", "x"}, {"m-n", "slow"}, {"u-v", "1"}, {"u-v", "2"}}, 9));
  EXPECT_TRUE(service.over("api", {{"m-n", "slow"}, {"u-v", "2"}}));
  EXPECT_FALSE(service.over("api", {{"m-n", "slow"}, {"u-v", "1"}}));
}

TEST(RateLimit, ListsActOnTheAddressOfACall) {
  Service service(R"(
lists:
  office: {of: ip, kind: allow, entries: [10.0.0.0/8]}
  thieves: {of: ip, kind: deny, entries: [192.0.2.7]}
policies:
  - name: per-address
    watch: {domain: api, descriptors: {remote_address: "*"}}
    key: ip
    window: 1m
    then: [{over: 1, do: deny}]
)");
  EXPECT_TRUE(service.over("api", {{"remote_address", "192.0.2.7"}}));
  EXPECT_TRUE(service.over("api", {{"remote_address", "192.0.2.7"}, {"x", "y"}}))
      << "also where no policy watches";
  EXPECT_FALSE(service.over("api", {{"remote_address", "10.1.2.3"}}, 5));
  EXPECT_FALSE(service.over("api", {{"remote_address", "192.0.2.8"}}));
  EXPECT_TRUE(service.over("api", {{"remote_address", "192.0.2.8"}}));
}

TEST(RateLimit, ALimitThatTheCallBringsTakesTheConfiguredOnesPlace) {
  Service service(R"(
policies:
  - {name: a, watch: {domain: d, descriptors: {a: "*"}}, window: 1m, then: [{over: 100, do: deny}]}
)");
  const Asked two{{{"a", "1"}}, 1, Descriptor::Limit{2, RateUnit::hour}};
  EXPECT_FALSE(service.call("d", {two}).over);
  const auto second = service.call("d", {two});
  EXPECT_FALSE(second.over);
  EXPECT_EQ(second.statuses[0].requests, 2);
  EXPECT_EQ(second.statuses[0].remaining, 0);
  EXPECT_EQ(second.statuses[0].unit, RateUnit::hour);
  EXPECT_TRUE(service.call("d", {two}).over);
  EXPECT_FALSE(service.call("d", {{{{"a", "2"}}, 1, Descriptor::Limit{2, RateUnit::hour}}}).over)
      << "another descriptor counts apart";
  EXPECT_FALSE(service.call("d", {{{{"a", "1"}}, 1, Descriptor::Limit{9, RateUnit::year}}}).over);
  EXPECT_FALSE(service.over("d", {{"a", "1"}}, 100)) << "the configured limit counted none of it";
  service.pass(std::chrono::hours{1});
  EXPECT_FALSE(service.call("d", {two}).over);
}

// What follows is envoyproxy/ratelimit's behaviour, with files of our own.

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
  EXPECT_TRUE(service.call("d", {a, b}).over) << "what is unlimited is no quota";
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
            "3: \"fortnight\" is no unit");
  EXPECT_EQ(one("- {key: a, rate_limit: {requests_per_unit: 1}}\n"),
            "3: a rate limit needs \"unit\"");
  EXPECT_EQ(one("- {key: a, rate_limit: {unlimited: true, unit: day}}\n"),
            "3: a rate limit that is unlimited has no unit");
  EXPECT_EQ(one("- {key: a, ratelimit: {}}\n"), "3: unknown key \"ratelimit\" in a descriptor");
  EXPECT_EQ(one("- {key: a, share_threshold: true}\n"),
            "3: \"share_threshold\" is for values with a * alone");
  EXPECT_EQ(one("- {key: a, rate_limit: {unit: day, requests_per_unit: -1}}\n"),
            "3: \"requests_per_unit\" is 0 to 4294967295");
  EXPECT_EQ(one("- {key: a}\n- {key: a}\n"), "4: this descriptor stands twice");
  EXPECT_EQ(one("- a\n"), "3: \"descriptors\" is a list of maps, and this is none");
  EXPECT_EQ(one("- {key: a, rate_limit: {name: x, unit: day, replaces: [{name: x}]}}\n"),
            "3: a rate limit does not replace itself");
  EXPECT_EQ(one("- {key: a, rate_limit: {name: x, unit: day, replaces: [{}]}}\n"),
            "3: each of \"replaces\" is a map with a \"name\"");
  EXPECT_EQ(one("- {key: a}\n"), "nothing");
  EXPECT_EQ(one("- {key: 'a*', rate_limit: {unit: day, requests_per_unit: 1}}\n"),
            "3: the * of the key \"a*\" is no pattern");
}

}  // namespace
}  // namespace weir::policies::rate_limit_test
