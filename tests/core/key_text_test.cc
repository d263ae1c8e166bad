#include "core/chars/key_text.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::key_text_test {

using Parts = std::vector<std::string>;

TEST(KeyText, PartsStandBesideEachOtherWithQuotesWhereTheyAreNeeded) {
  const std::pair<Parts, std::string> cases[] = {
      {{"alice"}, "alice"},
      {{"alice", "192.0.2.7"}, "alice, 192.0.2.7"},
      {{}, ""},
      {{""}, "\"\""},
      {{"", "x"}, "\"\", x"},
      {{"a, b"}, "\"a, b\""},
      {{"a,b", "c"}, "\"a,b\", c"},
      {{" a"}, "\" a\""},
      {{"a\n"}, "\"a\n\""},
      {{"a b"}, "a b"},
      {{"\"a\""}, "\"\"\"a\"\"\""},
      {{"say \"hi\""}, "say \"hi\""},
      {{"(everybody)"}, "\"(everybody)\""},
      {{"张三", "上海"}, "张三, 上海"},
  };
  for (const auto& [parts, text] : cases) {
    EXPECT_EQ(key_text(parts), text);
    if (!parts.empty()) {
      EXPECT_EQ(key_parts(text), parts) << text;
    }
  }
}

TEST(KeyText, PeopleMayWriteBlanksAndQuotesAsTheyLike) {
  const std::pair<std::string, Parts> cases[] = {
      {"alice,192.0.2.7", {"alice", "192.0.2.7"}},
      {"  alice ,  192.0.2.7\t", {"alice", "192.0.2.7"}},
      {"\"alice\" , 192.0.2.7", {"alice", "192.0.2.7"}},
      {"", {""}},
      {" ", {""}},
      {"a,", {"a", ""}},
      {",a", {"", "a"}},
      {"\"a, b", {"\"a", "b"}},
      {"\"a\" b, c", {"\"a\" b", "c"}},
      {"\"a\"\"", {"\"a\"\""}},
  };
  for (const auto& [text, parts] : cases) EXPECT_EQ(key_parts(text), parts) << text;
}

TEST(KeyText, AnyKeyComesBackFromItsText) {
  std::mt19937 chance(7);
  constexpr std::string_view kLetters = "ab,\"\"( \n\t'";
  for (int i = 0; i < 20'000; ++i) {
    Parts parts(1 + chance() % 3);
    for (std::string& part : parts)
      for (std::size_t n = chance() % 5; n > 0; --n) part += kLetters[chance() % kLetters.size()];
    ASSERT_EQ(key_parts(key_text(parts)), parts) << key_text(parts);
  }
}

}  // namespace weir::key_text_test
