// A process's end of sharing lists: its thread, whom it asks, what it says of itself.
#include "app/sharing/list_sharing.h"

#include <gtest/gtest.h>

#include "app/serve/report.h"
#include "tests/support/redis_server.h"

namespace weir::app::list_sharing_test {
namespace {

/// Lists of a process, and the loop of its control thread.
struct Process {
  explicit Process(const test::RedisServer& redis) {
    store::Settings settings;
    store::Endpoint endpoint;
    endpoint.path = redis.path();
    settings.endpoints = {endpoint};
    sharing =
        std::make_unique<ListSharing>(control, settings, HashSecret::from_text("s"), lists, log);
    policies::List list;
    list.name = "gray";
    list.identity = {1, 2};
    list.shared = true;
    list.id = lists.open("gray").value();
    set.lists.push_back(std::move(list));
  }
  limiter::ListId id() const { return set.lists.front().id; }
  void add(std::uint64_t n) {
    limiter::Listing listing;
    listing.key = {n, n};
    listing.until = clock.now() + milliseconds{3'600'000};
    lists.add(id(), listing, clock.now());
  }
  bool until(const std::function<bool()>& done) {
    const TimePoint end = clock.now() + milliseconds{20'000};
    while (!done()) {
      if (clock.now() > end) return false;
      control.restart();
      control.run_one_for(std::chrono::milliseconds{5});
    }
    return true;
  }

  Clock clock;
  Log log{Level::error, true};
  boost::asio::io_context control{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      control.get_executor()};
  limiter::ListBank lists;
  policies::PolicySet set;
  std::unique_ptr<ListSharing> sharing;
};

TEST(ListSharing, TellsOtherProcessesAndSaysHowItFares) {
  const test::RedisServer redis;
  Process first(redis), second(redis);
  EXPECT_FALSE(first.sharing->facts(first.clock.now()));
  first.sharing->use(policies::PolicySet{});
  EXPECT_FALSE(first.sharing->facts(first.clock.now())) << "no list, no thread";
  first.sharing->use(first.set);
  second.sharing->use(second.set);
  first.add(7);
  ASSERT_TRUE(first.until([&] {
    return second.lists.find(second.id(), {7, 7}, second.clock.now()).listed;
  }));
  ASSERT_TRUE(first.until([&] { return first.sharing->facts(first.clock.now())->pending == 0; }));
  const auto facts = first.sharing->facts(first.clock.now());
  EXPECT_TRUE(facts->up) << facts->why;
  EXPECT_EQ(facts->lists, 1U);
  EXPECT_EQ(facts->entries, 1U);
  EXPECT_LT(facts->lag, milliseconds{5'000});
  for (std::uint64_t n = 8; n < 100; ++n) first.add(n);  // the last thing that it does
  first.sharing->stop();
  ASSERT_TRUE(first.until([&] {
    return second.lists.find(second.id(), {99, 99}, second.clock.now()).listed;
  }));
}

TEST(ListSharing, AsksWhoseListingMadeAnEntry) {
  const test::RedisServer redis;
  Process first(redis), second(redis);
  int heard = 0, made = 0;
  const auto ask = [&](Process& process, std::uint64_t n) {
    process.sharing->ask_maker(process.id(), {n, n}, [&](bool here) {
      ++heard;
      made += here ? 1 : 0;
    });
  };
  ask(first, 1);
  EXPECT_EQ(made, 1) << "nothing is shared: each speaks for itself";
  first.sharing->use(first.set);
  second.sharing->use(second.set);
  ASSERT_TRUE(first.until([&] {
    const auto one = first.sharing->facts(first.clock.now());
    const auto two = second.sharing->facts(second.clock.now());
    return one && two && one->up && two->up;
  }));
  heard = made = 0;
  first.add(2);
  second.add(2);
  ask(first, 2);
  ask(second, 2);
  ASSERT_TRUE(first.until([&] {
    second.control.restart();
    second.control.poll();
    return heard == 2;
  }));
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace weir::app::list_sharing_test
