#include "core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::utf8_test {
namespace {

std::string encode(char32_t c) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xc0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCharacterIsReadAsItIsWritten) {
  for (char32_t c = 0; c <= 0x110000; ++c) {
    const std::string text = encode(c) + "x";
    const Utf8 read = decode_utf8(text);
    const bool valid = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
    ASSERT_EQ(read.length, valid ? text.size() - 1 : 0) << static_cast<unsigned>(c);
    if (valid) {
      ASSERT_EQ(read.code, c);
    }
    // Cut short it is malformed, whatever is missing.
    for (std::size_t cut = 1; cut + 1 < text.size(); ++cut)
      ASSERT_EQ(decode_utf8(std::string_view(text).substr(0, cut)).length, 0U);
  }
}

TEST(Utf8, OverlongAndStrayBytesAreMalformed) {
  for (const char* text :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\x80", "\xbf", "\xf5\x80\x80\x80", "\xff", "\xc3(", "\xe2\x28\xa1",
        "\xe2\x82(", "\xf0\x28\x8c\xbc"}) {
    EXPECT_EQ(decode_utf8(text).length, 0U) << static_cast<int>(static_cast<unsigned char>(*text));
  }
}

}  // namespace
}  // namespace weir::utf8_test
