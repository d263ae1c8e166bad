#include "limiter/lists/bulk_list.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "limiter/lists/lists.h"
#include "tests/support/seed.h"

namespace weir::limiter::bulk_list_test {
namespace {

TimePoint at(std::int64_t seconds) { return from_ms(seconds * 1000); }
Address address(const char* text) { return *Address::parse(text); }

TEST(BulkList, FindsAddressesNetworksAndKeysUntilTheyEnd) {
  BulkList list;
  list.add(*Cidr::parse("203.0.113.9"), kForever);
  list.add(*Cidr::parse("10.0.0.0/8"), at(100));
  list.add(*Cidr::parse("10.1.0.0/16"), kForever);
  list.add(*Cidr::parse("2001:db8::/32"), at(50));
  list.add(Hash128{1, 2}, at(10));
  list.build();
  EXPECT_EQ(list.size(), 5u);
  const auto found = [&](const char* text, std::int64_t now) {
    const Address one = address(text);
    const auto hit = list.find({}, &one, at(now));
    return hit ? hit->text() : std::string();
  };
  EXPECT_EQ(found("203.0.113.9", 0), "203.0.113.9");
  EXPECT_EQ(found("203.0.113.8", 0), "");
  EXPECT_EQ(found("203.0.113.10", 0), "");
  EXPECT_EQ(found("10.1.2.3", 1000), "10.1.0.0/16");
  EXPECT_EQ(found("10.0.255.255", 0), "10.0.0.0/16") << "what is left of 10.0.0.0/8 before it";
  EXPECT_EQ(found("10.2.0.0", 99), "10.2.0.0 - 10.255.255.255");
  EXPECT_EQ(found("10.2.0.0", 100), "");
  EXPECT_EQ(found("11.0.0.0", 0), "");
  EXPECT_EQ(found("2001:db8:ffff::1", 49), "2001:db8::/32");
  EXPECT_EQ(found("2001:db8:ffff::1", 50), "");
  EXPECT_EQ(found("::ffff:203.0.113.9", 0), "203.0.113.9");
  EXPECT_TRUE(list.find({1, 2}, nullptr, at(9)));
  EXPECT_FALSE(list.find({1, 2}, nullptr, at(10)));
  EXPECT_FALSE(list.find({2, 1}, nullptr, at(0)));
}

TEST(BulkList, EndsOfTheAddressSpaceAreAddressesToo) {
  BulkList list;
  list.add(*Cidr::parse("0.0.0.0/0"), at(10));
  list.add(*Cidr::parse("255.255.255.255"), at(20));
  list.add(*Cidr::parse("0.0.0.0"), at(20));
  list.add(*Cidr::parse("::/0"), at(10));
  list.add(*Cidr::parse("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), at(20));
  list.build();
  for (const char* text :
       {"255.255.255.255", "0.0.0.0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}) {
    const Address one = address(text);
    EXPECT_TRUE(list.find({}, &one, at(15))) << text;
    EXPECT_FALSE(list.find({}, &one, at(20))) << text;
  }
  const Address other = address("1.2.3.4");
  EXPECT_TRUE(list.find({}, &other, at(9)));
  EXPECT_FALSE(list.find({}, &other, at(10)));
}

/// Against the plain list of networks, in a space so small that they lie within each other.
TEST(BulkList, SaysWhatAPlainListOfNetworksSays) {
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const bool four = round % 2 == 0;
    struct Plain {
      Cidr block;
      TimePoint until;
    };
    std::vector<Plain> plain;
    BulkList list;
    const auto pick = [&](unsigned low) {
      const std::uint32_t word = 0xffff'ff00u * (random() % 2) | low;
      if (four) return Address::v4(word);
      std::array<std::uint8_t, 16> bytes{};
      bytes.fill(random() % 2 ? 0xff : 0x20);
      bytes[15] = static_cast<std::uint8_t>(low);
      return Address::v6(bytes);
    };
    const unsigned width = four ? 32 : 128;
    for (std::size_t n = random() % 40; n > 0; --n) {
      const unsigned bits = width - static_cast<unsigned>(random() % 9);
      const Cidr block{pick(random() % 256).masked(bits, bits), bits};
      const TimePoint until = random() % 4 == 0 ? kForever : at(1 + random() % 8);
      plain.push_back({block, until});
      list.add(block, until);
    }
    list.build();
    for (int n = 0; n < 200; ++n) {
      const Address one = pick(random() % 256);
      const TimePoint now = at(random() % 9);
      TimePoint until{};
      for (const Plain& each : plain) {
        if (each.block.contains(one) && each.until > now) until = std::max(until, each.until);
      }
      const auto found = list.find({}, &one, now);
      ASSERT_EQ(found.has_value(), until != TimePoint{}) << one.to_string();
      if (found) {
        ASSERT_EQ(found->until, until) << one.to_string();
        ASSERT_LE(*found->first, one);
        ASSERT_LE(one, *found->last);
      }
    }
  }
}

TEST(BulkList, TakesFortyBytesAnAddressAtMost) {
  for (const bool four : {true, false}) {
    BulkList list;
    for (std::uint32_t i = 0; i < 100'000; ++i) {
      std::array<std::uint8_t, 16> bytes{0x20, 0x01};
      std::memcpy(bytes.data() + 8, &i, sizeof i);
      const Address one = four ? Address::v4(i * 7919) : Address::v6(bytes);
      list.add(Cidr{one, four ? 32u : 128u}, kForever);
    }
    list.build();
    EXPECT_LE(list.bytes(), 40u * 100'000) << (four ? "IPv4" : "IPv6");
  }
}

TEST(BulkSlot, GivesWhatItHadToWhoeverPutsTheNext) {
  BulkSlot slot;
  EXPECT_EQ(slot.get(), nullptr);
  const auto first = std::make_shared<const BulkList>();
  EXPECT_EQ(slot.put(first), nullptr);
  EXPECT_EQ(slot.get(), first.get());
  EXPECT_EQ(slot.put(std::make_shared<const BulkList>()), first);
}

}  // namespace
}  // namespace weir::limiter::bulk_list_test
