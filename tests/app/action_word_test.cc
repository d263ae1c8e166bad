#include "app/tools/ctl/action_word.h"

#include <gtest/gtest.h>

namespace weir::app::action_word_test {
namespace {

TEST(ActionWord, EachHasItsNameAndItsOtherSpelling) {
  for (const ActionRow& row : kActions) {
    if (row.action == Action::none) continue;
    EXPECT_EQ(action_called(row.name), row.action);
    if (!row.alias.empty()) {
      EXPECT_EQ(action_called(row.alias), row.action);
    }
  }
  EXPECT_EQ(action_called("gray"), Action::graylist);
  for (const char* const other : {"", "none", "grey", "Deny", "denied"})
    EXPECT_EQ(action_called(other), std::nullopt) << other;
}

TEST(ActionWord, TheKnownOnesStandInTheirOrder) {
  EXPECT_EQ(known_actions(), "flag, graylist, delay, challenge, deny");
}

}  // namespace
}  // namespace weir::app::action_word_test
