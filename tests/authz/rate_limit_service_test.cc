#include "authz/rate_limit_service.h"

#include <gtest/gtest.h>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "tests/authz/fake_call.h"
#include "tests/gate/slow_store.h"
#include "tests/policies/world.h"
#include "tests/support/allocations.h"

namespace weir::authz::rate_limit_service_test {
namespace {

namespace rls = envoy::service::ratelimit::v3;
using Entries = std::vector<std::pair<std::string, std::string>>;
using net::grpc::Status;

class RateLimitServiceTest : public testing::Test {
 protected:
  void use(std::string yaml, std::string file = {}) {
    std::vector<config::SourceText> texts{{"weir.yaml", "weir: 1\n" + std::move(yaml)}};
    if (!file.empty()) texts.push_back({"limits.yaml", std::move(file), true});
    config::Problems problems;
    const config::Model model = config::parse(texts, {}, problems);
    world.use(model, std::move(problems));
    gate.use(world.set_);
  }

  static rls::RateLimitRequest request(std::string domain, std::vector<Entries> descriptors,
                                       std::uint32_t hits = 0) {
    rls::RateLimitRequest out;
    out.set_domain(std::move(domain));
    out.set_hits_addend(hits);
    for (const Entries& entries : descriptors) {
      auto& descriptor = *out.add_descriptors();
      for (const auto& [key, value] : entries) {
        auto& entry = *descriptor.add_entries();
        entry.set_key(key);
        entry.set_value(value);
      }
    }
    return out;
  }
  FakeCall& start(const rls::RateLimitRequest& message) {
    return start(message.SerializeAsString());
  }
  FakeCall& start(std::string bytes) {
    calls.push_back(std::make_unique<FakeCall>(std::move(bytes)));
    service.start(*calls.back(), world.now);
    return *calls.back();
  }
  static rls::RateLimitResponse response(const FakeCall& call) {
    rls::RateLimitResponse out;
    EXPECT_TRUE(call.answer) << call.why;
    EXPECT_TRUE(out.ParseFromString(call.answer.value_or("")));
    return out;
  }
  rls::RateLimitResponse ask(const rls::RateLimitRequest& message) {
    return response(start(message));
  }

  policies::World world{"policies: []"};
  telemetry::Metrics metrics{1};
  gate::Shared shared{world.bank, world.lists, world.secret, world.stats};
  gate::SlowStore store{world.now};
  gate::Gate gate{shared, 0, gate::GateLimits{}, metrics.cells(0), nullptr};
  std::vector<std::unique_ptr<FakeCall>> calls;
  RateLimitService service{gate, metrics.cells(0), metrics.rules()};
};

constexpr const char* kOwn = R"(
policies:
  - name: per-address
    watch: {domain: api, descriptors: {remote_address: "*"}}
    key: descriptor.remote_address
    window: {every: 1m}
    announce: true
    then: [{over: 2, do: deny, tell: full}]
)";

TEST_F(RateLimitServiceTest, AnswersOneStatusForEachDescriptorInTheirOrder) {
  use(kOwn);
  world.now = from_ms(1'700'000'000'100);  // 19.9 s before a minute ends
  const auto call = request("api", {{{"x", "y"}}, {{"remote_address", "192.0.2.1"}}, {{"z", ""}}});
  const auto first = ask(call);
  EXPECT_EQ(first.overall_code(), rls::RateLimitResponse::OK);
  ASSERT_EQ(first.statuses_size(), 3);
  EXPECT_FALSE(first.statuses(0).has_current_limit());
  EXPECT_EQ(first.statuses(1).current_limit().requests_per_unit(), 2U);
  EXPECT_EQ(first.statuses(1).current_limit().unit(), rls::RateLimitResponse::RateLimit::MINUTE);
  EXPECT_EQ(first.statuses(1).current_limit().name(), "per-address");
  EXPECT_EQ(first.statuses(1).limit_remaining(), 1U);
  EXPECT_EQ(first.statuses(1).duration_until_reset().seconds(), 40) << "39.9 s, rounded up";
  ASSERT_EQ(first.response_headers_to_add_size(), 2);
  EXPECT_EQ(first.response_headers_to_add(0).key(), "RateLimit-Policy");
  EXPECT_EQ(first.response_headers_to_add(1).value(), "\"per-address\";r=1;t=40");
  ask(call);
  const auto over = ask(call);
  EXPECT_EQ(over.overall_code(), rls::RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(over.statuses(0).code(), rls::RateLimitResponse::OK);
  EXPECT_EQ(over.statuses(1).code(), rls::RateLimitResponse::OVER_LIMIT);
  EXPECT_EQ(over.response_headers_to_add(0).key(), "Retry-After");
  EXPECT_NE(over.raw_body().find("per-address"), std::string::npos);
  const auto& last = over.response_headers_to_add(over.response_headers_to_add_size() - 1);
  EXPECT_EQ(last.key(), "content-type") << "else Envoy says text/plain";
  EXPECT_EQ(last.value(), "application/problem+json");
  EXPECT_EQ(metrics.cells(0).get(telemetry::Metric::rate_limit_ok), 2);
  EXPECT_EQ(metrics.cells(0).get(telemetry::Metric::rate_limit_over), 1);
  EXPECT_EQ(metrics.cells(0).get(telemetry::Metric::rate_limit_grpc), 3);
}

TEST_F(RateLimitServiceTest, HitsOfACallAndOfADescriptor) {
  use(R"(
policies:
  - {name: a, watch: {domain: d, descriptors: {a: "*"}}, window: 1m, then: [{over: 10, do: deny}]}
)");
  EXPECT_EQ(ask(request("d", {{{"a", ""}}}, 4)).statuses(0).limit_remaining(), 6U);
  EXPECT_EQ(ask(request("d", {{{"a", ""}}})).statuses(0).limit_remaining(), 5U) << "0 is 1";
  auto own = request("d", {{{"a", ""}}}, 4);
  own.mutable_descriptors(0)->mutable_hits_addend()->set_value(2);
  EXPECT_EQ(ask(own).statuses(0).limit_remaining(), 3U);
  own.mutable_descriptors(0)->mutable_hits_addend()->set_value(0);
  EXPECT_EQ(ask(own).statuses(0).limit_remaining(), 3U) << "a look";
  own.mutable_descriptors(0)->mutable_hits_addend()->set_value(~std::uint64_t{0});
  EXPECT_EQ(ask(own).overall_code(), rls::RateLimitResponse::OVER_LIMIT);
}

TEST_F(RateLimitServiceTest, ARefusalHasTheBodyAndTheTypeOfItsRung) {
  use(R"(
policies:
  - name: p
    watch: {domain: d, descriptors: {a: "*"}}
    window: 1m
    then: [{over: 0, do: deny, body: "<p>later</p>", content_type: text/html}]
)");
  const auto type_of = [](const rls::RateLimitResponse& answer) {
    std::string out;
    for (const auto& header : answer.response_headers_to_add()) {
      if (header.key() == "content-type") out += header.value() + ";";
    }
    return out;
  };
  const auto over = ask(request("d", {{{"a", ""}}}));
  EXPECT_EQ(over.raw_body(), "<p>later</p>");
  EXPECT_EQ(type_of(over), "text/html;");
  EXPECT_EQ(type_of(ask(request("d", {{{"b", ""}}}))), "") << "no body, no type";
}

TEST_F(RateLimitServiceTest, CountsDescriptorsThatWouldGiveHitsBack) {
  use(kOwn);
  auto call = request("api", {{{"remote_address", "192.0.2.1"}}}, 2);
  EXPECT_EQ(ask(call).statuses(0).limit_remaining(), 0U);
  call.mutable_descriptors(0)->set_is_negative_hits(true);
  EXPECT_EQ(ask(call).statuses(0).limit_remaining(), 0U) << "they count nothing";
  EXPECT_EQ(metrics.cells(0).get(telemetry::Metric::rate_limit_given_back), 1);
}

TEST_F(RateLimitServiceTest, RefusesWhatCannotBeJudged) {
  use(kOwn);
  EXPECT_EQ(start(request("", {{{"a", "b"}}})).failed, Status::invalid_argument);
  EXPECT_EQ(start(request("api", {})).failed, Status::invalid_argument);
  EXPECT_EQ(start(std::string("\x0a\xff")).failed, Status::internal);
  EXPECT_EQ(start(std::string("\x0a\x01\xff", 3)).failed, Status::internal) << "no UTF-8";
  auto override = request("api", {{{"remote_address", "192.0.2.1"}}});
  override.mutable_descriptors(0)->mutable_limit()->set_requests_per_unit(5);
  EXPECT_EQ(start(override).failed, Status::invalid_argument) << "a limit without unit";
  override.mutable_descriptors(0)->mutable_limit()->set_unit(envoy::type::v3::HOUR);
  const auto answer = ask(override);
  EXPECT_EQ(answer.statuses(0).current_limit().requests_per_unit(), 5U);
  EXPECT_EQ(answer.statuses(0).current_limit().unit(), rls::RateLimitResponse::RateLimit::HOUR);
  EXPECT_EQ(ask(request("nowhere", {{{"a", "b"}}})).overall_code(), rls::RateLimitResponse::OK);
}

TEST_F(RateLimitServiceTest, ACallHasSoManyDescriptorsAndEntries) {
  use(kOwn);
  EXPECT_EQ(ask(request("api", std::vector<Entries>(1'024))).statuses_size(), 1'024);
  const FakeCall& more = start(request("api", std::vector<Entries>(1'025)));
  EXPECT_EQ(more.failed, Status::invalid_argument);
  EXPECT_NE(more.why.find("1024 descriptors"), std::string::npos) << more.why;
  EXPECT_EQ(ask(request("api", {Entries(64, {"a", "b"})})).statuses_size(), 1);
  EXPECT_EQ(start(request("api", {Entries(65, {"a", "b"})})).failed, Status::invalid_argument);
  EXPECT_EQ(start(request("api", {{{"a", "b"}}}).SerializeAsString() + "\x23\x24").failed,
            Status::internal)
      << "a group, which the scan of the size does not enter";
}

// In the parser and in the call, an empty descriptor is larger than its two bytes.
TEST_F(RateLimitServiceTest, RefusesALargeCallBeforeItIsParsed) {
  use(kOwn);
  std::string bytes =
      "\x0a\x03"
      "api";
  for (int i = 0; i < 100'000; ++i) bytes.append("\x12\x00", 2);
  start(request("api", {{{"a", "b"}}}));  // takes the object of the call
  const std::size_t before = test::allocations();
  const FakeCall& call = start(std::move(bytes));
  EXPECT_LT(test::allocations() - before, 10U) << "those of the fake call";
  EXPECT_EQ(call.failed, Status::invalid_argument);
}

TEST_F(RateLimitServiceTest, GivesTheMemoryOfALargeCallBack) {
  use(kOwn);
  calls.reserve(16);
  const auto small = request("api", {{{"a", "b"}}}).SerializeAsString();
  const auto allocated = [&](const std::string& bytes) {
    const std::size_t before = test::allocations();
    start(bytes);
    return test::allocations() - before;
  };
  allocated(small);
  const std::size_t usual = allocated(small);
  const std::string large =
      request("api", std::vector<Entries>(1'000, {{"a", "b"}})).SerializeAsString();
  const std::size_t first = allocated(large);
  EXPECT_GE(allocated(large), first) << "it keeps nothing of the first one";
  allocated(small);
  EXPECT_EQ(allocated(small), usual);
}

TEST_F(RateLimitServiceTest, TellsTheAppOfGrayCallers) {
  use(R"(
lists:
  odd: {of: ip, kind: gray, entries: [192.0.2.9]}
policies:
  - {name: a, watch: {domain: d, descriptors: {remote_address: "*"}}, key: ip, window: 1m, then: [{over: 1, do: flag}]}
)");
  const auto gray = ask(request("d", {{{"remote_address", "192.0.2.9"}}, {{"other", "x"}}}));
  EXPECT_EQ(gray.overall_code(), rls::RateLimitResponse::OK);
  ASSERT_EQ(gray.request_headers_to_add_size(), 2);
  EXPECT_EQ(gray.request_headers_to_add(0).key(), "X-Weir-Verdict");
  EXPECT_EQ(gray.request_headers_to_add(0).value(), "gray");
  EXPECT_EQ(ask(request("d", {{{"remote_address", "192.0.2.8"}}})).request_headers_to_add_size(),
            0);
  const auto flag = ask(request("d", {{{"remote_address", "192.0.2.8"}}}));
  EXPECT_EQ(flag.request_headers_to_add(0).value(), "flag");
}

TEST_F(RateLimitServiceTest, AnswersAsTheFilesOfEnvoyRateLimitAskFor) {
  use("ratelimit: {headers: true, metadata: true}\npolicies: []\n", R"(
domain: d
descriptors:
  - {key: a, rate_limit: {unit: week, requests_per_unit: 3, name: of-a}, metadata: {team: {name: x}, n: 1}}
  - {key: b, rate_limit: {unlimited: true}}
)");
  const auto answer = ask(request("d", {{{"a", "1"}}, {{"b", "1"}}, {{"c", "1"}}}, 2));
  EXPECT_EQ(answer.statuses(0).current_limit().name(), "of-a");
  EXPECT_EQ(answer.statuses(0).current_limit().unit(), rls::RateLimitResponse::RateLimit::WEEK);
  EXPECT_EQ(answer.statuses(1).limit_remaining(), 4'294'967'295U);
  EXPECT_FALSE(answer.statuses(1).has_current_limit());
  EXPECT_EQ(answer.statuses(2).limit_remaining(), 0U);
  ASSERT_EQ(answer.response_headers_to_add_size(), 3);
  EXPECT_EQ(answer.response_headers_to_add(0).key(), "RateLimit-Limit");
  EXPECT_EQ(answer.response_headers_to_add(0).value(), "3");
  EXPECT_EQ(answer.response_headers_to_add(1).value(), "1");
  EXPECT_NE(answer.response_headers_to_add(2).value(), "0");
  const auto& fields = answer.dynamic_metadata().fields();
  EXPECT_EQ(fields.at("domain").string_value(), "d");
  EXPECT_EQ(fields.at("descriptors").list_value().values_size(), 3);
  EXPECT_EQ(fields.at("hitsAddend").number_value(), 2);
  EXPECT_EQ(fields.at("metadata")
                .struct_value()
                .fields()
                .at("team")
                .struct_value()
                .fields()
                .at("name")
                .string_value(),
            "x");
  EXPECT_EQ(answer.raw_body(), "");
}

TEST_F(RateLimitServiceTest, TellsNoMetadataOfARuleThatAnotherRuleReplaces) {
  use("ratelimit: {metadata: true}\npolicies: []\n", R"(
domain: d
descriptors:
  - {key: old, rate_limit: {unit: day, requests_per_unit: 9, name: old}, metadata: {who: old}}
  - {key: new, rate_limit: {unit: day, requests_per_unit: 9, replaces: [{name: old}]}, metadata: {who2: new}}
)");
  const auto answer = ask(request("d", {{{"old", "1"}}, {{"new", "1"}}}));
  const auto& told = answer.dynamic_metadata().fields().at("metadata").struct_value().fields();
  EXPECT_EQ(told.at("who2").string_value(), "new");
  EXPECT_FALSE(told.contains("who"));
}

TEST_F(RateLimitServiceTest, SendsNoHeadersWhereTheLargestLimitHasCountedNothing) {
  use("ratelimit: {headers: true}\npolicies: []\n", R"(
domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 4294967295}}
  - {key: b, rate_limit: {unit: day, requests_per_unit: 5}}
)");
  auto look = request("d", {{{"a", "1"}}});
  look.mutable_descriptors(0)->mutable_hits_addend()->set_value(0);
  EXPECT_EQ(ask(look).response_headers_to_add_size(), 0);
  EXPECT_EQ(ask(request("d", {{{"a", "2"}}, {{"b", "1"}}})).response_headers_to_add(0).value(),
            "5");
  const auto counted = ask(request("d", {{{"a", "1"}}}));
  ASSERT_EQ(counted.response_headers_to_add_size(), 3);
  EXPECT_EQ(counted.response_headers_to_add(1).value(), "4294967294");
}

TEST_F(RateLimitServiceTest, ShadowOfTheWholeServiceAnswersOk) {
  use("ratelimit: {shadow: true}\npolicies: []\n",
      "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 0}}]\n");
  const auto answer = ask(request("d", {{{"a", "1"}}}));
  EXPECT_EQ(answer.overall_code(), rls::RateLimitResponse::OK);
  EXPECT_EQ(answer.statuses(0).code(), rls::RateLimitResponse::OVER_LIMIT);
}

TEST_F(RateLimitServiceTest, OnlyARefusalSaysWhenToComeAgain) {
  const std::string policies = R"(
events:
  first: {domain: d, descriptors: {a: "*"}, quota: true}
  second: {domain: d, descriptors: {b: "*"}, quota: true}
policies:
  - {name: none, watch: first, window: {every: 1h}, announce: true, then: [{over: 0, do: deny, tell: full}]}
  - {name: some, watch: second, window: {every: 1m}, announce: true, then: [{over: 1, do: deny, tell: full}]}
  - {name: strict, watch: {domain: d, descriptors: {c: "*"}}, window: {every: 1s}, then: [{over: 0, do: deny}]}
)";
  const auto told = [](const rls::RateLimitResponse& answer) {
    std::string out = answer.overall_code() == rls::RateLimitResponse::OK ? "OK" : "OVER";
    for (const auto& header : answer.response_headers_to_add())
      out += " " + header.key() + "=" + header.value();
    return out + (answer.raw_body().empty() ? "" : " with a body");
  };
  const Entries a{{"a", "1"}}, b{{"b", "1"}}, c{{"c", "1"}};
  world.now = from_ms(1'700'000'000'100);  // 19.9 s before a minute ends
  use(policies);
  const std::string some = told(ask(request("d", {b}, 1)));
  world.now += milliseconds{60'000};
  EXPECT_EQ(told(ask(request("d", {a, b}))), some) << "the other quota lets it pass";
  const std::string both = told(ask(request("d", {a, b})));
  EXPECT_TRUE(both.starts_with("OVER Retry-After=40 ")) << both << ": one quota is enough";
  EXPECT_TRUE(both.ends_with(" with a body"));
  EXPECT_TRUE(told(ask(request("d", {b, c}))).starts_with("OVER Retry-After=1")) << "no quota";
  use("ratelimit: {shadow: true}\n" + policies);
  EXPECT_EQ(told(ask(request("d", {a}))), "OK");
  EXPECT_EQ(told(ask(request("d", {c, a}))), "OK");
}

class SharedRateLimitTest : public RateLimitServiceTest {
 protected:
  void SetUp() override {
    gate.use_store(store, {7, "", false, milliseconds{60'000}, milliseconds{60'000}},
                   milliseconds{5});
    use(R"(
redis: {url: "redis://127.0.0.1:1"}
policies:
  - {name: a, share: redis, watch: {domain: d, descriptors: {a: "*"}}, window: {every: 1h}, then: [{over: 2, do: deny}]}
  - {name: b, share: redis, watch: {domain: d, descriptors: {b: "*"}}, window: {every: 1h}, on_error: deny, then: [{over: 9, do: deny}]}
)");
  }
};

TEST_F(SharedRateLimitTest, AsksForAllDescriptorsTogetherAndAnswersLater) {
  const auto message = request("d", {{{"a", ""}}, {{"b", ""}}, {{"c", ""}}});
  FakeCall& call = start(message);
  EXPECT_FALSE(call.done());
  EXPECT_NE(call.pending, nullptr);
  store.deliver();
  gate.tick(world.now);
  ASSERT_TRUE(call.done());
  EXPECT_EQ(response(call).statuses(0).limit_remaining(), 1U);
  EXPECT_EQ(response(call).statuses(1).limit_remaining(), 8U);
  FakeCall& both = start(message);
  FakeCall& third = start(message);
  store.deliver();
  gate.tick(world.now);
  store.deliver();
  gate.tick(world.now);
  EXPECT_EQ(response(both).overall_code(), rls::RateLimitResponse::OK);
  EXPECT_EQ(response(third).overall_code(), rls::RateLimitResponse::OVER_LIMIT);
}

TEST_F(SharedRateLimitTest, WhileTheStoreIsAwayPoliciesSayWhatHolds) {
  FakeCall& call = start(request("d", {{{"a", ""}}, {{"b", ""}}}));
  store.fail(limiter::SharedError::lost);
  gate.tick(world.now);
  ASSERT_TRUE(call.done());
  EXPECT_EQ(response(call).statuses(0).code(), rls::RateLimitResponse::OK) << "by our own count";
  EXPECT_EQ(response(call).statuses(1).code(), rls::RateLimitResponse::OVER_LIMIT);
}

TEST_F(SharedRateLimitTest, ACallThatIsCancelledLeavesNothingBehind) {
  FakeCall& call = start(request("d", {{{"a", ""}}, {{"b", ""}}}));
  call.pending->cancelled(world.now);
  store.deliver();
  gate.tick(world.now);
  EXPECT_FALSE(call.done());
  EXPECT_FALSE(gate.has_waiters());
  FakeCall& next = start(request("d", {{{"a", ""}}}));
  store.deliver();
  gate.tick(world.now);
  EXPECT_TRUE(next.done());
}

TEST_F(SharedRateLimitTest, AFailureWithoutMemoryGivesTheCallBackOnce) {
  FakeCall full(request("", {}).SerializeAsString());
  full.has_no_memory = true;
  EXPECT_THROW(service.start(full, world.now), std::bad_alloc);
  FakeCall& first = start(request("d", {{{"a", "1"}}}));
  FakeCall& second = start(request("d", {{{"a", "2"}}}));
  EXPECT_NE(first.pending, second.pending) << "each call has an object of its own";
  store.deliver();
  gate.tick(world.now);
  EXPECT_TRUE(first.done());
  EXPECT_TRUE(second.done());
}

TEST_F(SharedRateLimitTest, APolicySetThatChangesMeanwhileJudgesTheCall) {
  FakeCall& call = start(request("d", {{{"a", ""}}, {{"b", ""}}}));
  use(R"(
policies:
  - {name: c, watch: {domain: d, descriptors: {c: "*"}}, window: {every: 1h}, then: [{over: 2, do: deny}]}
)");
  store.deliver();
  gate.tick(world.now);
  store.deliver();
  gate.tick(world.now);
  ASSERT_TRUE(call.done());
  EXPECT_FALSE(response(call).statuses(0).has_current_limit());
  EXPECT_EQ(response(call).overall_code(), rls::RateLimitResponse::OK);
}

}  // namespace
}  // namespace weir::authz::rate_limit_service_test
