#include "core/json_text.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string quoted(std::string_view text) {
  std::string out;
  append_json_text(out, text);
  return out;
}

TEST(JsonText, EscapesWhatJsonWantsAndLeavesTheRest) {
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("a/b?c=\"d\"\\"), R"("a/b?c=\"d\"\\")");
  EXPECT_EQ(quoted("\n\r\t\b\f\x01\x1f"), R"("\n\r\t\b\f\u0001\u001f")");
  EXPECT_EQ(quoted("北京 \U0001f600 é"), "\"北京 \U0001f600 é\"");
  EXPECT_EQ(quoted("a\x7f\u0085\u009f\u00a0"), "\"a\\u007f\\u0085\\u009f\u00a0\"");
}

TEST(JsonText, WhatIsNoUtf8BecomesTheReplacementCharacterByteByByte) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(quoted("a\xff"), "\"a" + bad + "\"");
  EXPECT_EQ(quoted("\xc3"), "\"" + bad + "\"") << "cut short";
  EXPECT_EQ(quoted("\xc0\xaf"), "\"" + bad + bad + "\"") << "overlong";
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"" + bad + bad + bad + "\"") << "a surrogate";
  EXPECT_EQ(quoted("\xf4\x90\x80\x80x"), "\"" + bad + bad + bad + bad + "x\"");
}

}  // namespace
}  // namespace weir
