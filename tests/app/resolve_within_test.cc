#include <gtest/gtest.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/support/http_client.h"

namespace weir::app::resolve_within_test {
namespace {

// Resolves without a name server, but is no address.
const std::string kName = "localhost";

TEST(ResolveWithin, says_what_the_system_says_where_there_is_no_thread) {
  std::string why;
  const auto found =
      resolve_within(kName, 80, milliseconds{0}, &why, [](const std::function<void()>&) {
        throw std::system_error(EAGAIN, std::system_category());
      });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), make_error_code(Error::unavailable));
  EXPECT_NE(why.find("unavailable"), std::string::npos) << why;
}

TEST(ResolveWithin, a_failure_keeps_no_place) {
  std::string why;
  for (int i = 0; i <= kOpenQuestionsMax; ++i) {
    static_cast<void>(
        resolve_within(kName, 80, milliseconds{0}, &why, [](const std::function<void()>&) {
          throw std::system_error(EAGAIN, std::system_category());
        }));
  }
  const auto run_here = [](const std::function<void()>& function) { function(); };
  EXPECT_TRUE(resolve_within(kName, 80, milliseconds{0}, &why, run_here)) << why;
}

TEST(ResolveWithin, a_silent_name_server_keeps_so_many_threads_and_no_more) {
  std::vector<std::function<void()>> threads;  // of a name server that does not answer
  const auto keep = [&threads](std::function<void()> function) {
    threads.push_back(std::move(function));
  };
  std::string why;
  for (int i = 0; i < kOpenQuestionsMax; ++i) {
    const auto found = resolve_within(kName, 80, milliseconds{0}, &why, keep);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error(), make_error_code(Error::timed_out)) << i;
  }
  const auto refused = resolve_within(kName, 80, milliseconds{0}, &why, keep);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), make_error_code(Error::unavailable));
  EXPECT_NE(why.find("no answer yet"), std::string::npos) << why;
  EXPECT_EQ(threads.size(), static_cast<std::size_t>(kOpenQuestionsMax));
  threads.front()();  // one is answered, and its thread ends
  threads.erase(threads.begin());
  EXPECT_EQ(resolve_within(kName, 80, milliseconds{0}, &why, keep).error(),
            make_error_code(Error::timed_out));
}

}  // namespace
}  // namespace weir::app::resolve_within_test
