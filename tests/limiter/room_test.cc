#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <vector>

#include "limiter/counters/bank.h"
#include "tests/support/seed.h"

/// Who keeps a count in a full table: docs/accuracy.md, "Memory".
namespace weir::limiter::room_test {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;
const Ceiling kFive{Number(5), false};
const Amount kOne{};

/// A table for some thousand keys, and counters of several policies.
class Room {
 public:
  Room() : seed(::weir::test::new_seed()), random_(seed) {
    std::cout << "seed " << seed << '\n';
    for (std::uint64_t i = 0; i < 4; ++i) {
      CounterSpec spec;
      spec.length = milliseconds{3'600'000};
      counters.push_back(bank.open({i + 1, 1}, spec).value());
    }
    capacity = bank.stats().capacity;
  }
  Hash128 new_key() { return {random_(), random_()}; }
  std::uint64_t number(std::uint64_t below) { return random_() % below; }

  /// Counts an event, and pins the key where the limit refuses it, as a policy does. Whether it
  /// passed.
  bool ask(std::size_t counter, const Hash128& key) {
    const Reading r = bank.charge(counters[counter], key, now(), kOne, &kFive, nullptr);
    if (r.refused) bank.pin(counters[counter], key);
    return !r.refused;
  }
  /// A new key of a policy that never refuses: one event each.
  void flood(std::size_t counter, std::size_t keys) {
    for (std::size_t i = 0; i < keys; ++i)
      bank.charge(counters[counter], new_key(), now(), kOne, nullptr, nullptr);
  }
  /// A key over its limit.
  Hash128 refused_key(std::size_t counter) {
    const Hash128 key = new_key();
    for (int i = 0; i < 6; ++i) ask(counter, key);
    return key;
  }
  bool is_held(std::size_t counter, const Hash128& key) {
    return bank.peek(counters[counter], key, now(), &kOne).value > Number(5);
  }
  std::size_t held(std::size_t counter, const std::vector<Hash128>& keys) {
    return static_cast<std::size_t>(std::count_if(
        keys.begin(), keys.end(), [&](const Hash128& key) { return is_held(counter, key); }));
  }
  TimePoint now() { return from_ms(kNow + static_cast<std::int64_t>(++events_ / 1'000)); }

  const std::uint64_t seed;
  Bank bank{BankLimits{std::uint64_t{2} << 20, 8'000}};
  std::vector<CounterId> counters;
  std::size_t capacity = 0;

 private:
  std::mt19937_64 random_;
  std::uint64_t events_ = 0;
};

// A key over a refusing limit is not evicted by a flood of new keys of any policy.
TEST(Room, WhoeverIsOverALimitOutlivesFloodsOfNewKeys) {
  Room room;
  std::vector<Hash128> refused;
  for (std::size_t i = 0; i < room.capacity / 4; ++i) refused.push_back(room.refused_key(0));
  const std::size_t before = room.held(0, refused);
  EXPECT_GE(before, refused.size() * 99 / 100) << "a quarter of the table may be over a limit";
  for (int wave = 0; wave < 20; ++wave) room.flood(room.number(4), room.capacity);
  EXPECT_EQ(room.held(0, refused), before);
}

// One policy's keys are all over their limit, and more than there is room for; or flood by flood.
TEST(Room, EveryPolicyFindsRoomForNewKeysWhateverOthersHold) {
  Room room;
  for (std::size_t i = 0; i < 3 * room.capacity; ++i) room.refused_key(1);
  for (int i = 0; i < 500; ++i) {
    const Hash128 login = room.new_key();
    int passed = 0;
    for (int n = 0; n < 10; ++n) {
      passed += room.ask(0, login);
      room.refused_key(1);  // it continues
      room.flood(2, 10);
    }
    ASSERT_EQ(passed, 5) << "login " << i;
  }
  EXPECT_EQ(room.bank.stats().full, 0U);
}

// A policy's keys that are not over a limit yet keep their share, though others' are newer.
TEST(Room, AFloodOfOnePolicyTakesTheRoomOfThatPolicy) {
  Room room;
  std::vector<Hash128> logins;
  for (std::size_t i = 0; i < room.capacity / 8; ++i) {
    logins.push_back(room.new_key());
    for (int n = 0; n < 5; ++n) room.ask(0, logins.back());
  }
  room.flood(2, 10 * room.capacity);
  std::size_t kept = 0;
  for (const Hash128& key : logins)
    kept += room.bank.peek(room.counters[0], key, room.now()).value == Number(5);
  EXPECT_GE(kept, logins.size() * 99 / 100);
}

// Pins of a policy beyond its part replace its own: two that refuse share the keys that may be
// pinned.
TEST(Room, PinsOfOnePolicyLeaveRoomForThePinsOfAnother) {
  Room room;
  for (std::size_t i = 0; i < 3 * room.capacity; ++i) room.refused_key(1);
  std::vector<Hash128> refused;
  for (std::size_t i = 0; i < room.capacity / 8; ++i) refused.push_back(room.refused_key(0));
  const std::size_t before = room.held(0, refused);
  EXPECT_GE(before, refused.size() * 99 / 100);
  for (std::size_t i = 0; i < room.capacity; ++i) room.refused_key(1);
  room.flood(2, 4 * room.capacity);
  EXPECT_GE(room.held(0, refused), before * 98 / 100);
}

}  // namespace
}  // namespace weir::limiter::room_test
