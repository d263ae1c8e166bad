#include "app/support/text_diff.h"

#include <gtest/gtest.h>

namespace weir::app::text_diff_test {
namespace {

TEST(TextDiff, ShowsWhatChangedWithWhatIsAroundIt) {
  EXPECT_EQ(text_diff("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(text_diff("", "a\n"), "+a\n");
  EXPECT_EQ(text_diff("a\n", ""), "-a\n");
  EXPECT_EQ(text_diff("a\nb\nc\n", "a\nB\nc\n"), " a\n-b\n+B\n c\n");
  EXPECT_EQ(text_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\nx\n7\n8\n9\n"),
            "@@ line 4\n 4\n 5\n 6\n+x\n 7\n 8\n 9\n");
  EXPECT_EQ(text_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n"),
            "+0\n 1\n 2\n 3\n@@ line 7\n 6\n 7\n 8\n-9\n");
  std::string long_before, long_after;
  for (int i = 0; i < 3000; ++i) {
    long_before += std::to_string(i) + "\n";
    long_after += std::to_string(-i - 1) + "\n";
  }
  EXPECT_EQ(text_diff(long_before, long_after), "(too much has changed to be shown)\n");
}

}  // namespace
}  // namespace weir::app::text_diff_test
