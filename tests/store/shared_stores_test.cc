// One suite for every shared store and every kind (tests/store/contract.h). All servers are real,
// and the tests' own.
#include "store/memory_store.h"
#include "tests/store/contract.h"
#include "tests/store/pattern_contract.h"
#include "tests/support/redis_server.h"

namespace weir::store::shared_stores_test {
namespace {

using store::test::World;

TEST(SharedStores, InMemory) {
  World world;
  const auto clock = [&] { return world.worker.now(); };
  std::deque<MemoryStore> stores;
  const auto make = [&]() -> SharedStore& {
    return stores.emplace_back(limiter::BankLimits{std::uint64_t{2} << 20, 100}, clock);
  };
  MemoryStore store({std::uint64_t{32} << 20, 10'000}, clock);
  test::whole_contract(world, store, 150, make);
  test::whole_pattern_contract(world, make(), 200);
}

TEST(SharedStores, ASingleRedis) {
  weir::test::RedisServer redis;
  ASSERT_TRUE(redis.running());
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  test::whole_contract(world, *store, 80);
  test::whole_pattern_contract(world, *store, 40);
  test::what_is_lent_comes_back_unless_it_is_seen_to(world, *store);
  test::two_leases_of_one_key_are_two(world, *store);
  // Every key has weir's prefix and a time to live.
  for (const std::string& key : redis.words({"KEYS", "*"})) {
    ASSERT_TRUE(key.starts_with("weir:")) << key;
    ASSERT_GT(redis.integer({"PTTL", key}), 0) << key;
  }
}

}  // namespace
}  // namespace weir::store::shared_stores_test
