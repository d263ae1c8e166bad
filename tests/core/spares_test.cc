#include "core/spares.h"

#include <gtest/gtest.h>

namespace weir::spares_test {
namespace {

TEST(Spares, LendWhatCameBackBeforeAnythingNew) {
  Spares<int> spares;
  EXPECT_FALSE(spares.is_any_lent());
  int& one = spares.lend(1);
  int& two = spares.lend(2);
  EXPECT_NE(&one, &two);
  spares.take_back(one);
  EXPECT_TRUE(spares.is_any_lent());
  EXPECT_EQ(&spares.lend(3), &one);
  EXPECT_EQ(one, 1) << "as it came back";
  spares.take_back(one);
  spares.take_back(two);
  EXPECT_FALSE(spares.is_any_lent());
  EXPECT_EQ(spares.all().size(), 2U);
}

}  // namespace
}  // namespace weir::spares_test
