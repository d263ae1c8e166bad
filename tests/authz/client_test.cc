#include "authz/client.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::authz::client_test {
namespace {

/// A row reads as: the configuration, the words of the proxy, the client.
struct Case {
  std::string_view name;
  std::vector<Cidr> trust;
  std::string header;
  unsigned hops;
  std::string source;  // empty: the door is HTTP, which does not say
  std::vector<HeaderField> fields;
  std::string client;  // "none": not given
};

const std::vector<Cidr> kLan = {*Cidr::parse("10.0.0.0/8")};
const std::string kXff = "x-forwarded-for";

const std::vector<Case> kCases = {
    // HTTP: the last entry is what the proxy itself saw.
    {"the last entry", {}, kXff, 0, "", {{"X-Forwarded-For", "9.9.9.9, 1.2.3.4"}}, "1.2.3.4"},
    {"no blank after the comma",
     {},
     kXff,
     0,
     "",
     {{"x-forwarded-for", "9.9.9.9,1.2.3.4"}},
     "1.2.3.4"},
    {"two lines are one list",
     {},
     kXff,
     1,
     "",
     {{"X-Forwarded-For", "8.8.8.8, 1.2.3.4"}, {"X-Forwarded-For", "10.0.0.1"}},
     "1.2.3.4"},
    {"one proxy before",
     {},
     kXff,
     1,
     "",
     {{"X-Forwarded-For", "9.9.9.9, 1.2.3.4, 10.0.0.1"}},
     "1.2.3.4"},
    {"it came past that proxy", {}, kXff, 1, "", {{"X-Forwarded-For", "1.2.3.4"}}, "1.2.3.4"},
    {"and lied", {}, kXff, 2, "", {{"X-Forwarded-For", "9.9.9.9, 1.2.3.4"}}, "1.2.3.4"},
    {"no header", {}, kXff, 0, "", {}, "none"},
    {"garbage", {}, kXff, 0, "", {{"X-Forwarded-For", "1.2.3.4, unknown"}}, "none"},
    {"an alias is not the header", {}, kXff, 0, "", {{"X_Forwarded_For", "1.2.3.4"}}, "none"},
    {"the proxy's own header",
     {},
     "x-weir-client-ip",
     0,
     "",
     {{"X-Weir-Client-Ip", "::ffff:1.2.3.4"}},
     "1.2.3.4"},
    {"trust: the last that is none",
     kLan,
     kXff,
     0,
     "",
     {{"X-Forwarded-For", "9.9.9.9, 1.2.3.4, 10.1.1.1, 10.0.0.1"}},
     "1.2.3.4"},
    {"trust: all are", kLan, kXff, 0, "", {{"X-Forwarded-For", "10.7.7.7, 10.0.0.1"}}, "10.7.7.7"},
    // gRPC: Envoy says who connected to it.
    {"the peer", {}, kXff, 0, "1.2.3.4", {{"x-forwarded-for", "9.9.9.9"}}, "1.2.3.4"},
    {"one proxy before, Envoy appends",
     {},
     kXff,
     1,
     "10.0.0.1",
     {{"x-forwarded-for", "9.9.9.9,1.2.3.4,10.0.0.1"}},
     "1.2.3.4"},
    {"one proxy before, Envoy does not",
     {},
     kXff,
     1,
     "10.0.0.1",
     {{"x-forwarded-for", "9.9.9.9,1.2.3.4"}},
     "1.2.3.4"},
    {"two before",
     {},
     kXff,
     2,
     "10.0.0.1",
     {{"x-forwarded-for", "9.9.9.9,1.2.3.4,10.0.0.2,10.0.0.1"}},
     "1.2.3.4"},
    {"fewer than that",
     {},
     kXff,
     3,
     "10.0.0.1",
     {{"x-forwarded-for", "1.2.3.4,10.0.0.1"}},
     "10.0.0.1"},
    {"no header over gRPC", {}, kXff, 1, "10.0.0.1", {}, "10.0.0.1"},
    {"garbage over gRPC", {}, kXff, 1, "10.0.0.1", {{"x-forwarded-for", "1.2.3.4,,x"}}, "10.0.0.1"},
    {"the external address",
     {},
     "x-envoy-external-address",
     0,
     "10.0.0.1",
     {{"x-envoy-external-address", "1.2.3.4"}},
     "1.2.3.4"},
    {"trust over gRPC",
     kLan,
     kXff,
     0,
     "10.0.0.1",
     {{"x-forwarded-for", "9.9.9.9,1.2.3.4,10.0.0.1"}},
     "1.2.3.4"},
    {"a peer that is not trusted",
     kLan,
     kXff,
     0,
     "7.7.7.7",
     {{"x-forwarded-for", "1.2.3.4"}},
     "7.7.7.7"},
};

TEST(ClientRules, SayWhoTheClientIs) {
  for (const Case& row : kCases) {
    const ClientRules rules(row.trust, row.header, row.hops);
    const auto source = row.source.empty() ? std::nullopt : Address::parse(row.source);
    const auto client = rules.client(source, row.fields);
    EXPECT_EQ(client ? client->to_string() : "none", row.client) << row.name;
  }
}

TEST(ClientRules, AskersAreOnThisMachineOrTrusted) {
  const ClientRules rules(kLan, kXff, 0);
  EXPECT_TRUE(rules.may_ask(Address{}));  // behind a Unix socket
  EXPECT_TRUE(rules.may_ask(*Address::parse("127.3.2.1")));
  EXPECT_TRUE(rules.may_ask(*Address::parse("10.4.4.4")));
  EXPECT_FALSE(rules.may_ask(*Address::parse("192.0.2.1")));
}

}  // namespace
}  // namespace weir::authz::client_test
