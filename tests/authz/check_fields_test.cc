#include "authz/check_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "authz/wire_fields.h"
#include "envoy/service/auth/v3/external_auth.pb.h"
#include "tests/support/allocations.h"

namespace weir::authz::check_fields_test {
namespace {

using namespace std::string_literals;

/// A length-delimited field of protobuf, of less than 128 bytes.
std::string field(int number, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(content.size())} +
         content;
}
std::string entry(const std::string& key, const std::string& value) {
  return field(1, key) + field(2, value);
}
std::string check_of(const std::string& http) { return field(1, field(4, field(2, http))); }

struct Reading {
  bool operator()(const std::string& message) {
    bytes = message;
    memory.clear();
    return fields.read(bytes, memory);
  }
  std::string bytes;
  Messages memory;
  CheckFields fields;
};

TEST(WireFields, StepsOverFieldsOfEveryKind) {
  const std::string message = "\x08\xAC\x02"s + "\x11" + std::string(8, 'x') + field(3, "abc") +
                              "\x25" + std::string(4, 'y') + "\xFA\x01\x01z";
  WireFields fields(message);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.tag(), 8U);
  EXPECT_EQ(fields.bytes(), "");
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.tag(), 2U << 3 | 1);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.tag(), length_delimited(3));
  EXPECT_EQ(fields.bytes(), "abc");
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.tag(), 4U << 3 | 5);
  EXPECT_EQ(fields.bytes(), "");
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.tag(), length_delimited(31));
  EXPECT_EQ(fields.bytes(), "z");
  EXPECT_FALSE(fields.next());
  EXPECT_TRUE(fields.is_sound());
}

TEST(WireFields, EndsAtWhatIsNoField) {
  const std::string_view broken[] = {
      std::string_view("\0", 1),                           // field 0
      "\x0A",                                              // no length
      "\x0A\x02x",                                         // cut short
      "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",          // longer than there is memory
      "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",  // a varint of eleven bytes
      "\x08\x80",                                          // that does not end
      "\x0B\x0C",                                          // a group
      "\x0E",                                              // no wire type
      "\x09xxxxxxx",                                       // seven bytes of eight
      "\x82\x80\x80\x80\x80\x80\x01x",                     // a tag of more than 32 bits
  };
  for (const std::string_view bytes : broken) {
    WireFields fields(bytes);
    EXPECT_FALSE(fields.next()) << testing::PrintToString(bytes);
    EXPECT_FALSE(fields.is_sound()) << testing::PrintToString(bytes);
  }
}

TEST(CheckFields, ReadsWhatProtobufWrites) {
  envoy::service::auth::v3::CheckRequest message;
  auto& attributes = *message.mutable_attributes();
  attributes.mutable_source()->mutable_address()->mutable_socket_address()->set_address("::1");
  attributes.mutable_source()->set_principal("spiffe://a");
  attributes.mutable_destination()->mutable_address()->mutable_pipe()->set_path("/p");
  auto& http = *attributes.mutable_request()->mutable_http();
  http.set_id("7");
  http.set_size(1 << 20);
  http.set_method("PUT");
  http.set_path("/" + std::string(300, 'a'));
  http.set_raw_body("\xFF\x00"s);
  (*http.mutable_headers())["x-user"] = "\xC3\xA9";
  (*attributes.mutable_context_extensions())["tier"] = "gold";
  (*(*attributes.mutable_metadata_context()->mutable_filter_metadata())["jwt"]
        .mutable_fields())["sub"]
      .set_string_value("alice");
  attributes.mutable_route_metadata_context();
  Reading read;
  ASSERT_TRUE(read(message.SerializeAsString()));
  EXPECT_EQ(read.fields.source, "::1");
  EXPECT_EQ(read.fields.method, "PUT");
  EXPECT_EQ(read.fields.path.size(), 301U);
  EXPECT_EQ(read.fields.raw_body, "\xFF\x00"s);
  ASSERT_EQ(read.fields.headers.size(), 1U);
  EXPECT_EQ(read.fields.headers[0].value, "\xC3\xA9");
  ASSERT_EQ(read.fields.context.size(), 1U);
  EXPECT_EQ(read.fields.context[0].second, "gold");
  ASSERT_NE(read.fields.metadata, nullptr);
  EXPECT_EQ(read.fields.metadata->filter_metadata().at("jwt").fields().at("sub").string_value(),
            "alice");
  EXPECT_EQ(read.fields.route_metadata, nullptr) << "an empty one is none";
  ASSERT_TRUE(read(""));
  EXPECT_FALSE(read.fields.source || read.fields.has_http || read.fields.metadata != nullptr);
  EXPECT_TRUE(read.fields.headers.empty() && read.fields.context.empty());
}

TEST(CheckFields, PartsThatComeTwiceAreJoined) {
  const std::string space = field(1, entry("jwt", field(1, entry("sub", field(3, "a")))));
  const std::string other = field(1, entry("route", field(1, entry("plan", field(3, "b")))));
  const std::string socket = field(1, field(1, field(1, field(2, "192.0.2.7"))));
  Reading read;
  ASSERT_TRUE(read(check_of(field(2, "GET") + field(3, entry("a", "1"))) +
                   check_of(field(2, "PUT") + field(3, entry("b", "2"))) +
                   field(1, field(11, space) + field(11, other) + socket)));
  EXPECT_EQ(read.fields.method, "PUT");
  EXPECT_EQ(read.fields.headers.size(), 2U);
  EXPECT_EQ(read.fields.source, "192.0.2.7");
  ASSERT_NE(read.fields.metadata, nullptr);
  EXPECT_EQ(read.fields.metadata->filter_metadata_size(), 2);
  ASSERT_TRUE(read(field(1, socket + field(1, field(1, field(2, field(1, "/pipe")))))));
  EXPECT_FALSE(read.fields.source) << "the last of the three kinds of address counts";
}

// A copy for each part would make gigabytes of a message of a megabyte.
TEST(CheckFields, MetadataInManyPartsIsReadOnce) {
  std::string attributes;
  const auto name = [](int i) { return "a name space that takes memory " + std::to_string(i); };
  for (int i = 0; i < 50; ++i) attributes += field(11, field(1, entry(name(i), "")));
  for (int i = 0; i < 1'000; ++i) attributes += field(11, "\x78\x01");
  const std::string message = "\x0A" +
                              std::string{static_cast<char>(attributes.size() % 128 | 128),
                                          static_cast<char>(attributes.size() / 128)} +
                              attributes;
  Reading read;
  const std::size_t before = test::allocations();
  ASSERT_TRUE(read(message));
  EXPECT_LT(test::allocations() - before, 1'000U);
  EXPECT_EQ(read.fields.metadata->filter_metadata_size(), 50);
}

TEST(CheckFields, RefusesTextsThatAreNotUtf8WhereItReadsThem) {
  Reading read;
  const std::string bad = "12345678\xED\xA0\x80";
  for (const int number : {2, 4, 5, 6, 11}) EXPECT_FALSE(read(check_of(field(number, bad))));
  EXPECT_FALSE(read(check_of(field(3, entry("a", bad)))));
  EXPECT_FALSE(read(check_of(field(3, entry(bad, "a")))));
  EXPECT_FALSE(read(check_of(field(13, field(1, entry("a", bad))))));
  EXPECT_FALSE(read(field(1, field(10, entry("a", bad)))));
  EXPECT_TRUE(read(check_of(field(12, bad)))) << "bytes";
  EXPECT_TRUE(read(check_of(field(13, field(1, field(1, "a") + field(3, bad)))))) << "bytes";
  EXPECT_TRUE(read(check_of(field(1, bad)))) << "the id is not read";
}

TEST(CheckFields, FindsABadByteWhereverItStands) {
  Reading read;
  for (std::size_t size = 1; size < 30; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '\x80';
      EXPECT_FALSE(read(check_of(field(4, text)))) << size << ' ' << at;
      text.replace(at, 1, "\xC3\xA9");
      EXPECT_TRUE(read(check_of(field(4, text)))) << size << ' ' << at;
    }
  }
}

TEST(CheckFields, RefusesWhatIsCutShortAtEveryDepth) {
  Reading read;
  const std::string cut = "\x0A\x05x";
  EXPECT_FALSE(read(cut));
  EXPECT_FALSE(read(field(1, cut)));
  for (const int number : {1, 4, 10, 11, 13}) EXPECT_FALSE(read(field(1, field(number, cut))));
  EXPECT_FALSE(read(check_of(cut)));
  EXPECT_FALSE(read(check_of(field(3, cut))));
  EXPECT_FALSE(read(check_of(field(13, cut))));
  EXPECT_FALSE(read(check_of(field(13, field(1, cut)))));
  EXPECT_FALSE(read(field(1, field(1, field(1, cut)))));
  EXPECT_FALSE(read(field(1, field(1, field(1, field(1, cut))))));
}

TEST(CheckFields, TakesABoundedNumberOfHeaders) {
  envoy::service::auth::v3::CheckRequest message;
  auto& http = *message.mutable_attributes()->mutable_request()->mutable_http();
  for (std::size_t i = 0; i < CheckFields::kFieldsMax; ++i)
    http.mutable_header_map()->add_headers();
  Reading read;
  EXPECT_TRUE(read(message.SerializeAsString()));
  EXPECT_EQ(read.fields.lines.size(), CheckFields::kFieldsMax);
  http.mutable_header_map()->add_headers();
  EXPECT_FALSE(read(message.SerializeAsString()));
}

}  // namespace
}  // namespace weir::authz::check_fields_test
