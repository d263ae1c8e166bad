#include "net/http/client_address.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::net::client_address_test {
namespace {

std::string hop(std::string_view text) {
  const std::optional<Address> address = parse_hop(text);
  return address ? address->to_string() : "none";
}

TEST(ClientAddress, Hops) {
  EXPECT_EQ(hop("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(hop("192.0.2.1:8080"), "192.0.2.1");
  EXPECT_EQ(hop("2001:DB8::1"), "2001:db8::1");
  EXPECT_EQ(hop("[2001:db8::1]"), "2001:db8::1");
  EXPECT_EQ(hop("[2001:db8::1]:80"), "2001:db8::1");
  EXPECT_EQ(hop("fe80::1%eth0"), "fe80::1");
  EXPECT_EQ(hop("[fe80::1%25eth0]:80"), "fe80::1");
  EXPECT_EQ(hop("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(hop("[::ffff:192.0.2.1]:1"), "192.0.2.1");
  for (const char* garbage : {"",
                              "unknown",
                              "_hidden",
                              "192.0.2",
                              "192.0.2.1:",
                              "192.0.2.1:x",
                              "192.0.2.1:123456",
                              "192.0.2.01",
                              "[192.0.2.1]",
                              "[::1",
                              "[::1]x",
                              "[::1]:",
                              "[::1]80",
                              "::1]",
                              "1.2.3.4%eth0",
                              "localhost",
                              "1.2.3.4 5.6.7.8",
                              ":::",
                              "3232235777",
                              "0x7f.1",
                              "[]",
                              "%",
                              "[%]"}) {
    EXPECT_EQ(hop(garbage), "none") << garbage;
  }
}

/// Resolves with 10.0.0.0/8 and fd00::/8 trusted.
std::string client(const std::string& peer, const std::vector<std::string>& lines,
                   const std::string& header = "X-Forwarded-For") {
  const ClientAddressRules rules{{*Cidr::parse("10.0.0.0/8"), *Cidr::parse("fd00::/8")}, header};
  std::vector<HeaderField> fields{{"Host", "a"}, {"X_Forwarded_For", "9.9.9.9"}};
  std::string name = header;
  for (const std::string& line : lines) {
    fields.push_back({name, line});
    fields.push_back({"X-Other", "8.8.8.8"});
  }
  return rules.resolve(*Address::parse(peer), fields).to_string();
}

TEST(ClientAddress, RightMostUntrustedEntry) {
  EXPECT_EQ(client("192.0.2.9", {"192.0.2.1"}), "192.0.2.9");  // an untrusted peer is the client
  EXPECT_EQ(client("10.0.0.1", {}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {""}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1"}), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {"1.1.1.1, 192.0.2.1"}), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {"1.1.1.1, 192.0.2.1, 10.2.3.4,10.9.9.9"}), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {"1.1.1.1", "192.0.2.1", "10.2.3.4"}), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {"1.1.1.1,", "192.0.2.1 ,", ",, 10.2.3.4"}), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {"10.0.0.7, 10.0.0.8"}), "10.0.0.7");
  EXPECT_EQ(client("fd00::1", {"[2001:db8::5]:4711, [fd00::2]:80"}), "2001:db8::5");
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1:55, ::ffff:10.1.1.1"}), "192.0.2.1");
}

TEST(ClientAddress, GarbageIsThePeer) {
  EXPECT_EQ(client("10.0.0.1", {"unknown"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1, unknown"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1, bad, 10.0.0.2"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"bad, 192.0.2.1"}), "192.0.2.1");  // never looked at
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1 10.0.0.2"}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"\"192.0.2.1\""}), "10.0.0.1");
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1\\"}), "10.0.0.1");
  std::string chain = "192.0.2.1";
  for (int i = 0; i < 64; ++i) chain += ", 10.0.0.2";
  EXPECT_EQ(client("10.0.0.1", {chain}), "10.0.0.1");
}

TEST(ClientAddress, OneNamedHeader) {
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1"}, "X-Real-IP"), "192.0.2.1");
  EXPECT_EQ(client("10.0.0.1", {"192.0.2.1"}, "cf-connecting-ip"), "192.0.2.1");
  const ClientAddressRules rules{{*Cidr::parse("10.0.0.0/8")}, "X-Real-IP"};
  const std::vector<HeaderField> fields{{"x-forwarded-for", "192.0.2.1"},
                                        {"x-real-ip", "192.0.2.2"}};
  EXPECT_EQ(rules.resolve(*Address::parse("10.0.0.1"), fields).to_string(), "192.0.2.2");
}

TEST(ClientAddress, Forwarded) {
  const auto forwarded = [](const std::vector<std::string>& lines) {
    return client("10.0.0.1", lines, "Forwarded");
  };
  EXPECT_EQ(forwarded({"for=192.0.2.1"}), "192.0.2.1");
  EXPECT_EQ(forwarded({"For=\"192.0.2.1:80\";proto=http;by=10.0.0.1"}), "192.0.2.1");
  EXPECT_EQ(forwarded({"proto=https; for=\"[2001:db8::7]:80\", for=10.0.0.3"}), "2001:db8::7");
  EXPECT_EQ(forwarded({"for=1.1.1.1, for=192.0.2.1;ext=\"a,for=6.6.6.6\""}), "192.0.2.1");
  EXPECT_EQ(forwarded({"for=1.1.1.1", "for=192.0.2.1", "for=10.0.0.3"}), "192.0.2.1");
  EXPECT_EQ(forwarded({"for=unknown"}), "10.0.0.1");
  EXPECT_EQ(forwarded({"for=_secret"}), "10.0.0.1");
  EXPECT_EQ(forwarded({"proto=http"}), "10.0.0.1");
  EXPECT_EQ(forwarded({"for=192.0.2.1;for=192.0.2.2"}), "10.0.0.1");
  EXPECT_EQ(forwarded({"for=\"192.0.2.1"}), "10.0.0.1");
  EXPECT_EQ(forwarded({"for=\"\\1.2.3.4\""}), "10.0.0.1");
}

}  // namespace
}  // namespace weir::net::client_address_test
