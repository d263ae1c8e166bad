#include "config/text/units.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/text.h"

namespace weir::config::units_test {
namespace {

TEST(Units, durations) {
  const std::pair<std::string_view, std::int64_t> good[] = {{"15m", 900'000},
                                                            {"500ms", 500},
                                                            {"1h30m", 5'400'000},
                                                            {"7d", 604'800'000},
                                                            {"0s", 0},
                                                            {"25h1m1s1ms", 90'061'001},
                                                            {"36500d", 36500LL * 86'400'000}};
  for (const auto& [text, ms] : good) {
    const auto value = parse_duration(text);
    ASSERT_TRUE(value) << text << value.message;
    EXPECT_EQ(value.value->count(), ms) << text;
    EXPECT_EQ(human_duration(*value.value), text);
  }
  EXPECT_EQ(parse_duration("1d1h1m1s1ms").value->count(), 90'061'001);
  for (const auto* text :
       {"", "15", "m", "-5m", "1.5h", "5 m", "1m1h", "1m1m", "5M", "36501d",
        "99999999999999999999d", "9223372036854775807ms", "1h30", "15min", "\x80"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  EXPECT_EQ(parse_duration("15").message, "duration \"15\" has no unit");
  EXPECT_EQ(parse_duration("15min").hint, "did you mean \"15m\"?");
  EXPECT_EQ(parse_duration("1w").hint, "there are no weeks: write 7d");
  EXPECT_EQ(parse_duration("0.5h").hint, "no fractions: write 30m");
  EXPECT_EQ(parse_duration("1.25s").hint, "no fractions: write 1s250ms");
  EXPECT_EQ(parse_duration("1分钟").hint, "did you mean \"1m\"?");
  EXPECT_EQ(parse_duration("5毫秒").hint, "did you mean \"5ms\"?");
  for (const auto* text : {"forever", "never"})  // of any key: `window`, `for`, `timeouts.idle`
    EXPECT_EQ(parse_duration(text).hint,
              "a duration has an end: write a length such as 30d; entries of a list may have none");
  EXPECT_EQ(parse_duration("99999999999999999999w").hint, "a duration has at most 36500d");
}

TEST(Units, distances) {
  EXPECT_EQ(parse_distance("1000m").value, 1000.0);
  EXPECT_EQ(parse_distance("2km").value, 2000.0);
  EXPECT_EQ(parse_distance("1.5km").value, 1500.0);
  for (const auto* text : {"", "5", "m", "-5m", "5 m", "5M", "5mi", "1e3m", "1.5.2m", "km"})
    EXPECT_FALSE(parse_distance(text)) << text;
  EXPECT_EQ(parse_distance("5").message, "distance \"5\" has no unit");
  EXPECT_EQ(format_distance(1000), "1000m");
  EXPECT_EQ(format_distance(25'000), "25km");
  EXPECT_EQ(format_distance(12'500), "12500m");
  EXPECT_EQ(format_distance(1.5), "1.5m");
}

TEST(Units, sizes) {
  EXPECT_EQ(parse_size("64KiB").value, 65536u);
  EXPECT_EQ(parse_size("256MiB").value, 256u << 20);
  EXPECT_EQ(parse_size("512B").value, 512u);
  for (const auto* text :
       {"", "64", "64KB", "KiB", "-1KiB", "64 KiB", "99999999999999999999B", "9999999GiB"})
    EXPECT_FALSE(parse_size(text)) << text;
  EXPECT_EQ(parse_size("256MB").hint, "did you mean \"256MiB\"?");
  EXPECT_EQ(format_size(65536), "64KiB");
  EXPECT_EQ(format_size(1000), "1000B");
}

TEST(Units, dates) {
  EXPECT_EQ(to_ms(*parse_date("2027-01-01").value), 1798761600000);
  EXPECT_EQ(to_ms(*parse_date("2027-01-01T08:00:00+08:00").value), 1798761600000);
  EXPECT_EQ(to_ms(*parse_date("2027-01-01T00:00:00.250Z").value), 1798761600250);
  EXPECT_EQ(to_ms(*parse_date("2026-12-31T23:00:00-01:00").value), 1798761600000);
  for (const auto* text : {"", "2027", "2027-1-1", "2027-02-30", "2027-13-01", "2027-01-01T",
                           "2027-01-01T00:00:00", "2027-01-01T24:00:00Z", "2027-01-01T00:00:00.Z",
                           "2027-01-01T00:00:00Zx", "2027-01-01T00:00:00+8:00", "2027/01/01"}) {
    EXPECT_FALSE(parse_date(text)) << text;
  }
}

TEST(Units, rates_that_somebody_means) {
  const auto text = [](const char* of) {
    const auto meant = meant_rate(of);
    return meant ? meant->text() : std::string("none");
  };
  for (const auto* of : {"10/m", "10r/m", "10 r/m", "10/min", "10/minute", "10 per minute",
                         "10 requests per minute", "10-M", "10req/1m", "10/1m"})
    EXPECT_EQ(text(of), "10/m") << of;
  EXPECT_EQ(text("5/15m"), "5/15m");
  EXPECT_EQ(text("100/day"), "100/d");
  EXPECT_EQ(text("1000 per week"), "1000/7d");
  for (const auto* of : {"", "10", "10m", "1h30m", "m", "/m", "-10/m", "10/", "10/x", "10 per",
                         "10/m/s", "value / m", "10/1x", "99999999999999999999/m"})
    EXPECT_EQ(text(of), "none") << of;
  EXPECT_EQ(parse_duration("minute").hint, "did you mean \"1m\"?");
  EXPECT_EQ(parse_duration("Daily").hint, "did you mean \"1d\"?");
  EXPECT_EQ(parse_duration("soon").hint, "a duration is written like 500ms, 15m or 1h30m");
}

TEST(Units, numbers) {
  EXPECT_EQ(*parse_number("3000").value, Number{3000});
  EXPECT_EQ(*parse_number("-5").value, Number{-5});
  EXPECT_TRUE(parse_number("0.5").value->is_real());
  EXPECT_EQ(*parse_number("1e3").value, Number{1000});
  for (const auto* text : {"", "x", "5x", "0x10", "nan", "inf", "-inf", "1e999", "--1", "+1", "."})
    EXPECT_FALSE(parse_number(text)) << text;
  EXPECT_EQ(*parse_number("-9223372036854775808").value,
            Number{std::numeric_limits<std::int64_t>::min()});
  for (const auto* text :
       {"9223372036854775808", "99999999999999999999", "-99999999999999999999"}) {
    EXPECT_EQ(parse_number(text).message,
              "\"" + std::string(text) + "\" does not fit into 64 bits");
    EXPECT_NE(parse_number(text).hint, "");
    EXPECT_TRUE(parse_data_number(text)) << text;
  }
  EXPECT_FALSE(parse_data_number("-"));
}

TEST(Units, endpoints) {
  EXPECT_EQ(parse_listen("0.0.0.0:8480").value->host, "0.0.0.0");
  EXPECT_EQ(parse_listen("[::]:8480").value->host, "::");
  EXPECT_EQ(parse_listen(":8480").value->host, "0.0.0.0");
  EXPECT_EQ(parse_listen("localhost:1").value->host, "127.0.0.1");
  EXPECT_EQ(parse_listen("unix:/run/a.sock").value->path, "/run/a.sock");
  for (const auto* text : {"", "8480", "0.0.0.0", "0.0.0.0:", "0.0.0.0:0", "0.0.0.0:65536",
                           "::1:80", "[1.2.3.4]:80", "host:80", "unix:", "unix:a", "[::]80"}) {
    EXPECT_FALSE(parse_listen(text)) << text;
  }
  EXPECT_FALSE(parse_listen("unix:/" + std::string(107, 'a')));
  EXPECT_EQ(parse_upstream("http://app_1.svc:3000/").value->host, "app_1.svc");
  EXPECT_EQ(parse_upstream("http://[::1]:3000").value->host, "::1");
  EXPECT_EQ(parse_upstream("http://x").value->port, 80);
  for (const auto* text : {"", "x:1", "https://x", "http://", "http://x:0", "http://x/y",
                           "http://[x]:1", "http://a b", "http://[::1]1", "http://u@x"}) {
    EXPECT_FALSE(parse_upstream(text)) << text;
  }
}

TEST(Units, names) {
  EXPECT_TRUE(is_name("login-per-ip", true));
  EXPECT_FALSE(is_name("login-per-ip", false));
  EXPECT_TRUE(is_name("_a1", false));
  for (const auto* text : {"", "1a", "-a", "a b", "\xc3\xa4"})
    EXPECT_FALSE(is_name(text, true)) << text;
  EXPECT_FALSE(is_name(std::string(65, 'a'), true));
}

}  // namespace
}  // namespace weir::config::units_test
