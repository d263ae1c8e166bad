#include "net/task_group.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <stdexcept>

#include "net/deadline.h"

namespace weir::net::task_group_test {
namespace {

namespace asio = boost::asio;

constexpr milliseconds kLong{3'600'000};

asio::awaitable<void> wait_long(int* ended) {
  struct End {
    int* ended;
    ~End() { ++*ended; }
  };
  const End end{ended};
  co_await pause(kLong);
}

asio::awaitable<void> stop_group(TaskGroup& group, milliseconds grace,
                                 std::optional<bool>* all_ended) {
  *all_ended = co_await group.wait(grace);
}

asio::awaitable<void> fail() {
  co_await pause(milliseconds{0});
  throw std::runtime_error("a bug");
}

asio::awaitable<int> slow() {
  co_await pause(kLong);
  co_return 1;
}

asio::awaitable<int> quick() { co_return 7; }

asio::awaitable<void> race(std::optional<int>* quick_result, std::optional<int>* slow_result) {
  *quick_result = co_await within(kLong, quick());
  *slow_result = co_await within(milliseconds{1}, slow());
}

struct Group {
  asio::io_context io{1};
  int failures = 0;
  TaskGroup tasks{io.get_executor(), [this](const std::exception_ptr&) { ++failures; }};
};

}  // namespace

TEST(TaskGroup, CancelsAllAndWaitsForThem) {
  Group group;
  int ended = 0;
  for (int i = 0; i < 10; ++i) group.tasks.spawn(wait_long(&ended));
  group.io.poll();
  EXPECT_EQ(group.tasks.size(), 10U);
  std::optional<bool> all_ended;
  asio::co_spawn(group.io, stop_group(group.tasks, kLong, &all_ended), [](std::exception_ptr) {});
  group.io.poll();
  EXPECT_FALSE(all_ended.has_value());
  group.tasks.cancel();
  group.io.run();
  EXPECT_EQ(all_ended, true);
  EXPECT_EQ(ended, 10);
  EXPECT_EQ(group.failures, 0);  // being cancelled is no failure
}

TEST(TaskGroup, WaitsNoLongerThanItsGrace) {
  Group group;
  int ended = 0;
  group.tasks.spawn(wait_long(&ended));
  std::optional<bool> all_ended;
  asio::co_spawn(group.io, stop_group(group.tasks, milliseconds{1}, &all_ended),
                 [](std::exception_ptr) {});
  while (!all_ended) group.io.run_one();
  EXPECT_EQ(all_ended, false);
  EXPECT_EQ(ended, 0);
}

TEST(TaskGroup, TellsOfFailures) {
  Group group;
  group.tasks.spawn(fail());
  group.io.run();
  EXPECT_EQ(group.failures, 1);
  EXPECT_EQ(group.tasks.size(), 0U);
}

TEST(TaskGroup, MayGoBeforeItsCoroutines) {
  int ended = 0;
  {
    asio::io_context io{1};
    {
      TaskGroup tasks(io.get_executor(), [](const std::exception_ptr&) {});
      tasks.spawn(wait_long(&ended));
      io.poll();
    }
    io.poll();
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);  // dropped with the io_context
}

TEST(Deadline, CutsWhatIsSlowAndKeepsWhatIsQuick) {
  asio::io_context io{1};
  std::optional<int> quick_result, slow_result{3};
  asio::co_spawn(io, race(&quick_result, &slow_result), [](std::exception_ptr) {});
  io.run();
  EXPECT_EQ(quick_result, 7);
  EXPECT_EQ(slow_result, std::nullopt);
}

TEST(Deadline, PassesACancellationOn) {
  Group group;
  std::optional<int> quick_result, slow_result;
  group.tasks.spawn(race(&quick_result, &slow_result));
  group.io.run_one();
  group.tasks.cancel();
  group.io.run();
  EXPECT_EQ(slow_result, std::nullopt);
  EXPECT_EQ(group.tasks.size(), 0U);
  EXPECT_EQ(group.failures, 0);
}

}  // namespace weir::net::task_group_test
