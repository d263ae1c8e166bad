#include "app/serve/end_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace weir::app::end_watch_test {
namespace {

constexpr milliseconds kSoon{10}, kNever{3'600'000};

[[noreturn]] void hang() {
  for (;;) ::pause();
}

TEST(EndWatch, ends_the_process_and_says_what_it_waited_for) {
  EXPECT_EXIT(
      {
        Log log(Level::info, true);
        EndWatch watch(log);
        watch.begin("a join", kSoon, 3);
        hang();
      },
      testing::ExitedWithCode(3), "takes too long.*\"step\":\"a join\",\"waited_ms\":10");
}

TEST(EndWatch, the_next_step_has_a_limit_of_its_own) {
  EXPECT_EXIT(
      {
        Log log(Level::info, true);
        EndWatch watch(log);
        watch.begin("writing", kNever, 3);
        watch.begin("a join", kSoon, 4);
        hang();
      },
      testing::ExitedWithCode(4), "\"step\":\"a join\"");
}

TEST(EndWatch, what_ends_in_time_is_not_cut) {
  EXPECT_EXIT(
      {
        {
          Log log(Level::info, true);
          EndWatch watch(log);
          watch.begin("writing", kNever, 3);
        }
        std::exit(5);
      },
      testing::ExitedWithCode(5), "^$");
}

}  // namespace
}  // namespace weir::app::end_watch_test
