#include "core/chars/network_text.h"

#include <gtest/gtest.h>

namespace weir::network_text_test {

TEST(NetworkText, AnAddressBlockIsToldFromOtherWords) {
  for (const char* const text : {"10.0.0.0/8", "10.1.2.3/8", "2001:db8::/32", "10.0.0.0/99"})
    EXPECT_TRUE(is_network(text)) << text;
  for (const char* const text : {"10.0.0.1", "10.0.0.0/", "a/8", "/8", "10.0.0.0/x", ""})
    EXPECT_FALSE(is_network(text)) << text;
}

}  // namespace weir::network_text_test
