#include "net/connection_budget.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace weir::net::connection_budget_test {
namespace {

Address at(const char* text) { return *Address::parse(text); }

TEST(ConnectionBudget, has_so_many_places) {
  ConnectionBudget budget(2);
  EXPECT_TRUE(budget.take());
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
  budget.give_back();
  EXPECT_TRUE(budget.take());
  EXPECT_EQ(budget.open(), 2u);
}

TEST(ConnectionBudget, has_so_many_of_each_address) {
  ConnectionBudget budget(100, 2);
  for (const char* const who : {"192.0.2.1", "192.0.2.2", "2001:db8::1"}) {
    EXPECT_TRUE(budget.take_of(at(who)));
    EXPECT_TRUE(budget.take_of(at(who)));
    EXPECT_FALSE(budget.take_of(at(who))) << who;
  }
  budget.give_back_of(at("192.0.2.1"));
  EXPECT_TRUE(budget.take_of(at("192.0.2.1")));
  EXPECT_FALSE(budget.take_of(at("192.0.2.2")));
}

TEST(ConnectionBudget, takes_a_64_of_ipv6_for_one_address) {
  ConnectionBudget budget(100, 2);
  EXPECT_TRUE(budget.take_of(at("2001:db8::1")));
  EXPECT_TRUE(budget.take_of(at("2001:db8::ffff:1")));
  EXPECT_FALSE(budget.take_of(at("2001:db8::2")));
  EXPECT_TRUE(budget.take_of(at("2001:db8:0:1::2")));
}

TEST(ConnectionBudget, counts_an_ipv4_address_however_it_is_written) {
  ConnectionBudget budget(100, 1);
  EXPECT_TRUE(budget.take_of(at("192.0.2.1")));
  EXPECT_FALSE(budget.take_of(at("::ffff:192.0.2.1")));
}

TEST(ConnectionBudget, counts_for_many_threads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  ConnectionBudget budget(1'000'000, kThreads * kEach);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        const Address who = Address::v4(static_cast<std::uint32_t>(n % 50));
        EXPECT_TRUE(budget.take_of(who));
        if (n % 2 == 0) budget.give_back_of(who);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  // 25 of the addresses kept all of theirs, 25 none.
  const int kept = kThreads * kEach / 50;
  for (int n = 0; n < kThreads * kEach - kept; ++n) EXPECT_TRUE(budget.take_of(Address::v4(1)));
  EXPECT_FALSE(budget.take_of(Address::v4(1)));
  EXPECT_TRUE(budget.take_of(Address::v4(0)));
}

}  // namespace
}  // namespace weir::net::connection_budget_test
