#include "core/chars/percent.h"

#include <gtest/gtest.h>

namespace weir::percent_test {
namespace {

TEST(Percent, decodes_escapes) {
  EXPECT_EQ(percent_decode("a%2Bb+c%20d", false), "a+b+c d");
  EXPECT_EQ(percent_decode("a%2bb+c%20d", true), "a+b c d");
  EXPECT_EQ(percent_decode("%00", false), std::string(1, '\0'));
  for (const char* broken : {"%", "%2", "a%", "%g0", "%0g", "%%20"}) {
    EXPECT_EQ(percent_decode(broken, true), std::nullopt) << broken;
  }
}

TEST(Percent, encodes_all_but_letters_digits_and_what_stays_bare) {
  std::string out = "?";
  append_percent_encoded(out, "aZ09-._~ /%\xff\n");
  EXPECT_EQ(out, "?aZ09-._~%20%2F%25%FF%0A");
  append_percent_encoded(out = "", "a/b*-", "/*");
  EXPECT_EQ(out, "a/b*%2D");
  EXPECT_EQ(percent_decode("%2d%2D", false), "--");
}

TEST(Percent, decodes_what_it_encodes) {
  std::string all, out;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  append_percent_encoded(out, all);
  EXPECT_EQ(percent_decode(out, true), all);
}

}  // namespace
}  // namespace weir::percent_test
