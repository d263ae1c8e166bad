#include "core/time_pattern.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::time_pattern_test {
namespace {

std::int64_t read(std::string_view pattern, std::string_view text) {
  TimePattern::Problem problem;
  const auto compiled = TimePattern::compile(pattern, problem);
  if (!compiled) {
    ADD_FAILURE() << pattern << ": " << problem.message;
    return -2;
  }
  std::size_t used = 0;
  const auto time = compiled->read(text, used);
  if (!time || used != text.size()) return -1;
  return to_ms(*time);
}

TEST(TimePattern, reads_what_logs_write) {
  struct Case {
    const char* name;
    const char* pattern;
    const char* text;
    std::int64_t ms;  // -1: is not read
  };
  const Case kCases[] = {
      {"combined log", "%d/%b/%Y:%H:%M:%S %z", "17/May/2015:10:05:03 +0000", 1431857103000},
      {"a zone east", "%d/%b/%Y:%H:%M:%S %z", "17/May/2015:18:05:03 +0800", 1431857103000},
      {"a zone west, with colon", "%Y-%m-%dT%H:%M:%S%z", "2015-05-17T04:35:03-05:30",
       1431857103000},
      {"Z", "%Y-%m-%dT%H:%M:%S%z", "2015-05-17T10:05:03Z", 1431857103000},
      {"the month as a number", "%d/%m/%Y:%H:%M:%S %z", "17/05/2015:10:05:03 +0000", 1431857103000},
      {"no zone is UTC", "%Y/%m/%d %H:%M:%S", "2016/01/01 00:30:04", 1451608204000},
      {"a fraction", "%Y/%m/%d %H:%M:%S", "2016/01/01 00:30:04.91", 1451608204910},
      {"a fraction with a comma", "%F %T", "2016-01-01 00:30:04,9", 1451608204900},
      {"more digits than milliseconds", "%F %T", "2016-01-01 00:30:04.0129999", 1451608204012},
      {"a point that is not a fraction", "%F %T.", "2016-01-01 00:30:04.", 1451608204000},
      {"month and weekday by name, any case", "%A %e %B %Y %R", "friday  1 JANUARY 2016 00:30",
       1451608200000},
      {"May is both long and short", "%B %d %Y", "May 17 2015", 1431820800000},
      {"hours of twelve", "%D %I:%M %p", "05/17/15 12:05 am", 1431821100000},
      {"noon", "%D %I:%M %p", "05/17/15 12:05 PM", 1431864300000},
      {"the day of the year", "%Y %j", "2016 366", 1483142400000},
      {"Unix seconds", "%s", "1511658000.25", 1511658000250},
      {"a name of UTC", "%F %T %Z", "2016-01-01 00:30:04 GMT", 1451608204000},
      {"a leap second counts into the next minute", "%F %T", "2016-12-31 23:59:60", 1483228800000},
      {"29 February", "%F", "2016-02-29", 1456704000000},
      {"blanks match any blanks", "%F %T", "2016-01-01\t 00:30:04", 1451608204000},
      {"a percent sign", "%%%F", "%2016-01-01", 1451606400000},
      {"no such day", "%F", "2015-02-29", -1},
      {"no such day of the year", "%Y %j", "2015 366", -1},
      {"no such month", "%F", "2015-13-01", -1},
      {"no such hour", "%F %T", "2015-01-01 24:00:00", -1},
      {"an unknown zone", "%F %Z", "2015-01-01 CET", -1},
      {"text after it", "%F", "2015-01-01x", -1},
      {"too short", "%F %T", "2015-01-01 00:0", -1},
      {"nothing", "%F", "", -1},
      {"before 1970", "%F", "1969-12-31", -1},
      {"before 1970 by its zone", "%F %T %z", "1970-01-01 00:00:00 +0100", -1},
  };
  for (const Case& c : kCases) EXPECT_EQ(read(c.pattern, c.text), c.ms) << c.name;
}

TEST(TimePattern, tells_what_is_wrong_with_a_pattern) {
  struct Case {
    const char* pattern;
    std::size_t offset, length;
    const char* message;
  };
  const Case kCases[] = {
      {"%Y-%m-%d %Q", 9, 2, "\"%Q\" is not a part of a time"},
      {"%Y-%m-%d %", 9, 1, "\"%\" is not a part of a time"},
      {"%H:%M", 0, 5, "a time needs its year, month and day"},
      {"%b %d %H:%M:%S", 0, 14, "a time needs its year, month and day"},
      {"", 0, 0, "a time needs its year, month and day"},
      {"%F %I", 0, 5, "%I and %p need each other"},
  };
  for (const Case& c : kCases) {
    TimePattern::Problem problem;
    EXPECT_FALSE(TimePattern::compile(c.pattern, problem)) << c.pattern;
    EXPECT_EQ(problem.offset, c.offset) << c.pattern;
    EXPECT_EQ(problem.length, c.length) << c.pattern;
    EXPECT_EQ(problem.message, c.message);
  }
}

TEST(Epoch, ReadsTextsOfEachUnit) {
  constexpr auto kSeconds = EpochUnit::seconds;
  EXPECT_EQ(read_epoch("1511658000", kSeconds), from_ms(1511658000000));
  EXPECT_EQ(read_epoch("1511658000.1239", kSeconds), from_ms(1511658000123));
  EXPECT_EQ(read_epoch("0", kSeconds), from_ms(0));
  for (const char* bad :
       {"", "-1", "x", "1 ", " 1", "1.", "1e3", "99999999999999", "253402300800"}) {
    EXPECT_FALSE(read_epoch(bad, kSeconds)) << bad;
  }
  EXPECT_EQ(read_epoch("1511658000123", EpochUnit::millis), from_ms(1511658000123));
  EXPECT_EQ(read_epoch("1511658000123.9", EpochUnit::millis), from_ms(1511658000123));
  EXPECT_EQ(read_epoch("1511658000123999.9", EpochUnit::micros), from_ms(1511658000123));
  EXPECT_EQ(read_epoch("1511658000123999999", EpochUnit::nanos), from_ms(1511658000123));
  EXPECT_EQ(read_epoch("253402300799999", EpochUnit::millis), from_ms(253402300799999));
  EXPECT_EQ(read_epoch("253402300799999999", EpochUnit::micros), from_ms(253402300799999));
  EXPECT_EQ(read_epoch("9223372036854775807", EpochUnit::nanos), from_ms(9223372036854));
  for (const char* bad : {"", "-1", "x", "1 ", "253402300800000", "9223372036854775808",
                          "18446744073709551616", "99999999999999999999"}) {
    EXPECT_FALSE(read_epoch(bad, EpochUnit::millis)) << bad;
  }
  EXPECT_FALSE(read_epoch("253402300800000000", EpochUnit::micros));
  EXPECT_FALSE(read_epoch("9223372036854775808", EpochUnit::nanos));
}

TEST(Epoch, TakesNumbersOfEachUnit) {
  EXPECT_EQ(epoch_time(Number::real(1.5), EpochUnit::seconds), from_ms(1500));
  EXPECT_EQ(epoch_time(Number::real(1.5), EpochUnit::millis), from_ms(1));
  EXPECT_EQ(epoch_time(Number::real(1999.5), EpochUnit::micros), from_ms(1));
  EXPECT_EQ(epoch_time(Number::real(1e18), EpochUnit::nanos), from_ms(1000000000000));
  EXPECT_EQ(epoch_time(1511658000, EpochUnit::seconds), from_ms(1511658000000));
  // A double would make this the millisecond before.
  EXPECT_EQ(epoch_time(1511658000123000000, EpochUnit::nanos), from_ms(1511658000123));
  for (const EpochUnitRow& row : kEpochUnits) {
    EXPECT_EQ(epoch_time(0, row.value), from_ms(0)) << row.name;
    EXPECT_FALSE(epoch_time(-1, row.value)) << row.name;
    EXPECT_FALSE(epoch_time(Number::real(-0.5), row.value)) << row.name;
    EXPECT_FALSE(epoch_time(Number::real(1e300), row.value)) << row.name;
    EXPECT_FALSE(epoch_time(Number::real(__builtin_nan("")), row.value)) << row.name;
  }
  EXPECT_FALSE(epoch_time(std::numeric_limits<std::int64_t>::max(), EpochUnit::seconds));
  EXPECT_FALSE(epoch_time(std::numeric_limits<std::int64_t>::max(), EpochUnit::micros));
}

}  // namespace
}  // namespace weir::time_pattern_test
