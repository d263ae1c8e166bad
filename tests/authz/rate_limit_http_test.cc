#include "authz/rate_limit_http.h"

#include <gtest/gtest.h>

#include "authz/rate_limit_json.h"
#include "tests/gate/slow_store.h"
#include "tests/policies/world.h"

namespace weir::authz::rate_limit_http_test {
namespace {

class RateLimitHttpTest : public testing::Test {
 protected:
  void use(std::string file, const std::string& more = {}) {
    const std::vector<config::SourceText> texts{{"weir.yaml", "weir: 1\npolicies: []\n" + more},
                                                {"limits.yaml", std::move(file), true}};
    config::Problems problems;
    const config::Model model = config::parse(texts, {}, problems);
    world.use(model, std::move(problems));
    gate.use(world.set_);
  }
  net::HttpReply ask(std::string_view body) {
    std::optional<net::HttpReply> out;
    http.json(body, world.now, [&](net::HttpReply reply) { out = std::move(reply); });
    EXPECT_TRUE(out);
    return out.value_or(net::HttpReply{});
  }
  std::string page() {
    std::string out;
    metrics.rules().write(out);
    return out;
  }

  policies::World world{"policies: []"};
  telemetry::Metrics metrics{1};
  gate::Shared shared{world.bank, world.lists, world.secret, world.stats};
  gate::SlowStore store{world.now};
  gate::Gate gate{shared, 0, gate::GateLimits{}, metrics.cells(0), nullptr};
  RateLimitHttp http{gate, metrics.cells(0), metrics.rules()};
};

constexpr const char* kFile = R"(
domain: shop
descriptors:
  - key: path
    value: /login
    rate_limit: {unit: minute, requests_per_unit: 2, name: logins}
)";

TEST_F(RateLimitHttpTest, AnswersAsTheServiceWhoseFilesItReads) {
  use(kFile);
  world.now = from_ms(1'700'000'000'100);
  const std::string call =
      R"({"domain":"shop","descriptors":[{"entries":[{"key":"path","value":"/login"}]},{"entries":[{"key":"x"}]}]})";
  const auto first = ask(call);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.content_type, "application/json");
  EXPECT_EQ(first.body,
            R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":2,)"
            R"("unit":"MINUTE","name":"logins"},"limitRemaining":1,"durationUntilReset":"40s"},)"
            R"({"code":"OK"}]})");
  EXPECT_EQ(ask(call).status, 200);
  const auto over = ask(call);
  EXPECT_EQ(over.status, 429);
  EXPECT_EQ(over.body.find("limitRemaining"), std::string::npos) << "0 is left out: " << over.body;
  EXPECT_NE(over.body.find(R"("overallCode":"OVER_LIMIT")"), std::string::npos);
  EXPECT_EQ(metrics.cells(0).get(telemetry::Metric::rate_limit_over), 1);
}

TEST_F(RateLimitHttpTest, ReadsBothSpellingsOfProtobufsJson) {
  use(kFile);
  const auto remaining = [&](const std::string& members, const std::string& more = {}) {
    const auto reply = ask(R"({"domain":"shop","descriptors":[{"entries":[{"key":"path","value":)"
                           R"("/login"}])" +
                           members + "}]" + more + "}");
    EXPECT_EQ(reply.status, 200) << reply.body;
    const std::size_t at = reply.body.find("limitRemaining\":");
    return at == std::string::npos ? 0 : std::atoi(reply.body.c_str() + at + 16);
  };
  const std::string limit = R"(,"limit":{"requests_per_unit":"100","unit":"HOUR"})";
  EXPECT_EQ(remaining(limit), 99);
  EXPECT_EQ(remaining(R"(,"limit":{"requestsPerUnit":100,"unit":3})", R"(,"hits_addend":3)"), 96);
  EXPECT_EQ(remaining(limit + R"(,"hitsAddend":"5")", R"(,"hitsAddend":3)"), 91);
  EXPECT_EQ(remaining(limit + R"(,"hits_addend":0)"), 91) << "a look";
  EXPECT_EQ(remaining(limit + R"(,"hitsAddend":null)"), 90) << "null is nothing";
  EXPECT_EQ(remaining(limit + R"(,"hitsAddend":"1e1")"), 80) << "any number, as a text";
  EXPECT_EQ(remaining(limit, R"(,"hitsAddend":"2.0")"), 78);
  EXPECT_EQ(ask(R"({"domain":"shop","descriptors":[{"entries":[{"key":"path","value":"/login"}],)"
                R"("hitsAddend":"18446744073709551615"}]})")
                .status,
            429);
}

TEST_F(RateLimitHttpTest, RefusesWhatIsNoRequest) {
  use(kFile);
  for (const char* body :
       {"", "[]", "{", R"({"domain":1})", R"({"domain":"shop"})", R"({"descriptors":[]})",
        R"({"domain":"shop","descriptor":[]})", R"({"domain":"shop","descriptors":{}})",
        R"({"domain":"shop","descriptors":[{"entries":[{"key":"a","val":"b"}]}]})",
        R"({"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":-1})",
        R"({"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":4294967296})",
        R"({"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":"1.5"})",
        R"({"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":" 1"})",
        R"({"domain":"shop","descriptors":[{"entries":[]}],"hitsAddend":""})",
        R"({"domain":"shop","descriptors":[{"limit":{"requestsPerUnit":1}}]})",
        R"({"domain":"shop","descriptors":[{"limit":{"requestsPerUnit":1,"unit":"WEEK"}}]})",
        "{\"domain\":\"\xff\"}"}) {
    const auto reply = ask(body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(reply.content_type, "application/problem+json");
  }
}

TEST_F(RateLimitHttpTest, RefusesACallWithTooManyDescriptorsOrEntries) {
  use(kFile);
  const auto list_of = [](std::string_view one, int count) {
    std::string out(one);
    for (int i = 1; i < count; ++i) out.append(",").append(one);
    return "[" + out + "]";
  };
  const std::string entry = R"({"key":"path","value":"/login"})";
  const auto with = [&](int entries, int descriptors) {
    const std::string one = R"({"entries":)" + list_of(entry, entries) + "}";
    return ask(R"({"domain":"shop","descriptors":)" + list_of(one, descriptors) + "}");
  };
  EXPECT_NE(with(1, 1'024).status, 400);
  EXPECT_EQ(with(1, 1'025).status, 400);
  EXPECT_NE(with(64, 1).status, 400);
  const auto refused = with(65, 1);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("64 entries"), std::string::npos) << refused.body;
}

// As protobuf's JSON of Go, which the service reads its bodies with: even if one of them is null.
TEST_F(RateLimitHttpTest, RefusesAMemberThatStandsTwice) {
  use(kFile);
  const std::string one = R"({"entries":[{"key":"path","value":"/login"}]})";
  const std::string good = R"({"domain":"shop","descriptors":[)" + one + "," + one + "]}";
  EXPECT_EQ(ask(good).status, 200) << "names of different objects";
  for (
      const char* body : {
          R"({"domain":"other","domain":"shop","descriptors":[{"entries":[{"key":"a"}]}]})",
          R"({"domain":null,"domain":"shop","descriptors":[{"entries":[{"key":"a"}]}]})",
          R"({"domain":"shop","doma\u0069n":"shop","descriptors":[{"entries":[{"key":"a"}]}]})",
          R"({"domain":"shop","descriptors":[],"descriptors":[{"entries":[{"key":"a"}]}]})",
          R"({"domain":"shop","descriptors":[{"entries":[{"key":"a","key":"b"}]}]})",
          R"({"domain":"shop","hitsAddend":1,"hits_addend":2,"descriptors":[{"entries":[{"key":"a"}]}]})",
          R"({"domain":"shop","descriptors":[{"entries":[{"key":"a"}],"limit":{"unit":"DAY","unit":"HOUR","requestsPerUnit":1}}]})",
      }) {
    const auto reply = ask(body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_NE(reply.body.find("is given twice"), std::string::npos) << reply.body;
  }
}

// 0.7 of 90 is 62.99... in double precision, and 63 in single precision.
TEST_F(RateLimitHttpTest, CountsWhatIsNearInSinglePrecisionAsTheOldServiceDoes) {
  use("domain: d\ndescriptors:\n"
      "- {key: a, rate_limit: {unit: day, requests_per_unit: 90}}\n"
      "- {key: b, rate_limit: {unit: day, requests_per_unit: 100000001}}\n",
      "ratelimit: {near: 0.7}\n");
  ask(R"({"domain":"d","descriptors":[{"entries":[{"key":"a"}],"hitsAddend":90}]})");
  ask(R"({"domain":"d","descriptors":[{"entries":[{"key":"b"}],"hitsAddend":100000001}]})");
  const std::string text = page();
  EXPECT_NE(text.find("near_limit{domain=\"d\",key1=\"a\"} 27\n"), std::string::npos) << text;
  const float near = 100'000'001.0F * 0.7F;
  const auto of_b = std::to_string(100'000'001 - static_cast<std::int64_t>(near));
  EXPECT_NE(text.find("near_limit{domain=\"d\",key1=\"b\"} " + of_b + "\n"), std::string::npos)
      << text;
}

TEST_F(RateLimitHttpTest, CountsByRuleByValueAndInFull) {
  use(R"(
domain: d
descriptors:
  - key: plain
    rate_limit: {unit: minute, requests_per_unit: 10}
  - key: valued
    value_to_metric: true
    descriptors:
      - {key: below, rate_limit: {unit: minute, requests_per_unit: 10}}
  - {key: detailed, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 10}}
  - {key: files, value: "a*", share_threshold: true, detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 10}}
  - {key: free, rate_limit: {unlimited: true}}
)",
      "ratelimit: {near: 0.5}\n");
  const auto hit = [&](const std::string& entries, const std::string& more = {}) {
    EXPECT_EQ(
        ask(R"({"domain":"d","descriptors":[{"entries":[)" + entries + "]" + more + "}]}").status,
        200);
  };
  hit(R"({"key":"plain","value":"x"})", R"(,"hitsAddend":7)");
  hit(R"({"key":"valued","value":"x"},{"key":"below","value":"y"})");
  hit(R"({"key":"detailed","value":"x"})");
  hit(R"({"key":"files","value":"abc"})");
  hit(R"({"key":"free","value":"x"})");
  hit(R"({"key":"any","value":"x"})", R"(,"limit":{"requestsPerUnit":1,"unit":"DAY"})");
  const std::string text = page();
  const auto says = [&](const std::string& line) {
    return text.find("\nratelimit_service_rate_limit_" + line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(says("total_hits{domain=\"d\",key1=\"plain\"} 7")) << text;
  EXPECT_TRUE(says("near_limit{domain=\"d\",key1=\"plain\"} 2")) << text;
  EXPECT_TRUE(says("within_limit{domain=\"d\",key1=\"plain\"} 7")) << text;
  EXPECT_TRUE(says("total_hits{domain=\"d\",key1=\"valued_x\",key2=\"below\"} 1")) << text;
  EXPECT_TRUE(says("total_hits{domain=\"d\",key1=\"detailed_x\"} 1")) << text;
  EXPECT_TRUE(says("total_hits{domain=\"d\",key1=\"files_a*\"} 1")) << text;
  EXPECT_TRUE(says("total_hits{domain=\"d\",key1=\"any_x\"} 1")) << text;
  EXPECT_EQ(text.find("free"), std::string::npos) << "what is unlimited is not counted, as there";
}

}  // namespace
}  // namespace weir::authz::rate_limit_http_test
