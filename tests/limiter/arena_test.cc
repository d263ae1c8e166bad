#include "limiter/memory/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

#include "tests/support/seed.h"

namespace weir::limiter::arena_test {
namespace {

TEST(Arena, BlocksNeverOverlapAndWhatIsFreedIsWholeAgain) {
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  Arena arena(1 << 20);
  std::map<std::uint32_t, unsigned> held;
  for (int i = 0; i < 50'000; ++i) {
    if (random() % 5 < 3 || held.empty()) {
      const auto order = static_cast<unsigned>(random() % (random() % 8 + 1));
      const std::uint32_t block = arena.allocate(order);
      if (block == 0) continue;
      const auto next = held.lower_bound(block);
      if (next != held.end()) {
        ASSERT_LE(block + (1U << order), next->first);
      }
      if (next != held.begin()) {
        ASSERT_LE(std::prev(next)->first + (1U << std::prev(next)->second), block);
      }
      std::memset(arena.at(block), 0xAB, Arena::bytes_of(order));
      held[block] = order;
    } else {
      const auto it = std::next(held.begin(), static_cast<std::ptrdiff_t>(random() % held.size()));
      arena.free(it->first, it->second);
      held.erase(it);
    }
  }
  for (const auto& [block, order] : held) arena.free(block, order);
  EXPECT_EQ(arena.used(), 0u);
  unsigned whole = 0;
  while (arena.allocate(arena.largest_order()) != 0) ++whole;
  EXPECT_GE(whole * Arena::bytes_of(arena.largest_order()), std::size_t{7} << 17)
      << "fragments were not joined";
}

TEST(Arena, NeverHandsOutMoreThanItsLimitLessWhatIsWithheld) {
  Arena arena(1 << 20);
  EXPECT_TRUE(arena.withhold(512 << 10));
  std::size_t got = 0;
  while (arena.allocate(0) != 0) got += 64;
  EXPECT_LE(got, std::size_t{512} << 10);
  EXPECT_FALSE(arena.withhold(512 << 10));
  EXPECT_EQ(Arena(0).allocate(0), 0u);
}

TEST(Arena, OrdersCoverTheBytes) {
  EXPECT_EQ(Arena::order_for(1), 0u);
  EXPECT_EQ(Arena::order_for(64), 0u);
  EXPECT_EQ(Arena::order_for(65), 1u);
  EXPECT_EQ(Arena::order_for(128), 1u);
  EXPECT_EQ(Arena::order_for(2 << 20), 15u);
}

}  // namespace
}  // namespace weir::limiter::arena_test
