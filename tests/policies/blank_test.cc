#include "policies/lang/extractors/blank.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weir::policies::blank_test {
namespace {

using namespace std::string_view_literals;

struct Row {
  std::string_view text, trimmed;
};

TEST(TrimBlanks, EachBlankOfSomeLanguageAtBothEndsAndNoneInside) {
  for (const std::string_view blank :
       {" "sv,      "\t"sv,     "\n"sv,     "\v"sv,       "\f"sv,       "\r"sv,
        "\0"sv,     "\x01"sv,   "\x1f"sv,   "\xc2\x85"sv, "\xc2\xa0"sv, "\u1680"sv,
        "\u180e"sv, "\u2000"sv, "\u2009"sv, "\u200a"sv,   "\u200b"sv,   "\u2028"sv,
        "\u2029"sv, "\u202f"sv, "\u205f"sv, "\u3000"sv,   "\ufeff"sv}) {
    const std::string b(blank);
    EXPECT_EQ(trim_blanks(b + "alice" + b), "alice") << b;
    EXPECT_EQ(trim_blanks(b + b + "a" + b + "b" + b + " "), "a" + b + "b") << b;
    EXPECT_EQ(trim_blanks(b), "") << b;
  }
}

TEST(TrimBlanks, WhatIsNoBlankStays) {
  constexpr Row kRows[] = {
      {"", ""},
      {"alice", "alice"},
      {"\x7f"sv, "\x7f"sv},
      {"\u200c", "\u200c"},  // joins letters
      {"\u2060", "\u2060"},  // no language trims it
      {"\u200e"
       "a",
       "\u200e"
       "a"},                                       // a mark of direction
      {" \xff ", "\xff"},                          // not UTF-8
      {"\xa0", "\xa0"},                            // a byte of Latin-1
      {"a\x80\x80\x80\x80", "a\x80\x80\x80\x80"},  // continuation bytes alone
      {"\xe3\x80", "\xe3\x80"},                    // a part of U+3000
      {"\xc0\xa0", "\xc0\xa0"},                    // an overlong blank
      {"\xe9 ", "\xe9"},
  };
  for (const Row& row : kRows) EXPECT_EQ(trim_blanks(row.text), row.trimmed) << row.text;
}

}  // namespace
}  // namespace weir::policies::blank_test
