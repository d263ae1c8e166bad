#include "core/chars/case_fold.h"

#include <gtest/gtest.h>

#include <ios>

namespace weir::case_fold_test {
namespace {

TEST(CaseFold, JoinsWhatSomeProgramTakesForTheSame) {
  struct Case {
    char32_t a, b;
  };
  const Case same[] = {{U'a', U'A'},     {U's', 0x17f},    {U'S', 0x17f},      {U'k', 0x212a},
                       {U'i', 0x130},    {U'i', 0x131},    {0xe9, 0xc9},       {0x3c3, 0x3c2},
                       {0x3a3, 0x3c2},   {0x44f, 0x42f},   {0xe5, 0x212b},     {0x1c4, 0x1c5},
                       {0x10d0, 0x1c90}, {0x13a0, 0xab70}, {0x10400, 0x10428}, {0x1e922, 0x1e900}};
  for (const Case& c : same)
    EXPECT_EQ(fold_case(c.a), fold_case(c.b)) << std::hex << static_cast<unsigned>(c.a);
  const Case other[] = {{U'a', U'b'}, {U'@', U'`'}, {U'[', U'{'}, {0xd7, 0xf7}, {0xe9, U'e'}};
  for (const Case& c : other)
    EXPECT_NE(fold_case(c.a), fold_case(c.b)) << std::hex << static_cast<unsigned>(c.a);
}

TEST(CaseFold, GivesACharacterThatFoldsToItself) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    const char32_t folded = fold_case(code);
    ASSERT_EQ(fold_case(folded), folded) << std::hex << static_cast<unsigned>(code);
    ASSERT_LT(folded, char32_t{0x110000});
    if (code < 0x80) {
      ASSERT_LT(folded, char32_t{0x80});
    }
  }
}

}  // namespace
}  // namespace weir::case_fold_test
