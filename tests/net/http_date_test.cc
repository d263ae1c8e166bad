#include <gtest/gtest.h>

#include "net/http/date.h"

namespace weir::net::http_date_test {
namespace {

TEST(HttpDate, is_as_rfc_9110_writes_it_and_follows_steps_back) {
  HttpDate date;
  EXPECT_EQ(date.at(from_ms(784'111'777'000)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.at(from_ms(784'111'777'999)), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date.at(from_ms(784'111'778'000)), "Sun, 06 Nov 1994 08:49:38 GMT");
  EXPECT_EQ(date.at(from_ms(0)), "Thu, 01 Jan 1970 00:00:00 GMT");
}

}  // namespace
}  // namespace weir::net::http_date_test
