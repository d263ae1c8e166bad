#include "core/chars/ascii.h"

#include <gtest/gtest.h>

namespace weir::ascii_test {
namespace {

constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool has(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

TEST(Ascii, knows_letters_and_digits_among_all_bytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool small = has(kSmall, c), capital = has(kCapitals, c), digit = has(kDigits, c);
    EXPECT_EQ(ascii::is_lower(c), small) << byte;
    EXPECT_EQ(ascii::is_upper(c), capital) << byte;
    EXPECT_EQ(ascii::is_digit(c), digit) << byte;
    EXPECT_EQ(ascii::is_letter(c), small || capital) << byte;
    EXPECT_EQ(ascii::is_letter_or_digit(c), small || capital || digit) << byte;
    EXPECT_EQ(ascii::lower(c), capital ? kSmall[kCapitals.find(c)] : c) << byte;
    EXPECT_EQ(ascii::upper(c), small ? kCapitals[kSmall.find(c)] : c) << byte;
  }
}

TEST(Ascii, knows_control_characters_among_all_bytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(ascii::is_control(c), byte < 32 || byte == 127) << byte;
    EXPECT_EQ(ascii::is_control_but_tab(c), (byte < 32 && byte != 9) || byte == 127) << byte;
    EXPECT_EQ(ascii::is_printable(c), byte >= 32 && byte < 127) << byte;
  }
  EXPECT_TRUE(ascii::has_control("a\tb"));
  EXPECT_FALSE(ascii::has_control_but_tab("a\tb"));
  EXPECT_TRUE(ascii::has_control_but_tab("a\x7f"));
  EXPECT_FALSE(ascii::has_control("a \xc2\x80"));
  EXPECT_FALSE(ascii::has_control(""));
}

TEST(Ascii, lowers_the_letters_of_a_text_and_nothing_else) {
  EXPECT_EQ(ascii::lowered("X-Device_Id: [42]@`{"), "x-device_id: [42]@`{");
  EXPECT_EQ(ascii::lowered("GR\xc3\x9c\xc3\x9f\xc0"), "gr\xc3\x9c\xc3\x9f\xc0");
  EXPECT_EQ(ascii::lowered({}), "");
}

}  // namespace
}  // namespace weir::ascii_test
