#include "core/chars/hex.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace weir::hex_test {
namespace {

TEST(Hex, reads_the_digits_that_it_writes_and_no_other_character) {
  for (unsigned n = 0; n < 16; ++n) {
    EXPECT_EQ(hex_value(hex_digit(n)), static_cast<int>(n));
    EXPECT_EQ(hex_value(upper_hex_digit(n)), static_cast<int>(n));
    EXPECT_EQ(hex_digit(n + 0x50), hex_digit(n)) << "the lowest four bits count";
  }
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(hex_value(c) >= 0, kDigits.find(c) != std::string_view::npos) << byte;
  }
}

TEST(Hex, appends_numbers_and_bytes_with_leading_zeros) {
  std::string out = "#";
  append_hex(out, 0x0123456789abcdef, 16);
  append_hex(out += ' ', 0, 16);
  append_hex(out += ' ', 0x1f600, 4);
  append_hex(out += ' ', 0x7f, 2);
  EXPECT_EQ(out, "#0123456789abcdef 0000000000000000 f600 7f");

  out.clear();
  append_hex(out, std::array<std::uint8_t, 4>{0x00, 0x0a, 0xf0, 0xff});
  EXPECT_EQ(out, "000af0ff");
  append_hex(out, {});
  EXPECT_EQ(out, "000af0ff");
}

}  // namespace
}  // namespace weir::hex_test
