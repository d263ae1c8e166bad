#include "net/http/uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::net::uri_test {

using ::testing::ElementsAre;

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

}  // namespace weir::net::uri_test
