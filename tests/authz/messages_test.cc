#include "authz/messages.h"

#include <gtest/gtest.h>

#include "envoy/service/auth/v3/external_auth.pb.h"
#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "tests/authz/fake_call.h"

namespace weir::authz::messages_test {
namespace {

namespace auth = envoy::service::auth::v3;
namespace ratelimit = envoy::service::ratelimit::v3;

std::string operator""_bytes(const char* text, std::size_t size) { return {text, size}; }

// The bytes are written by hand from the published numbers: a field is (number << 3 | type), then
// its value. A message that was compiled from wrong numbers reads nothing here.
TEST(Messages, ReadsACheckByThePublishedNumbers) {
  const std::string http =
      "\x12\x04POST\x22\x06/login\x1A\x0E\n\x05x-uid\x12\x05"
      "alice"
      "j\x09\n\x07\n\x01k\x1A\x02\xFF\x00"_bytes;
  const std::string request = "\x12" + std::string(1, static_cast<char>(http.size())) + http;
  const std::string peer =
      "\n\x0E\n\x0C\x12\x07"
      "1.2.3.4\x18\xD2\x09"_bytes;
  std::string attributes = "\n" + std::string(1, static_cast<char>(peer.size())) + peer;
  attributes += "\x22" + std::string(1, static_cast<char>(request.size())) + request;
  attributes += "R\x0C\n\x04tier\x12\x04gold"_bytes;
  const std::string bytes =
      "\n" + std::string(1, static_cast<char>(attributes.size())) + attributes;

  Messages messages;
  auto& check = messages.make<auth::CheckRequest>();
  ASSERT_TRUE(check.ParseFromString(bytes));
  const auto& read = check.attributes();
  EXPECT_EQ(read.source().address().socket_address().address(), "1.2.3.4");
  EXPECT_EQ(read.source().address().socket_address().port_value(), 1234U);
  EXPECT_EQ(read.request().http().method(), "POST");
  EXPECT_EQ(read.request().http().path(), "/login");
  EXPECT_EQ(read.request().http().headers().at("x-uid"), "alice");
  ASSERT_EQ(read.request().http().header_map().headers_size(), 1);
  EXPECT_EQ(read.request().http().header_map().headers(0).raw_value(), "\xFF\x00"_bytes);
  EXPECT_EQ(read.context_extensions().at("tier"), "gold");
}

TEST(Messages, WritesADenialByThePublishedNumbers) {
  auth::CheckResponse response;
  response.mutable_status()->set_code(8);
  response.mutable_denied_response()->mutable_status()->set_code(429);
  response.mutable_denied_response()->set_body("no");
  auto& header = *response.mutable_denied_response()->add_headers();
  header.mutable_header()->set_key("k");
  header.mutable_header()->set_value("v");
  header.mutable_append()->set_value(false);
  header.set_append_action(envoy::config::core::v3::HeaderValueOption::OVERWRITE_IF_EXISTS_OR_ADD);
  EXPECT_EQ(response.SerializeAsString(),
            "\n\x02\x08\x08\x12\x17\n\x03\x08\xAD\x03\x12\x0C\n\x06\n\x01k\x12\x01v\x12\x00\x18\x02"
            "\x1A\x02no"_bytes);
}

TEST(Messages, WritesAnOverLimitByThePublishedNumbers) {
  ratelimit::RateLimitResponse response;
  response.set_overall_code(ratelimit::RateLimitResponse::OVER_LIMIT);
  auto& status = *response.add_statuses();
  status.set_code(ratelimit::RateLimitResponse::OVER_LIMIT);
  status.mutable_current_limit()->set_requests_per_unit(5);
  status.mutable_current_limit()->set_unit(ratelimit::RateLimitResponse::RateLimit::WEEK);
  status.mutable_duration_until_reset()->set_seconds(7);
  EXPECT_EQ(response.SerializeAsString(),
            "\x08\x02\x12\x0C\x08\x02\x12\x04\x08\x05\x10\x07\"\x02\x08\x07"_bytes);
}

TEST(Messages, SaysNothingOnStderrOfTextThatIsNoUtf8) {
  Messages messages;
  testing::internal::CaptureStderr();
  auto& request = messages.make<ratelimit::RateLimitRequest>();
  EXPECT_FALSE(request.ParseFromString("\n\x01\xFF"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Messages, CompletesACallWithTheBytes) {
  Messages messages;
  auto& response = messages.make<auth::CheckResponse>();
  response.mutable_status()->set_code(7);
  FakeCall call("");
  messages.complete(call, response);
  EXPECT_EQ(call.answer, "\n\x02\x08\x07");
}

}  // namespace
}  // namespace weir::authz::messages_test
