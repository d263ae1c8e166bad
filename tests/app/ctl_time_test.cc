#include "app/tools/ctl/ctl_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace weir::app::ctl_time_test {
namespace {

TEST(CtlTime, IsOfTodayOfYesterdayOrSoLongAgo) {
  ::setenv("TZ", "Asia/Shanghai", 1);
  ::tzset();
  const TimePoint now = *config::parse_date("2026-11-21T15:30:00+08:00").value;
  const auto at = [&](const char* text) { return parse_past(text, now).value; };
  EXPECT_EQ(at("14:00"), config::parse_date("2026-11-21T14:00:00+08:00").value);
  EXPECT_EQ(at("15:30:00"), now);
  EXPECT_EQ(at("16:00"), config::parse_date("2026-11-20T16:00:00+08:00").value);
  EXPECT_EQ(at("2h"), now - milliseconds{7'200'000});
  EXPECT_EQ(at("2026-11-21T06:00:00Z"), config::parse_date("2026-11-21T06:00:00Z").value);
  for (const char* wrong : {"24:00", "14:60", "yesterday", "14", "1a:00", ""}) {
    EXPECT_FALSE(parse_past(wrong, now)) << wrong;
  }
  ::unsetenv("TZ");
  ::tzset();
}

}  // namespace
}  // namespace weir::app::ctl_time_test
