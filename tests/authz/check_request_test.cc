#include "authz/check_request.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "envoy/service/auth/v3/external_auth.pb.h"
#include "policies/lang/extractors/arena.h"
#include "tests/support/own_header_spellings.h"

namespace weir::authz::check_request_test {
namespace {

using policies::MissReason;
using policies::PathStep;

/// A check as Envoy sends it, to be changed.
struct Check {
  Check() {
    http().set_method("POST");
    http().set_path("/api//l%6fgin?a=1");
    http().set_host("Shop.example:443");
    http().set_scheme("https");
    attributes().mutable_source()->mutable_address()->mutable_socket_address()->set_address(
        "192.0.2.7");
  }
  envoy::service::auth::v3::AttributeContext& attributes() { return *message.mutable_attributes(); }
  envoy::service::auth::v3::AttributeContext::HttpRequest& http() {
    return *attributes().mutable_request()->mutable_http();
  }
  Check& header(const std::string& name, const std::string& value) {
    (*http().mutable_headers())[name] = value;
    return *this;
  }
  const Request& read(std::string_view word = {}) {
    bytes = message.SerializeAsString();
    memory.clear();
    EXPECT_TRUE(reader.parse(bytes, memory));
    trouble = reader.read(word, rules, TimePoint{});
    return reader.request();
  }
  std::string client(std::string_view word = {}) { return read(word).client.to_string(); }

  envoy::service::auth::v3::CheckRequest message;
  std::string bytes;
  Messages memory;
  CheckRules rules;
  TargetRoom room;
  CheckReader reader{room};
  std::string_view trouble;
};

TEST(CheckRequest, SaysWhatIsAskedFor) {
  Check check;
  check.header(":method", "GET").header("x-user", "17");
  const Request& request = check.read();
  EXPECT_EQ(check.trouble, "");
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/api//login?a=1");
  EXPECT_EQ(request.path, "/api/login");
  EXPECT_EQ(request.query, "a=1");
  EXPECT_EQ(request.host, "shop.example");
  EXPECT_EQ(request.scheme, "https");
  EXPECT_EQ(request.client.to_string(), "192.0.2.7");
  ASSERT_EQ(request.headers.size(), 1u) << "pseudo headers are none";
  EXPECT_EQ(request.headers[0].value, "17");
}

TEST(CheckRequest, HeadersMayComeWithTheirLines) {
  Check check;
  check.http().clear_method();
  auto& lines = *check.http().mutable_header_map();
  for (const auto& [name, value] :
       {std::pair{":method", "PUT"}, {"x-user", "1"}, {"x-user", "2"}}) {
    auto& line = *lines.add_headers();
    line.set_key(name);
    line.set_raw_value(value);
  }
  const Request& request = check.read();
  EXPECT_EQ(request.method, "PUT");
  ASSERT_EQ(request.headers.size(), 2u);
  EXPECT_EQ(request.headers[1].value, "2");
}

/// As at the proxy: a server that folds letter case must not see a POST that no policy has seen.
TEST(CheckRequest, AMethodThatTheProxyRefusesIsNotJudged) {
  for (const std::string& method :
       {std::string("post"), std::string("Post"), std::string("P OST"), std::string(33, 'A')}) {
    Check check;
    check.http().set_method(method);
    check.read();
    EXPECT_NE(check.trouble, "") << method;
  }
  Check check;
  check.http().set_method("VERSION-CONTROL");
  EXPECT_EQ(check.read().method, "VERSION-CONTROL");
  EXPECT_EQ(check.trouble, "");
}

TEST(CheckRequest, ATargetThatIsNoPathIsNotJudged) {
  for (const char* path : {"/%zz", "a", "", "/a b"}) {
    Check check;
    check.http().set_path(path);
    check.read();
    EXPECT_NE(check.trouble, "") << path;
  }
}

TEST(CheckRequest, ATargetHas64KibibytesAtMost) {
  Check check;
  check.http().set_path("/%61" + std::string(TargetRoom::kTargetMax - 4, '<'));
  EXPECT_EQ(check.read().path.size(), 2 + 3 * (TargetRoom::kTargetMax - 4));
  EXPECT_EQ(check.trouble, "");
  check.http().set_path("/" + std::string(TargetRoom::kTargetMax, 'a'));
  check.read();
  EXPECT_EQ(check.trouble, "the target of the request is too long");
}

TEST(CheckRequest, ReadersShareARoomAndReadTheirTargetsAgain) {
  Check one;
  one.read();
  const Request& request = one.reader.request();
  CheckReader other{one.room};
  Check two;
  two.http().set_path("/another//p%61th?b=2");
  const std::string bytes = two.message.SerializeAsString();
  Messages memory;
  ASSERT_TRUE(other.parse(bytes, memory));
  EXPECT_EQ(other.read({}, two.rules, TimePoint{}), "");
  EXPECT_EQ(other.request().path, "/another/path");
  one.reader.read_target_again(one.rules.path);
  EXPECT_EQ(request.path, "/api/login");
  EXPECT_EQ(request.target, "/api//login?a=1");
  EXPECT_EQ(request.query, "a=1");
}

TEST(CheckRequest, SaysWhetherAPathCanBeReadInDifferentWays) {
  Check check;
  check.http().set_path("/a%2fb");
  check.read();
  EXPECT_EQ(check.trouble, "");
  EXPECT_TRUE(check.reader.request().readings->is_ambiguous());
}

TEST(CheckRequest, AConnectionWithoutHttpHasAClientAndNothingElse) {
  Check check;
  check.attributes().clear_request();
  const Request& request = check.read();
  EXPECT_EQ(check.trouble, "");
  EXPECT_EQ(request.path.data(), nullptr);
  EXPECT_EQ(request.client.to_string(), "192.0.2.7");
}

TEST(CheckRequest, BodiesAsFarAsEnvoySendsThem) {
  const auto state = [](const std::function<void(Check&)>& change) {
    Check check;
    change(check);
    return check.read().body_state;
  };
  EXPECT_EQ(state([](Check&) {}), BodyState::not_read);
  EXPECT_EQ(state([](Check& c) { c.http().set_body("{}"); }), BodyState::complete);
  EXPECT_EQ(state([](Check& c) { c.http().set_raw_body("{}"); }), BodyState::complete);
  EXPECT_EQ(state([](Check& c) { c.header("x-envoy-auth-partial-body", "false"); }),
            BodyState::complete);
  EXPECT_EQ(
      state([](Check& c) { c.header("x-envoy-auth-partial-body", "true").http().set_body("{"); }),
      BodyState::not_read);
  EXPECT_EQ(state([](Check& c) { c.header("content-encoding", "gzip").http().set_raw_body("x"); }),
            BodyState::encoded);
  EXPECT_EQ(state([](Check& c) {
              c.rules.body_bytes_max = 2;
              c.http().set_body("abc");
            }),
            BodyState::too_large);
}

TEST(CheckRequest, TheClientIsWhoConnectedOrWhomTrustedProxiesName) {
  Check check;
  check.header("x-forwarded-for", "9.9.9.9,203.0.113.5,192.0.2.7");
  EXPECT_EQ(check.client(), "192.0.2.7");
  check.rules.client = ClientRules({}, "x-forwarded-for", 1);
  EXPECT_EQ(check.client(), "203.0.113.5");
  check.attributes().clear_source();
  check.rules.client = ClientRules({}, "x-forwarded-for", 0);
  EXPECT_EQ(check.client(), "192.0.2.7") << "Envoy itself is behind a pipe";
  check.http().clear_headers();
  check.read();
  EXPECT_FALSE(check.reader.client_known());
}

TEST(CheckRequest, AnAddressMayHaveAZone) {
  Check check;
  auto& source = *check.attributes().mutable_source()->mutable_address()->mutable_socket_address();
  check.header("x-forwarded-for", "9.9.9.9");
  for (const char* address : {"fe80::a%2", "fe80::a%eth0", "fe80::a"}) {
    source.set_address(address);
    EXPECT_EQ(check.client(), "fe80::a") << address;
    EXPECT_TRUE(check.reader.client_known()) << "not whom a header names";
  }
}

TEST(CheckRequest, AHeaderOfOurOwnComesFromEnvoyAlone) {
  Check check;
  check.rules.client = ClientRules({}, "x-weir-client-ip", 0);
  check.header("x-weir-client-ip", "9.9.9.9");
  EXPECT_EQ(check.client(), "192.0.2.7") << "a client's own";
  EXPECT_EQ(check.client("203.0.113.5"), "203.0.113.5") << "a metadatum of the call";
  EXPECT_EQ(check.reader.forged(), (std::vector<std::string_view>{"x-weir-client-ip"}));
  EXPECT_TRUE(comes_as_metadatum("x-weir-client-ip"));
  EXPECT_FALSE(comes_as_metadatum("x-forwarded-for")) << "there it is Envoy's own address";
  EXPECT_FALSE(comes_as_metadatum("x-envoy-external-address"));
}

TEST(CheckRequest, EverySpellingOfOurOwnHeadersIsForged) {
  for (const std::string& name : ::weir::test::own_header_spellings()) {
    Check check;
    check.header(name.c_str(), "flag");
    check.client();
    EXPECT_EQ(check.reader.forged().size(), 1U) << name;
  }
}

TEST(CheckRequest, FactsOfRoutesAndFilters) {
  Check check;
  (*check.attributes().mutable_context_extensions())["tier"] = "gold";
  auto& claims =
      *(*(*check.attributes().mutable_metadata_context()->mutable_filter_metadata())["jwt"]
             .mutable_fields())["claims"]
           .mutable_struct_value()
           ->mutable_fields();
  claims["sub"].set_string_value("alice");
  claims["level"].set_number_value(3);
  claims["share"].set_number_value(0.5);
  claims["admin"].set_bool_value(true);
  claims["none"].set_null_value(google::protobuf::NULL_VALUE);
  claims["roles"].mutable_list_value()->add_values()->set_string_value("buyer");
  (*(*check.attributes().mutable_route_metadata_context()->mutable_filter_metadata())["route"]
        .mutable_fields())["plan"]
      .set_string_value("free");
  check.read();
  policies::Arena arena;
  const auto find = [&](std::vector<PathStep> path) { return check.reader.metadata(arena, path); };
  const auto claim = [&](const char* name) { return find({{"jwt"}, {"claims"}, {name}}); };
  EXPECT_EQ(check.reader.context("tier").value.as_text(), "gold");
  EXPECT_EQ(check.reader.context("Tier").why, MissReason::absent);
  EXPECT_EQ(claim("sub").value.as_text(), "alice");
  EXPECT_TRUE(claim("level").value.is(Type::integer));
  EXPECT_TRUE(claim("share").value.is(Type::real));
  EXPECT_TRUE(claim("admin").value.as_boolean());
  EXPECT_EQ(claim("none").why, MissReason::absent);
  EXPECT_EQ(claim("nobody").why, MissReason::absent);
  EXPECT_EQ(claim("roles").why, MissReason::unreadable) << "a list is not a single value";
  EXPECT_EQ(find({{"jwt"}, {"claims"}, {"roles"}, {"", 0, true}}).value.as_text(), "buyer");
  EXPECT_EQ(find({{"jwt"}, {"claims"}, {"roles"}, {"", 1, true}}).why, MissReason::absent);
  EXPECT_EQ(find({{"route"}, {"plan"}}).value.as_text(), "free");
  EXPECT_EQ(find({{"jwt"}}).why, MissReason::absent);
}

}  // namespace
}  // namespace weir::authz::check_request_test
