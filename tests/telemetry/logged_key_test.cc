#include "telemetry/logged_key.h"

#include <gtest/gtest.h>

namespace weir::telemetry::logged_key_test {

using Parts = std::vector<std::string>;

LoggedKey key_of(const Parts& parts) {
  const std::vector<std::string_view> views(parts.begin(), parts.end());
  LoggedKey out;
  out.set(views);
  return out;
}

TEST(LoggedKey, KeepsItsPartsApart) {
  for (const Parts& parts :
       {Parts{}, Parts{""}, Parts{"", "x"}, Parts{"x", ""}, Parts{"a, b", "c"}, Parts{"alice"}}) {
    EXPECT_EQ(key_of(parts).parts(), parts) << key_of(parts).view();
  }
  EXPECT_EQ(key_of({"alice", "192.0.2.7"}).view(), "alice, 192.0.2.7");
  EXPECT_EQ(key_of({"", "x"}).view(), ", x") << "another text than that of the key x";
  LoggedKey key = key_of({"a"});
  key.clear();
  EXPECT_EQ(key.parts(), Parts{});
}

TEST(LoggedKey, ShowsWhereItWasCut) {
  const std::string most(kLoggedKeyBytes, 'k'), longer(kLoggedKeyBytes + 1, 'k');
  EXPECT_EQ(key_of({most}).parts(), Parts{most});
  const std::string cut = std::string(kLoggedKeyBytes - 3, 'k') + "…";
  EXPECT_EQ(key_of({longer}).parts(), Parts{cut});
  EXPECT_EQ(key_of({longer}).view(), cut);
  EXPECT_EQ(key_of({"alice", longer, "x"}).parts(),
            (Parts{"alice", std::string(kLoggedKeyBytes - 10, 'k') + "…", "…"}));
  EXPECT_EQ(key_of({std::string(300, 'k'), "b"}).parts(), (Parts{cut, "…"}));
}

}  // namespace weir::telemetry::logged_key_test
