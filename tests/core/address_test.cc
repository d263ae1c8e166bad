#include "core/address.h"

#include <gtest/gtest.h>

namespace weir::address_test {
namespace {

TEST(Address, SpellingsOfOneAddressAreOneAddress) {
  const auto plain = Address::parse("192.0.2.33");
  ASSERT_TRUE(plain);
  for (const char* text :
       {"::ffff:192.0.2.33", "::FFFF:c000:221", "64:ff9b::192.0.2.33", "64:ff9b::c000:221"}) {
    EXPECT_EQ(Address::parse(text), plain) << text;
  }
  EXPECT_TRUE(plain->is_v4());
  EXPECT_EQ(plain->to_string(), "192.0.2.33");
  EXPECT_EQ(Address::parse("2001:DB8:0:0::1")->to_string(), "2001:db8::1");
}

TEST(Address, RefusesWhatIsNotAnAddress) {
  for (const char* text :
       {"",         "1.2.3",      "1.2.3.4.5",  "01.2.3.4",        "1.2.3.256",
        "1.2.3.4 ", " 1.2.3.4",   "[::1]",      "fe80::1%eth0",    "1.2.3.4:80",
        "::1::",    "0x7f.1.1.1", "12345::",    "1..2.3",          ".1.2.3",
        "1.2.3.4.", "00.1.2.3",   "1.2.3.0000", "999999999.1.1.1", "4294967297.1.1.1"}) {
    EXPECT_FALSE(Address::parse(text)) << text;
  }
  EXPECT_FALSE(Address::parse(std::string_view("1.2.3.4\0", 8)));
}

TEST(Address, LoopbackIsABlockOfIPv4AndOneAddressOfIPv6) {
  for (const char* text : {"127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(Address::parse(text)->is_loopback()) << text;
  }
  for (const char* text :
       {"0.0.0.0", "::", "126.255.255.255", "128.0.0.0", "::2", "1::1", "10.0.0.1"}) {
    EXPECT_FALSE(Address::parse(text)->is_loopback()) << text;
  }
}

TEST(Address, MasksByFamily) {
  EXPECT_EQ(Address::parse("203.0.113.77")->masked(24, 56).to_string(), "203.0.113.0");
  EXPECT_EQ(Address::parse("2001:db8:1:2ff:3::4")->masked(24, 56).to_string(), "2001:db8:1:200::");
  EXPECT_EQ(Address::parse("2001:db8::1")->masked(32, 128).to_string(), "2001:db8::1");
  EXPECT_EQ(Address::parse("203.0.113.77")->masked(0, 64).to_string(), "0.0.0.0");
}

TEST(Address, MaskKeepsExactlyTheFirstBits) {
  std::array<std::uint8_t, 16> ones;
  ones.fill(0xff);
  for (unsigned bits = 0; bits <= 128; ++bits) {
    const auto masked = Address::v6(ones).masked(32, bits).bytes();
    for (unsigned i = 0; i < 128; ++i) {
      EXPECT_EQ((masked[i / 8] >> (7 - i % 8)) & 1, i < bits ? 1 : 0) << bits << ", bit " << i;
    }
  }
}

TEST(Cidr, HoldsItsAddresses) {
  const auto block = Cidr::parse("10.0.0.0/8");
  ASSERT_TRUE(block);
  EXPECT_TRUE(block->contains(*Address::parse("10.255.0.1")));
  EXPECT_TRUE(block->contains(*Address::parse("::ffff:10.1.1.1")));
  EXPECT_FALSE(block->contains(*Address::parse("11.0.0.0")));
  EXPECT_FALSE(block->contains(*Address::parse("a00::")));
  EXPECT_TRUE(Cidr::parse("::/0")->contains(*Address::parse("2001:db8::1")));
  EXPECT_FALSE(Cidr::parse("::/0")->contains(*Address::parse("10.0.0.1")));
  EXPECT_EQ(Cidr::parse("192.0.2.1")->to_string(), "192.0.2.1/32");
  EXPECT_EQ(Cidr::parse("::ffff:10.0.0.0/104")->to_string(), "10.0.0.0/8");
  EXPECT_EQ(Cidr::parse("64:ff9b::192.0.2.0/120")->to_string(), "192.0.2.0/24");
  EXPECT_EQ(Cidr::parse("::ffff:10.0.0.1/128")->to_string(), "10.0.0.1/32");
  for (const char* const all : {"::ffff:0:0/96", "::ffff:0.0.0.0/96", "64:ff9b::/96",
                                "64:ff9b::/32", "::ffff:0:0/0", "::ffff:10.0.0.0/8"})
    EXPECT_FALSE(Cidr::parse(all)) << all;
  EXPECT_FALSE(Cidr::parse("::ffff:10.0.0.0/95"));
}

TEST(Cidr, RefusesHostBitsAndBadLengths) {
  for (const char* text :
       {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "2001:db8::1/64", "x/8"}) {
    EXPECT_FALSE(Cidr::parse(text)) << text;
  }
}

TEST(Address, WritesEveryPartOfAnIpv4AddressAtEveryPlace) {
  for (unsigned place = 0; place < 4; ++place) {
    for (std::uint32_t part = 0; part < 256; ++part) {
      std::string expected;
      for (unsigned i = 0; i < 4; ++i) {
        if (i != 0) expected += '.';
        expected += std::to_string(i == place ? part : 255);
      }
      const std::uint32_t bits = 0xffffffffU & ~(0xffU << (24 - 8 * place));
      EXPECT_EQ(Address::v4(bits | part << (24 - 8 * place)).to_string(), expected);
    }
  }
}

}  // namespace
}  // namespace weir::address_test
