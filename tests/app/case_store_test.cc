#include "app/tools/cases/case_store.h"

#include <gtest/gtest.h>

#include "tests/policies/world.h"

/// The store of a case: shared policies ask it, counts with `sync` go to it and come back.
namespace weir::app::case_store_test {
namespace {

constexpr char kShared[] = R"(
redis: {url: "redis://127.0.0.1:1", secret: s}
policies:
  - {name: asked, watch: request, key: ip, window: 1m, share: redis, then: [{over: 2, do: deny}]}
)";
constexpr char kSynced[] = R"(
redis: {url: "redis://127.0.0.1:1", secret: s}
policies:
  - {name: synced, watch: request, key: ip, window: 1m, share: {redis: {sync: 100ms}}, then: [{over: 200, do: deny}]}
)";
constexpr limiter::BankLimits kLimits{std::uint64_t{1} << 20, 1'000};

TEST(CaseStore, IsNeededBySharedPoliciesOnly) {
  const policies::World shared{std::string(kShared)}, synced{std::string(kSynced)};
  const policies::World own(
      "policies:\n  - {name: p, watch: request, key: ip, window: 1m, then: [{over: 2, do: "
      "deny}]}\n");
  EXPECT_TRUE(CaseStore::is_needed_by(*shared.set_));
  EXPECT_TRUE(CaseStore::is_needed_by(*synced.set_));
  EXPECT_FALSE(CaseStore::is_needed_by(*own.set_));
}

TEST(CaseStore, SharedCountersAreItsOwn) {
  policies::World world{std::string(kShared)};
  CaseStore store(kLimits, world.bank);
  store.serve(world.driver);
  for (int n = 1; n <= 3; ++n) {
    EXPECT_EQ(world.send({"GET /"}), n <= 2 ? "pass" : "deny");
    const policies::PlannedCounter& counter = world.plan().counters.front();
    EXPECT_EQ(counter.in_store, n <= 2);
    EXPECT_EQ(counter.reading.value, Number(n));
  }
}

TEST(CaseStore, SyncedCountsAreExchangedWhenTheirIntervalEnds) {
  policies::World world{std::string(kSynced)};
  CaseStore store(kLimits, world.bank);
  store.serve(world.driver);
  const TimePoint start = world.now;
  EXPECT_EQ(world.send({"GET /"}), "pass");
  EXPECT_EQ(world.plan().counters.front().asked, policies::PlannedCounter::kNone);
  const auto exchanged_at = [&](milliseconds since) {
    world.now = start + since;
    store.advance(world.now);
    return store.exchange_stats().exchanged;
  };
  EXPECT_EQ(exchanged_at(milliseconds{0}), 0u);
  EXPECT_EQ(exchanged_at(milliseconds{50}), 0u);
  EXPECT_EQ(world.send({"GET /"}), "pass");
  EXPECT_EQ(world.plan().counters.front().reading.value, Number(2)) << "not counted twice";
  EXPECT_EQ(exchanged_at(milliseconds{99}), 0u);
  EXPECT_EQ(exchanged_at(milliseconds{100}), 1u);
  EXPECT_EQ(world.send({"GET /"}), "pass");
  EXPECT_EQ(world.plan().counters.front().reading.value, Number(3)) << "not counted twice";
}

}  // namespace
}  // namespace weir::app::case_store_test
