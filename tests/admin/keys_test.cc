#include "admin/keys.h"

#include <gtest/gtest.h>

namespace weir::admin::keys_test {
namespace {

TEST(Keys, APlaceIsLatitudeAndLongitude) {
  policies::KeySlot device, place;
  place.is_place = true;
  const auto read = [&](std::string_view text) {
    const auto parts = canonical_parts({"d1", text}, {device, place}, {"device", "near"});
    if (const auto* wrong = std::get_if<std::string>(&parts)) return *wrong;
    return std::get<std::vector<std::string>>(parts).back();
  };
  EXPECT_EQ(read("31.2304,121.4737"), "31.2304,121.4737");
  for (const auto* wrong : {"", "here", "121.4737,31.2304", "31.2304", "wtw3sj"}) {
    EXPECT_EQ(read(wrong), "\"near\" is a place, latitude first: 31.2304,121.4737") << wrong;
  }
}

TEST(Keys, NumbersAndBooleansHaveOneSpelling) {
  policies::KeySlot number, boolean;
  number.type = Type::real;
  boolean.type = Type::boolean;
  const auto read = [&](std::string_view n, std::string_view b) {
    const auto parts = canonical_parts({n, b}, {number, boolean}, {"n", "b"});
    if (const auto* wrong = std::get_if<std::string>(&parts)) return *wrong;
    const auto& both = std::get<std::vector<std::string>>(parts);
    return both[0] + " " + both[1];
  };
  EXPECT_EQ(read("007", "True"), "7 true");
  EXPECT_EQ(read("1.50", "false"), "1.5 false");
  EXPECT_EQ(read("1e3", "false"), "1000 false");
  EXPECT_EQ(read("abc", "true"), "\"n\" is a number, not \"abc\"");
  EXPECT_EQ(read("1", "yes"), "\"b\" is true or false, not \"yes\"");
}

}  // namespace
}  // namespace weir::admin::keys_test
