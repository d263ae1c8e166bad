#include "net/http/json_reply.h"

#include <gtest/gtest.h>

namespace weir::net::json_reply_test {

TEST(JsonReply, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(utf8_text("a\xe2\x82\xac\xf0\x9f\x98\x80"), "a\xe2\x82\xac\xf0\x9f\x98\x80");
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(utf8_text("\xff"), mark);
  EXPECT_EQ(utf8_text("\xc0\xaf"), mark + mark);
  EXPECT_EQ(utf8_text("\xed\xa0\x80"), mark + mark + mark);
  EXPECT_EQ(utf8_text("\xe2\x82"), mark + mark);
  EXPECT_EQ(utf8_text("\xf4\x90\x80\x80"), mark + mark + mark + mark);
}

TEST(JsonReply, WritesProblems) {
  const HttpReply reply = problem(415, "no");
  EXPECT_EQ(reply.status, 415);
  EXPECT_EQ(reply.content_type, "application/problem+json");
  EXPECT_EQ(reply.body,
            "{\"type\":\"about:blank\",\"title\":\"Unsupported Media Type\",\"status\":415,"
            "\"detail\":\"no\"}\n");
}

}  // namespace weir::net::json_reply_test
