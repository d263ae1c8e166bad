#include "core/chars/network_text.h"

#include <gtest/gtest.h>

namespace weir::network_text_test {

TEST(NetworkText, AnAddressBlockIsToldFromOtherWords) {
  for (const char* const text : {"10.0.0.0/8", "10.1.2.3/8", "2001:db8::/32", "10.0.0.0/99"})
    EXPECT_TRUE(is_network(text)) << text;
  for (const char* const text : {"10.0.0.1", "10.0.0.0/", "a/8", "/8", "10.0.0.0/x", ""})
    EXPECT_FALSE(is_network(text)) << text;
}

TEST(NetworkText, WhatIsWrongWithANetworkIsSaidWithTheOneThatMayBeMeant) {
  for (const char* const good :
       {"10.0.0.0/8", "2001:db8::/32", "::ffff:10.0.0.0/104", "10.0.0.1", "x/8", "10.0.0.0/x"})
    EXPECT_EQ(network_fault(good), "") << good;
  EXPECT_EQ(network_fault("203.0.113.7/24"),
            "the bits after the prefix must be zero: 203.0.113.0/24");
  EXPECT_EQ(network_fault("2001:db8::7/32"),
            "the bits after the prefix must be zero: 2001:db8::/32");
  EXPECT_EQ(network_fault("::ffff:203.0.113.7/120"),
            "the bits after the prefix must be zero: 203.0.113.0/24");
  EXPECT_EQ(network_fault("203.0.113.0/33"), "a prefix has 0 to 32 bits");
  EXPECT_EQ(network_fault("2001:db8::/129"), "a prefix has 0 to 128 bits");
  EXPECT_EQ(network_fault("203.0.113.0/08"), "a prefix has no zero before its number");
  for (const char* const wrapped : {"::ffff:10.0.0.0/8", "::ffff:0:0/96", "::ffff:10.0.0.0/129"})
    EXPECT_EQ(network_fault(wrapped), "a prefix of an IPv4 address in IPv6 has 97 to 128 bits");
}

TEST(NetworkText, ARangeIsReadAsEntriesShowIt) {
  const auto range = [](std::string_view text) {
    const auto read = read_range(text);
    return read ? read->first.to_string() + " " + read->last.to_string() : std::string();
  };
  EXPECT_EQ(range("10.0.0.0/8"), "10.0.0.0 10.255.255.255");
  EXPECT_EQ(range("10.1.2.3/8"), "10.0.0.0 10.255.255.255");
  EXPECT_EQ(range("10.1.2.3/32"), "10.1.2.3 10.1.2.3");
  EXPECT_EQ(range("0.0.0.0/0"), "0.0.0.0 255.255.255.255");
  EXPECT_EQ(range("::ffff:10.0.0.0/104"), "10.0.0.0 10.255.255.255");
  EXPECT_EQ(range("2001:db8::/33"), "2001:db8:: 2001:db8:7fff:ffff:ffff:ffff:ffff:ffff");
  EXPECT_EQ(range("10.0.0.1 - 10.0.0.9"), "10.0.0.1 10.0.0.9");
  for (const char* const text : {"10.0.0.1", "10.0.0.0/33", "10.0.0.9 - 10.0.0.1", "10.0.0.1 - ::1",
                                 "10.0.0.1-10.0.0.9", "a - b", ""})
    EXPECT_EQ(range(text), "") << text;
}

TEST(NetworkText, RangesMeetWhereTheyHaveAnAddressInCommon) {
  const auto meet = [](std::string_view a, std::string_view b) {
    return read_range(a)->overlaps(*read_range(b)) && read_range(b)->overlaps(*read_range(a));
  };
  EXPECT_TRUE(meet("10.0.0.0/8", "10.1.0.0/16"));
  EXPECT_TRUE(meet("10.0.0.1 - 10.0.0.9", "10.0.0.9 - 10.0.0.11"));
  EXPECT_FALSE(meet("10.0.0.0/9", "10.128.0.0/9"));
  EXPECT_FALSE(meet("::/0", "10.0.0.0/8")) << "of different families";
  EXPECT_TRUE(meet("::/0", "2001:db8::/32"));
}

}  // namespace weir::network_text_test
