#include "config/text/log_format.h"

#include <gmock/gmock.h>

namespace weir::config::log_format_test {
namespace {

using testing::ElementsAre;

LogFormat compiled(std::string_view text) {
  LogFormat::Problem problem;
  auto format = LogFormat::compile(text, problem);
  EXPECT_TRUE(format) << text << ": " << problem.message;
  return format ? std::move(*format) : LogFormat{};
}

TEST(LogFormat, names_the_columns_of_each_directive) {
  EXPECT_THAT(compiled("%h - %u %t %m %U").columns,
              ElementsAre("ip", "user", "method", "url", "path"));
  EXPECT_THAT(compiled("common").columns, ElementsAre("ip", "ident", "user", "method", "url",
                                                      "path", "protocol", "status", "bytes"));
  EXPECT_THAT(compiled("combined").columns,
              ElementsAre("ip", "ident", "user", "method", "url", "path", "protocol", "status",
                          "bytes", "referer", "user_agent"));
  EXPECT_THAT(compiled("%t %U%q %H %s %O").columns,
              ElementsAre("url", "path", "query", "protocol", "status", "bytes"));
  EXPECT_THAT(compiled("%t \"%{X-Device-Id}i\" %{Content-Type}o").columns,
              ElementsAre("x_device_id", "response_content_type"));
}

TEST(LogFormat, a_header_that_is_called_as_another_column_has_a_column_of_its_own) {
  const LogFormat format = compiled(
      "%h %t \"%r\" %>s %{ip}i %{User}i %{path}i %{Status}i %{bytes}i %{Response-Time}i %{Time}i "
      "%{Status}o %{Host}i");
  EXPECT_THAT(format.columns,
              ElementsAre("ip", "method", "url", "path", "protocol", "status", "header_ip",
                          "header_user", "header_path", "header_status", "header_bytes",
                          "header_response_time", "header_time", "response_status", "host"));
  std::string names;
  for (const LogFormat::Header& header : format.headers)
    names += header.name + (header.of_answer ? "< " : " ");
  EXPECT_EQ(names, "ip user path status bytes response-time time status< ");
}

TEST(LogFormat, keeps_literals_and_the_percent_sign) {
  const LogFormat format = compiled("%% [%t] %h");
  ASSERT_EQ(format.items.size(), 4u);
  EXPECT_EQ(format.items[0].text, "% [");
  EXPECT_EQ(format.items[1].kind, LogFormat::Item::Kind::time);
  EXPECT_EQ(format.items[2].text, "] ");
  EXPECT_EQ(format.items[3].kind, LogFormat::Item::Kind::field);
}

TEST(LogFormat, ReadsTheFormOfTheTime) {
  EXPECT_EQ(compiled("%h %t").time_form, "");
  EXPECT_EQ(compiled("%h %{sec}t").time_form, "seconds");
  EXPECT_EQ(compiled("%h [%{msec}t]").time_form, "millis");
  EXPECT_EQ(compiled("%h %{usec}t").time_form, "micros");
  EXPECT_EQ(compiled("%h %{nanos}t").time_form, "nanos");
  EXPECT_EQ(compiled("%h %{begin:%Y-%m-%d %T}t %m").time_form, "%Y-%m-%d %T");
}

TEST(LogFormat, RefusesWhatIsNoFormat) {
  struct Case {
    const char* format;
    std::size_t offset, length;
    const char* message;
  };
  const Case cases[] = {
      {"%h %{begin:end:sec}t", 11, 4, "a time is taken at the begin or at the end"},
      {"%h %{end:begin:%F}t", 9, 6, "a time is taken at the begin or at the end"},
      {"%h %{begin:begin:sec}t", 11, 6, "a time is taken at the begin or at the end"},
      {"%h %{begin:}t", 3, 10, "the time has no form"},
      {"%h %{usec_frac}t", 5, 9, "\"usec_frac\" is not a time format"},
      {"%h %{}t", 3, 4, "there is nothing between { and }"},
      {"%t %{}i", 3, 4, "there is nothing between { and }"},
      {"%t %{}h", 3, 4, "there is nothing between { and }"},
      {"%t %{}>s", 3, 5, "there is nothing between { and }"},
      {"%t %{-}i", 3, 5, "\"%{-}i\" is not a directive of a log format"},
      {"%t %{a b}i", 3, 7, "\"%{a b}i\" is not a directive of a log format"},
      {"%t %{X}>i", 3, 6, "\"%{X}>i\" is not a directive of a log format"},
      {"%t %{X}h", 3, 5, "\"%{X}h\" is not a directive of a log format"},
      {"%t %>h", 3, 3, "\"%>h\" is not a directive of a log format"},
      {"%t %<s", 3, 2, "\"%<\" is not a directive of a log format"},
      {"%t %200{X}i", 3, 2, "\"%2\" is not a directive of a log format"},
      {"%t %!s", 3, 2, "\"%!\" is not a directive of a log format"},
      {"%t %", 3, 1, "\"%\" is not a directive of a log format"},
      {"%t %{X", 3, 3, "a { that nothing closes"},
      {"%t %h %a", 6, 2, "the column \"ip\" is given twice"},
      {"%t %s %>s", 6, 3, "the column \"status\" is given twice"},
      {"%t %r %m", 6, 2, "the column \"method\" is given twice"},
      {"%t %U%q %q", 8, 2, "the column \"query\" is given twice"},
      {"%t %{X-A}i %{x_a}i", 11, 7, "the column \"x_a\" is given twice"},
      {"%t %{ip}i %{Header-IP}i", 10, 13, "the column \"header_ip\" is given twice"},
      {"%t %{sec}t", 3, 7, "the time is given twice"},
      {"%h%t", 2, 2, "nothing separates this from what is before it"},
      {"%h", 0, 2, "the format has no time"},
  };
  for (const Case& c : cases) {
    LogFormat::Problem problem;
    EXPECT_FALSE(LogFormat::compile(c.format, problem)) << c.format;
    EXPECT_EQ(problem.message, c.message) << c.format;
    EXPECT_EQ(problem.offset, c.offset) << c.format;
    EXPECT_EQ(problem.length, c.length) << c.format;
  }
}

}  // namespace
}  // namespace weir::config::log_format_test
