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

}  // namespace
}  // namespace weir::admin::keys_test
