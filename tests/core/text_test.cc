#include "core/text.h"

#include <gtest/gtest.h>

#include "core/visible.h"

namespace weir::text_test {
namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

TEST(Text, escapes_what_could_break_a_line_or_speak_to_a_terminal) {
  struct Case {
    const char* name;
    std::string text, json;
  };
  const Case kCases[] = {
      {"plain text stays", "a b/c", R"("a b/c")"},
      {"quotes and backslashes are escaped", R"(a"b\c)", R"("a\"b\\c")"},
      {"control bytes become code points", std::string("a\nb\0c\x1b[31m\x7f", 11),
       "\"a\\u000ab\\u0000c\\u001b[31m\\u007f\""},
      {"C1 controls too", "a\xc2\x9b", "\"a\\u009b\""},
      {"what turns the direction of text", "a\u202eb\u2066c\u200fd\u061ce",
       "\"a\\u202eb\\u2066c\\u200fd\\u061ce\""},
      {"what has no width", "a\u200bb\u200dc\u2060d\ufeffe\u00adf",
       "\"a\\u200bb\\u200dc\\u2060d\\ufeffe\\u00adf\""},
      {"line and paragraph separators", "a\u2028b\u2029c", "\"a\\u2028b\\u2029c\""},
      {"tags beyond the first plane", "a\U000e0041b", "\"a\\udb40\\udc41b\""},
      {"UTF-8 stays", "gr\xc3\xbc\xc3\x9f \xe4\xb8\x96 \xf0\x9f\x98\x80",
       "\"gr\xc3\xbc\xc3\x9f \xe4\xb8\x96 \xf0\x9f\x98\x80\""},
      {"a broken byte becomes U+FFFD",
       "a\xff"
       "b",
       "\"a\xef\xbf\xbd"
       "b\""},
      {"an overlong slash is broken", "\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
      {"a surrogate is broken", "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
      {"a cut sequence is broken", "\xe4\xb8", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
  };
  for (const Case& c : kCases) EXPECT_EQ(json_of(c.text), c.json) << c.name;
}

TEST(Text, hidden_characters_of_written_JSON_are_escaped_and_line_feeds_stay) {
  EXPECT_EQ(escape_hidden("{\"a\":\"x\u202ey\x7f\"}\n{}\n"), "{\"a\":\"x\\u202ey\\u007f\"}\n{}\n");
  EXPECT_EQ(escape_hidden("\x1b[2J\xc2\x9b\xff"), "\\u001b[2J\\u009b\xef\xbf\xbd");
  EXPECT_EQ(escape_hidden("gr\u00fc\u00df \u4e16 \U0001f600"), "gr\u00fc\u00df \u4e16 \U0001f600");
}

// Of each range its ends, and the characters beside it.
TEST(Text, knows_what_is_hidden) {
  for (const char32_t code : {0x0, 0x1f, 0x7f, 0x9f, 0xad, 0x200b, 0x200f, 0x2028, 0x202a, 0x202e,
                              0x2060, 0x2066, 0x2069, 0x206f, 0xfeff, 0xe0001, 0xe007f})
    EXPECT_TRUE(is_hidden(code)) << static_cast<unsigned>(code);
  for (const char32_t code : {0x20, 0x7e, 0xa0, 0xac, 0xae, 0x200a, 0x2010, 0x2027, 0x202f, 0x205f,
                              0x2070, 0x4e16, 0xfefe, 0x1f600, 0x10ffff})
    EXPECT_FALSE(is_hidden(code)) << static_cast<unsigned>(code);
}

TEST(Text, writes_times_sizes_and_durations_for_people) {
  EXPECT_EQ(iso_time(from_ms(1'792'224'000'123)), "2026-10-17T08:00:00.123Z");
  EXPECT_EQ(clock_time(from_ms(1'792'224'000'007)), "08:00:00.007");
  EXPECT_EQ(human_size(0), "0 B");
  EXPECT_EQ(human_size(std::uint64_t{64} << 20), "64 MiB");
  EXPECT_EQ(human_size(1'600'000), "1.5 MiB");
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(12'345'678), "12,345,678");
  EXPECT_EQ(human_duration(milliseconds{0}), "0s");
  EXPECT_EQ(human_duration(milliseconds{90'000}), "1m30s");
  EXPECT_EQ(human_duration(milliseconds{86'400'000}), "24h");
  EXPECT_EQ(human_duration(milliseconds{172'800'000}), "2d");
  EXPECT_EQ(human_duration(milliseconds{173'700'000}), "48h15m");
  EXPECT_EQ(human_duration(milliseconds{1'250}), "1s250ms");
}

}  // namespace
}  // namespace weir::text_test
