#include "core/text.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(human_duration(milliseconds{86'400'000}), "1d");
  EXPECT_EQ(human_duration(milliseconds{1'250}), "1s250ms");
}

}  // namespace
}  // namespace weir::text_test
