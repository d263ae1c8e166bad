#include "authz/check_response.h"

#include <gtest/gtest.h>

namespace weir::authz::check_response_test {
namespace {

using envoy::config::core::v3::HeaderValueOption;

/// `name=value`, and how it is put: `!` replaces, `+` is one more line.
template <class Headers>
std::vector<std::string> told(const Headers& headers) {
  std::vector<std::string> out;
  for (const HeaderValueOption& option : headers) {
    const bool replaces = option.has_append() && !option.append().value() &&
                          option.append_action() == HeaderValueOption::OVERWRITE_IF_EXISTS_OR_ADD;
    out.push_back(option.header().key() + (replaces ? "!" : "+") + option.header().value());
  }
  return out;
}
using Texts = std::vector<std::string>;

TEST(CheckResponse, LetsARequestPassWithWhatTheAppIsTold) {
  Effect effect;
  effect.upstream_headers = "X-Weir-Verdict: flag\r\nX-Weir-Policy: p;value=6\r\n";
  effect.response_headers = "RateLimit: \"p\";r=1\r\n";
  effect.cause = {"p", "flag", false, 1, Number{6}, Number{5}};
  gate::Unsettled::Id id;
  id.fill('a');
  CheckResponse out;
  fill_allowed(out, effect, {"x-weir-score", "x-weir-else", "x-weir-verdict"}, &id);
  EXPECT_EQ(out.status().code(), 0);
  EXPECT_EQ(told(out.ok_response().headers()),
            (Texts{"x-weir-verdict!flag", "x-weir-policy!p;value=6",
                   "x-weir-request-id!" + std::string(32, 'a')}));
  EXPECT_EQ(told(out.ok_response().response_headers_to_add()), (Texts{"ratelimit+\"p\";r=1"}));
  const auto& gone = out.ok_response().headers_to_remove();
  EXPECT_EQ(Texts(gone.begin(), gone.end()), (Texts{"x-weir-score", "x-weir-else"}))
      << "none that is set: Envoy takes them away afterwards";
  const auto& facts = out.dynamic_metadata().fields();
  EXPECT_EQ(facts.at("policy").string_value(), "p");
  EXPECT_EQ(facts.at("verdict").string_value(), "flag");
  EXPECT_EQ(facts.at("rung").number_value(), 1);
  EXPECT_EQ(facts.at("value").number_value(), 6);
  EXPECT_EQ(facts.at("limit").number_value(), 5);
  EXPECT_EQ(facts.at("request_id").string_value(), std::string(32, 'a'));
}

TEST(CheckResponse, AnEmptyVerdictStillTakesTheClientsOwnHeadersAway) {
  CheckResponse out;
  fill_allowed(out, Effect{}, {}, nullptr);
  EXPECT_TRUE(out.has_ok_response());
  EXPECT_EQ(out.ok_response().headers_to_remove_size(), 4);
  EXPECT_FALSE(out.has_dynamic_metadata());
}

TEST(CheckResponse, RefusesWithStatusHeadersAndBody) {
  Effect effect;
  effect.status = 429;
  effect.content_type = "text/plain";
  effect.body = "no\n";
  effect.response_headers = "Retry-After: 7\r\n";
  effect.cause = {"office", "deny", true, -1, {}, {}};
  CheckResponse out;
  fill_refused(out, effect);
  EXPECT_EQ(out.status().code(), 8);
  EXPECT_EQ(static_cast<int>(out.denied_response().status().code()), 429);
  EXPECT_EQ(out.denied_response().body(), "no\n");
  EXPECT_EQ(told(out.denied_response().headers()),
            (Texts{"content-type!text/plain", "retry-after!7"}));
  EXPECT_EQ(out.dynamic_metadata().fields().at("list").string_value(), "office");
  effect.status = 503;
  out.Clear();
  fill_refused(out, effect);
  EXPECT_EQ(out.status().code(), 7) << "a refusal, whatever its status";
  EXPECT_EQ(static_cast<int>(out.denied_response().status().code()), 503);
}

TEST(CheckResponse, EnvoyCanReadWhateverStandsInAnEffect) {
  Effect effect;
  effect.status = 403;
  effect.content_type = "text/plain";
  effect.body = "a\xff\nb\x01\xe4\xbd\xa0";
  effect.response_headers = "X-A: b\rc\nd\x7f\xff\r\nbroken line\r\nX-B: \t1\r\n";
  effect.cause.name = "p\n";
  CheckResponse out;
  fill_refused(out, effect);
  EXPECT_EQ(out.denied_response().body(), "a?\nb?\xe4\xbd\xa0");
  EXPECT_EQ(told(out.denied_response().headers()),
            (Texts{"content-type!text/plain", "x-a!b?c?d??", "x-b!\t1"}));
  std::string bytes;
  ASSERT_TRUE(out.SerializeToString(&bytes));
  CheckResponse again;
  EXPECT_TRUE(again.ParseFromString(bytes));
}

TEST(CheckResponse, NumbersThatNoDoubleHoldsAreTexts) {
  Effect effect;
  effect.cause.name = "p";
  effect.cause.value = Number{std::int64_t{9'007'199'254'740'993}};
  CheckResponse out;
  fill_allowed(out, effect, {}, nullptr);
  EXPECT_EQ(out.dynamic_metadata().fields().at("value").string_value(), "9007199254740993");
}

TEST(CheckResponse, FailuresAreNoRefusals) {
  CheckResponse out;
  fill_error(out, 14);
  EXPECT_EQ(out.status().code(), 14);
  EXPECT_TRUE(out.has_error_response());
  EXPECT_FALSE(out.has_denied_response());
  EXPECT_EQ(told(out.error_response().headers()), (Texts{"retry-after!1"}));
}

}  // namespace
}  // namespace weir::authz::check_response_test
