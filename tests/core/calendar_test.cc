#include "core/calendar.h"

#include <gtest/gtest.h>

namespace weir::calendar_test {
namespace {

constexpr std::int64_t kHour = 3'600'000;

void expect_span(const TimeZone& zone, CalendarUnit unit, std::int64_t at, std::int64_t begin,
                 std::int64_t end) {
  const TimeZone::Span span = zone.span(unit, from_ms(at));
  EXPECT_EQ(to_ms(span.begin), begin);
  EXPECT_EQ(to_ms(span.end), end);
}

TEST(Calendar, UnknownZonesAreNone) {
  EXPECT_EQ(TimeZone::find("Asia/Shangai"), nullptr);
  EXPECT_EQ(TimeZone::find("Asia/Shanghai"), TimeZone::find("Asia/Shanghai"));
}

TEST(Calendar, ADayOfShanghaiBeginsAtFourInTheAfternoonUtc) {
  const auto zone = TimeZone::find("Asia/Shanghai");
  ASSERT_NE(zone, nullptr);
  const std::int64_t begin = 1'714'492'800'000;  // 2024-04-30T16:00:00Z
  expect_span(*zone, CalendarUnit::day, begin, begin, begin + 24 * kHour);
  expect_span(*zone, CalendarUnit::day, begin + 24 * kHour - 1, begin, begin + 24 * kHour);
  expect_span(*zone, CalendarUnit::day, begin - 1, begin - 24 * kHour, begin);
}

TEST(Calendar, WeeksBeginOnMondayAndMonthsOnTheFirst) {
  const auto utc = TimeZone::find("UTC");
  const std::int64_t wednesday = 1'714'521'600'000;  // 2024-05-01T00:00:00Z
  expect_span(*utc, CalendarUnit::week, wednesday, wednesday - 48 * kHour,
              wednesday + 5 * 24 * kHour);
  const std::int64_t monday = wednesday - 48 * kHour;
  expect_span(*utc, CalendarUnit::week, monday, monday, monday + 7 * 24 * kHour);
  expect_span(*utc, CalendarUnit::month, wednesday + 1, wednesday, wednesday + 31 * 24 * kHour);
}

TEST(Calendar, SummerTimeMakesADayOf23HoursAndOneOf25) {
  const auto zone = TimeZone::find("Europe/Berlin");
  const std::int64_t spring = 1'711'839'600'000;  // 2024-03-31T00:00 +01:00
  expect_span(*zone, CalendarUnit::day, spring + 5 * kHour, spring, spring + 23 * kHour);
  const std::int64_t autumn = 1'729'980'000'000;  // 2024-10-27T00:00 +02:00
  expect_span(*zone, CalendarUnit::day, autumn + 5 * kHour, autumn, autumn + 25 * kHour);
  // Two o'clock comes twice: two hours, not one of 120 minutes.
  expect_span(*zone, CalendarUnit::hour, autumn + 2 * kHour + 5, autumn + 2 * kHour,
              autumn + 3 * kHour);
  expect_span(*zone, CalendarUnit::hour, autumn + 3 * kHour + 5, autumn + 3 * kHour,
              autumn + 4 * kHour);
}

TEST(Calendar, HoursDoNotOverlapWhereClocksAreChangedByHalfOfOne) {
  const auto zone = TimeZone::find("Australia/Lord_Howe");
  ASSERT_NE(zone, nullptr);
  const std::int64_t spring = 1'696'087'800'000;  // 2023-09-30T15:30Z: 02:00 +10:30 is 02:30 +11:00
  expect_span(*zone, CalendarUnit::hour, spring - 1, spring - kHour, spring);
  expect_span(*zone, CalendarUnit::hour, spring, spring, spring + kHour / 2);
  expect_span(*zone, CalendarUnit::hour, spring + kHour / 2, spring + kHour / 2,
              spring + kHour / 2 * 3);
  const std::int64_t autumn = 1'712'415'600'000;  // 2024-04-06T15:00Z: 02:00 +11:00 is 01:30 +10:30
  expect_span(*zone, CalendarUnit::hour, autumn - 1, autumn - kHour, autumn);
  expect_span(*zone, CalendarUnit::hour, autumn, autumn, autumn + kHour / 2);
  expect_span(*zone, CalendarUnit::hour, autumn + kHour, autumn + kHour / 2,
              autumn + kHour / 2 * 3);
}

TEST(Calendar, HoursOfZonesWithHalfHours) {
  const auto zone = TimeZone::find("Asia/Kolkata");
  const std::int64_t hour = 1'714'503'600'000 - kHour / 2;
  expect_span(*zone, CalendarUnit::hour, hour + 1, hour, hour + kHour);
}

}  // namespace
}  // namespace weir::calendar_test
