#include "policies/explain/rate_limit.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "config/import/imported.h"
#include "tests/policies/rate_limit_service.h"

/// Policies over descriptors.
namespace weir::policies::rate_limit_test {
namespace {

using namespace rate_limit_service;

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

/// Envoy sends hits after the answer, and does not ask whether they may pass.
TEST(RateLimit, HitsThatGoOverTheLimitAreSpentWithChargeAlways) {
  const std::string policy = R"(
policies:
  - name: tokens
    watch: {domain: api, descriptors: {user: "*"}}
    key: descriptor.user
    metric: sum(hits_addend)
    window: 1m
    then: [{over: 10, do: deny}]
)";
  const Entries user{{"user", "ann"}};
  Service spent(policy + "    charge: always\n");
  EXPECT_FALSE(spent.over("api", user, 0)) << "a look";
  EXPECT_TRUE(spent.over("api", user, 13)) << "the answer, that Envoy does not read";
  EXPECT_TRUE(spent.over("api", user, 0)) << "the next request";
  EXPECT_FALSE(spent.over("api", {{"user", "bob"}}, 0));
  spent.pass(milliseconds{61'000});
  EXPECT_FALSE(spent.over("api", user, 0));

  Service dropped(policy);
  EXPECT_TRUE(dropped.over("api", user, 13));
  EXPECT_FALSE(dropped.over("api", user, 0)) << "without it, refused hits do not count";
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
  service.use_store(sharing, outbox);
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
            "2: \"share: redis\" needs \"redis\": say where Redis is");
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

// The rest is envoyproxy/ratelimit's behaviour, with files of our own.

}  // namespace
}  // namespace weir::policies::rate_limit_test
