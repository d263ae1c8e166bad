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
  EXPECT_EQ(compiled("%h %{begin:%Y-%m-%d %T}t %m").time_form, "%Y-%m-%d %T");
}

}  // namespace
}  // namespace weir::config::log_format_test
