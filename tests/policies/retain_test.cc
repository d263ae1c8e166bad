// `retain`: policies over the same thing begin with the history that another has kept.
#include <gtest/gtest.h>

#include "tests/policies/world.h"

namespace weir::policies::retain_test {
namespace {

constexpr const char* kEvents = R"(
events:
  login: {match: POST /login, fields: {user: query.user, device: query.device}}
  failed: {is: login, when: status == 401}
policies:
)";

std::string with(const std::string& policies) { return kEvents + policies; }

TestRequest login(const std::string& user, const std::string& device = "d") {
  return TestRequest("POST /login?user=" + user + "&device=" + device);
}

constexpr const char* kKeeps =
    "  - {name: short, watch: login, key: user, window: 1m, retain: 24h, then: [{over: 100, do: "
    "flag}]}\n";

TEST(Retain, ANewPolicyOverTheSameThingBeginsWithTheHistory) {
  World world(with(kKeeps));
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(world.send(login("ann")), "pass");
    world.now += std::chrono::hours(1);
  }
  EXPECT_EQ(world.send(login("bob")), "pass");
  world.use(with(std::string(kKeeps) + "  - {name: day, watch: login, key: user, window: {last: "
                                       "24h, exact: true}, then: [{over: 5, do: deny}]}\n"));
  EXPECT_EQ(world.send(login("ann")), "deny") << "the sixth within a day";
  EXPECT_EQ(world.send(login("bob")), "pass");
  world.now += std::chrono::hours(20);
  EXPECT_EQ(world.send(login("ann")), "pass")
      << "the first two have left the day; the refused one did not count";
}

TEST(Retain, AlsoInBucketsAndWhenThePolicyItselfChangesItsWindow) {
  World world(with(kKeeps));
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(world.send(login("ann")), "pass");
    world.now += std::chrono::minutes(1);
  }
  world.use(with(
      "  - {name: short, watch: login, key: user, window: 10m, then: [{over: 5, do: flag}]}\n"));
  EXPECT_EQ(world.send(login("ann")), "flag");
}

TEST(Retain, OnlyOverTheSameThing) {
  World world(with(kKeeps));
  for (int n = 0; n < 5; ++n) EXPECT_EQ(world.send(login("ann")), "pass");
  const auto reading = [&](const std::string& policy) {
    world.use(with(std::string(kKeeps) + "  - {name: new, " + policy +
                   ", then: [{over: 0, do: flag}]}\n"));
    TestRequest request = login("ann");
    world.judge(request);
    std::string out;
    for (const PlannedPolicy& planned : world.plan().policies) {
      if (world.set_->policies[planned.policy].name != "new") continue;
      out = world.plan()
                .counters[world.plan().counter_refs[planned.first_counter]]
                .reading.value.to_string();
    }
    return out;
  };
  EXPECT_EQ(reading("watch: login, key: device, window: 10m"), "1") << "another key";
  EXPECT_EQ(reading("watch: login, when: 'user != \"x\"', key: user, window: 10m"), "1")
      << "another filter";
  EXPECT_EQ(reading("watch: login, key: user, metric: distinct(device), window: 10m"), "1")
      << "another metric";
  EXPECT_EQ(reading("watch: login, key: user, version: 2, window: 10m"), "1")
      << "afresh on purpose";
  EXPECT_EQ(reading("watch: login, key: user, charge: always, window: 10m"), "1")
      << "refused ones count too";
  EXPECT_EQ(reading("watch: login, key: user, window: 48h"), "1") << "longer than what is kept";
  EXPECT_EQ(reading("watch: login, key: user, window: 24h"), "12")
      << "the five, and each request since";
  EXPECT_EQ(reading("watch: login, key: user, window: 11m"), "13");
}

TEST(Retain, OutcomesAndSeveralMetricsKeepToo) {
  World world(with(R"(  - name: rates
    watch: login
    key: user
    retain: 24h
    metrics:
      bad: {watch: failed, window: 1m}
      devices: {watch: login, metric: distinct(device), window: 1m}
    then: [{if: 'bad > 1000', do: flag}]
)"));
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(world.send(login("ann", "d" + std::to_string(n)), n % 2 == 0 ? 401 : 200), "pass");
    world.now += std::chrono::hours(2);
  }
  world.use(with(
      R"(  - {name: bad, watch: failed, key: user, window: {last: 12h, exact: true}, then: [{over: 3, do: deny}]}
  - {name: devices, watch: login, key: user, metric: distinct(device), window: 12h, then: [{over: 4, do: flag}]}
)"));
  EXPECT_EQ(world.send(login("ann", "d9"), 401), "flag") << "the fifth device, the third failure";
  EXPECT_EQ(world.send(login("ann", "d9"), 401), "deny");
}

TEST(Retain, SurvivesARestart) {
  World world(with(kKeeps));
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(world.send(login("ann")), "pass");
    world.now += std::chrono::hours(1);
  }
  std::string bytes;
  limiter::Bank::Snapshot snapshot(world.bank, world.now, world.now);
  while (snapshot.next(bytes)) {
  }
  const char* const later =
      "  - {name: day, watch: login, key: user, window: {last: 24h, exact: true}, then: [{over: 5, "
      "do: deny}]}\n";
  World same(with(kKeeps)), changed(with(later));
  for (World* again : {&same, &changed}) {
    again->now = world.now;
    ASSERT_TRUE(again->bank.import(bytes, world.now, world.now));
  }
  same.use(with(later));
  EXPECT_EQ(same.send(login("ann")), "deny");
  EXPECT_EQ(changed.send(login("ann")), "deny") << "the file was changed while weir was down";
}

}  // namespace
}  // namespace weir::policies::retain_test
