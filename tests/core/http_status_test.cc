#include "core/http_status.h"

#include <gtest/gtest.h>

namespace weir::http_status_test {
namespace {

TEST(HttpStatus, KnowsThePhraseOfEveryStatusThatWeirAnswersWith) {
  EXPECT_EQ(reason_phrase(200), "OK");
  EXPECT_EQ(reason_phrase(429), "Too Many Requests");
  EXPECT_EQ(reason_phrase(504), "Gateway Timeout");
}

TEST(HttpStatus, HasNothingForAStatusThatHttpDoesNotName) {
  EXPECT_EQ(reason_phrase(499), "");
  EXPECT_EQ(problem_body(499), "");
  EXPECT_EQ(reason_phrase(-1), "");
}

TEST(HttpStatus, TellsTheStatusAsAProblem) {
  EXPECT_EQ(problem_body(502),
            "{\"type\":\"about:blank\",\"title\":\"Bad Gateway\",\"status\":502}\n");
}

}  // namespace
}  // namespace weir::http_status_test
