#include "admin/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admin/json.h"
#include "limiter/lists.h"

namespace weir::admin {

using ::testing::ElementsAre;

TEST(Uri, DecodesPercentEscapes) {
  EXPECT_EQ(percent_decode("a%2Bb+c%20d", false), "a+b+c d");
  EXPECT_EQ(percent_decode("a%2bb+c%20d", true), "a+b c d");
  EXPECT_EQ(percent_decode("%00", false), std::string(1, '\0'));
  for (const char* broken : {"%", "%2", "a%", "%g0", "%0g", "%%20"}) {
    EXPECT_EQ(percent_decode(broken, true), std::nullopt) << broken;
  }
}

TEST(Uri, SplitsPathsBeforeItDecodes) {
  EXPECT_THAT(split_path("/v1/lists/a%2Fb").value(), ElementsAre("v1", "lists", "a/b"));
  for (const char* path :
       {"", "v1", "/", "//", "/a/", "/a//b", "/.", "/a/..", "/a/%2e%2E", "/%zz"}) {
    EXPECT_EQ(split_path(path), std::nullopt) << path;
  }
}

TEST(Uri, KeepsRepeatedParametersInOrder) {
  const Query query = Query::parse("key=a%26b&x&key=&key=c+d&&y=1=2").value();
  EXPECT_THAT(query.all("key"), ElementsAre("a&b", "", "c d"));
  EXPECT_EQ(query.one("y"), "1=2");
  EXPECT_EQ(query.one("x"), "");
  EXPECT_EQ(query.one("key"), std::nullopt);
  EXPECT_EQ(query.unknown({"key", "x"}), "y");
  EXPECT_EQ(query.unknown({"key", "x", "y"}), std::nullopt);
  EXPECT_FALSE(Query::parse("a=%"));
  std::string many;
  for (std::size_t i = 0; i < Query::kParametersMax; ++i) many += "&k=1";
  EXPECT_TRUE(Query::parse(many));
  EXPECT_FALSE(Query::parse(many + "&k=1"));
}

TEST(Uri, TakesTheHostOutOfAnAuthority) {
  EXPECT_EQ(host_of_authority("LocalHost:8481"), "localhost");
  EXPECT_EQ(host_of_authority("[::1]:80"), "::1");
  EXPECT_EQ(host_of_authority("[::1]"), "::1");
  EXPECT_EQ(host_of_authority("a:"), "a");
  for (const char* bad : {"", ":80", "a:b", "a:123456", "[::1", "[]", "[::1]80", "::1"}) {
    EXPECT_EQ(host_of_authority(bad), std::nullopt) << bad;
  }
}

TEST(Json, WritesTimesAndWhatIsLeft) {
  boost::json::object out;
  put_until(out, from_ms(1'795'219'200'123), from_ms(1'795'219'199'000));
  EXPECT_EQ(out["until"], boost::json::value("2026-11-21T00:00:00.123Z"));
  EXPECT_EQ(out["left_seconds"], boost::json::value(1.123));
  put_until(out, from_ms(5), from_ms(1'795'219'199'000));
  EXPECT_EQ(out["left_seconds"], boost::json::value(0.0));
  put_until(out, limiter::kForever, from_ms(0));
  EXPECT_TRUE(out["until"].is_null());
  EXPECT_TRUE(out["left_seconds"].is_null());
}

TEST(Json, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(utf8_text("a\xe2\x82\xac\xf0\x9f\x98\x80"), "a\xe2\x82\xac\xf0\x9f\x98\x80");
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(utf8_text("\xff"), mark);
  EXPECT_EQ(utf8_text("\xc0\xaf"), mark + mark);
  EXPECT_EQ(utf8_text("\xed\xa0\x80"), mark + mark + mark);
  EXPECT_EQ(utf8_text("\xe2\x82"), mark + mark);
  EXPECT_EQ(utf8_text("\xf4\x90\x80\x80"), mark + mark + mark + mark);
}

TEST(Json, WritesNumbersExactly) {
  EXPECT_EQ(number_value(Number{std::int64_t{9007199254740993}}),
            boost::json::value(std::int64_t{9007199254740993}));
  EXPECT_EQ(number_value(Number::real(0.5)), boost::json::value(0.5));
  EXPECT_EQ(number_value(Number::real(std::numeric_limits<double>::infinity())),
            boost::json::value("unlimited"));
}

}  // namespace weir::admin
