#include "net/worker_pool.h"

#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <future>

namespace weir::net::worker_pool_test {
namespace {

constexpr std::chrono::seconds kPatience{20};

// Like a name look-up without an answer.
TEST(Worker, does_not_wait_for_what_does_not_end) {
  Worker worker(0);
  auto endless = boost::asio::make_work_guard(worker.io());
  auto ended = std::async(std::launch::async, [&] { worker.run(); });
  worker.stop();
  EXPECT_EQ(ended.wait_for(kPatience), std::future_status::ready);
  endless.reset();
}

TEST(Worker, does_what_was_posted_before_and_what_that_posts) {
  Worker worker(0);
  int done = 0;
  worker.post([&] {
    ++done;
    worker.post([&] { ++done; });
  });
  worker.stop();
  worker.run();
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace weir::net::worker_pool_test
