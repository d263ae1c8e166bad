#include "app/tools/replay/fail_if.h"

#include <gtest/gtest.h>

namespace weir::app::fail_if_test {
namespace {

bool holds(std::string_view text, std::uint64_t hits, std::uint64_t events) {
  std::string problem;
  const auto condition = FailIf::parse(text, problem);
  EXPECT_TRUE(condition) << problem;
  return condition && condition->holds(hits, events);
}

TEST(FailIf, shares_and_numbers) {
  EXPECT_TRUE(holds("deny>0.5%", 51, 10'000));
  EXPECT_FALSE(holds("deny>0.5%", 50, 10'000));
  EXPECT_TRUE(holds("deny >= 0.5 %", 50, 10'000));
  EXPECT_FALSE(holds("deny>0%", 0, 0));
  EXPECT_TRUE(holds("deny>=100%", 7, 7));
  EXPECT_TRUE(holds("flag>100", 101, 101));
  EXPECT_FALSE(holds("flag>100", 100, 101));
  EXPECT_TRUE(holds("graylist>=1", 1, 101));
}

TEST(FailIf, what_is_no_condition) {
  std::string problem;
  for (const char* text :
       {"", "deny", "deny=1", "refuse>1", ">1", "deny>", "deny>x", "deny>1x", "deny>-1", "none>1",
        "deny>inf", "deny>101%", "deny>=101%", "deny>100%"}) {
    EXPECT_FALSE(FailIf::parse(text, problem)) << text;
  }
  FailIf::parse("refuse>1", problem);
  EXPECT_EQ(problem,
            "\"refuse\" is not an action; known are flag, graylist, delay, challenge, deny");
}

}  // namespace
}  // namespace weir::app::fail_if_test
