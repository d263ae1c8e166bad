#include "authz/check_service.h"

#include <gtest/gtest.h>

#include "authz/check_response.h"
#include "fake_call.h"
#include "gate/gate.h"
#include "tests/policies/world.h"
#include "tests/support/allocations.h"

namespace weir::authz::check_service_test {
namespace {

using net::grpc::Status;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kYaml = R"(
events:
  login: {match: POST /login}
  failed: {is: login, when: status == 401}
policies:
  - {name: banned, watch: request, when: path == "/banned", then: [{if: true, do: deny, status: 403}]}
  - {name: long, watch: request, when: path == "/long", then: [{if: true, do: deny, body: LONG}]}
  - {name: gold, watch: request, when: 'envoy.context.tier == "gold"', then: [{if: true, do: flag}]}
  - {name: slow, watch: request, when: path == "/slow", then: [{if: true, do: delay, hold: 1s}]}
  - {name: failures, watch: failed, key: ip, window: 10m, then: [{over: 0, do: deny}]}
)";

struct Door {
  ~Door() {
    EXPECT_EQ(metrics.sum(telemetry::Metric::requests_held), 0);
    unsettled.release_all(now);
  }
  explicit Door(bool error_response = false) {
    rules.error_response = error_response;
    gate.use(world.set_);
  }

  static std::string check(const std::string& method, const std::string& path,
                           const std::string& tier = {}) {
    envoy::service::auth::v3::CheckRequest message;
    auto& attributes = *message.mutable_attributes();
    attributes.mutable_source()->mutable_address()->mutable_socket_address()->set_address(
        "192.0.2.7");
    attributes.mutable_request()->mutable_http()->set_method(method);
    attributes.mutable_request()->mutable_http()->set_path(path);
    if (!tier.empty()) (*attributes.mutable_context_extensions())["tier"] = tier;
    return message.SerializeAsString();
  }
  static CheckResponse answer(const FakeCall& call) {
    CheckResponse out;
    EXPECT_TRUE(call.answer && out.ParseFromString(*call.answer));
    return out;
  }
  CheckResponse ask(const std::string& message) {
    FakeCall call(message);
    service().start(call, now);
    return answer(call);
  }
  void advance(milliseconds by) {
    now += by;
    wheel.advance(now);
    if (gate.has_waiters()) gate.tick(now);
  }

  static std::string yaml() {
    std::string out = kYaml;
    return out.replace(out.find("LONG"), 4, std::string(1'000, 'z'));
  }
  policies::World world{yaml()};
  gate::Shared shared{world.bank, world.lists, world.secret, world.stats};
  telemetry::Metrics metrics{1};
  TimePoint now = world.now;
  net::Wheel wheel{now};
  gate::Gate gate{shared, 0, {}, metrics.cells(0), nullptr};
  gate::Unsettled unsettled{gate, wheel, 0, seconds(60), metrics.cells(0)};
  CheckRules rules;
  std::optional<CheckService> started;
  CheckService& service() {
    if (!started) started.emplace(rules, gate, unsettled, wheel, metrics.cells(0));
    return *started;
  }
};

TEST(CheckService, PassesFlagsAndRefuses) {
  Door door;
  EXPECT_EQ(door.ask(Door::check("GET", "/")).status().code(), 0);
  const CheckResponse flagged = door.ask(Door::check("GET", "/", "gold"));
  EXPECT_EQ(flagged.status().code(), 0);
  EXPECT_EQ(flagged.dynamic_metadata().fields().at("policy").string_value(), "gold");
  const CheckResponse refused = door.ask(Door::check("GET", "/banned"));
  EXPECT_EQ(static_cast<int>(refused.denied_response().status().code()), 403);
  EXPECT_EQ(door.metrics.sum(telemetry::Metric::check_allowed_ext_authz), 2);
  EXPECT_EQ(door.metrics.sum(telemetry::Metric::check_denied_ext_authz), 1);
}

TEST(CheckService, ARequestThatCannotBeReadIsRefused) {
  Door door;
  const CheckResponse refused = door.ask(Door::check("GET", "/a%2fb"));
  EXPECT_EQ(static_cast<int>(refused.denied_response().status().code()), 400);
}

TEST(CheckService, ARequestWithoutAMethodIsRefused) {
  Door door;
  for (const char* method : {"", "G T", "GET\r\n", "G\xc3\xa4T", "get"}) {
    const CheckResponse refused = door.ask(Door::check(method, "/"));
    EXPECT_EQ(static_cast<int>(refused.denied_response().status().code()), 400) << method;
  }
  EXPECT_EQ(door.ask(Door::check("M-SEARCH", "/")).status().code(), 0);
}

TEST(CheckService, ReadsPathsByTheRulesThatAReloadBrings) {
  Door door;
  EXPECT_EQ(door.ask(Door::check("GET", "/BANNED")).status().code(), 0);
  PathRules rules;
  rules.fold_case = true;
  door.service().use(rules);
  EXPECT_NE(door.ask(Door::check("GET", "/BANNED")).status().code(), 0);
}

TEST(CheckService, WhatIsNoCheckFailsTheCall) {
  Door door;
  FakeCall call("\xff\xff");
  door.service().start(call, door.now);
  EXPECT_EQ(call.failed, Status::internal);
  EXPECT_TRUE(Door(true).ask("\xff\xff").has_error_response());
}

TEST(CheckService, StrangersMayNotAsk) {
  Door door;
  FakeCall call(Door::check("GET", "/"));
  call.from = *Address::parse("192.0.2.99");
  door.service().start(call, door.now);
  EXPECT_EQ(call.failed, Status::permission_denied);
}

TEST(CheckService, HoldsARequestForAsLongAsItIsDelayed) {
  Door door;
  FakeCall call(Door::check("GET", "/slow"));
  call.until = door.now + seconds(2);
  door.service().start(call, door.now);
  EXPECT_FALSE(call.done());
  EXPECT_NE(call.pending, nullptr);
  door.advance(milliseconds(900));
  EXPECT_FALSE(call.done());
  door.advance(milliseconds(200));
  EXPECT_EQ(Door::answer(call).status().code(), 0);
}

TEST(CheckService, RefusesWhatItCannotHoldWithinTheDeadline) {
  Door door;
  FakeCall call(Door::check("GET", "/slow"));
  call.until = door.now + milliseconds(250);
  door.service().start(call, door.now);
  const CheckResponse refused = Door::answer(call);
  EXPECT_EQ(static_cast<int>(refused.denied_response().status().code()), 429);
}

TEST(CheckService, ARefusalStaysOneWithoutMemoryForItsBody) {
  Door door;
  EXPECT_EQ(door.ask(Door::check("GET", "/long")).denied_response().body().size(), 1'000U);
  FakeCall call(Door::check("GET", "/long"));
  call.is_short = true;
  door.service().start(call, door.now);
  const CheckResponse refused = Door::answer(call);
  EXPECT_EQ(static_cast<int>(refused.denied_response().status().code()), 429);
  EXPECT_EQ(refused.denied_response().body(), "");
}

TEST(CheckService, ACallThatIsGivenUpGivesItsPlaceBack) {
  Door door;
  FakeCall call(Door::check("GET", "/slow"));
  door.service().start(call, door.now);
  ASSERT_NE(call.pending, nullptr);
  call.pending->cancelled(door.now);
  door.advance(seconds(5));
  EXPECT_FALSE(call.done());
}

TEST(CheckService, WhoWaitsForOthersIsAnsweredWithinTheDeadline) {
  Door door;
  EXPECT_EQ(door.ask(Door::check("GET", "/")).status().code(), 0);
  EXPECT_EQ(door.unsettled.size(), 0u);
  Door other;  // a limit of one: two wrong logins at a time are one too many
  other.world.use(std::string(kYaml).replace(std::string(kYaml).find("over: 0"), 7, "over: 1"));
  other.gate.use(other.world.set_);
  EXPECT_EQ(other.ask(Door::check("POST", "/login")).status().code(), 0);
  FakeCall call(Door::check("POST", "/login"));
  call.until = other.now + milliseconds(250);
  other.service().start(call, other.now);
  EXPECT_FALSE(call.done());
  other.advance(milliseconds(240));
  EXPECT_EQ(static_cast<int>(Door::answer(call).denied_response().status().code()), 429);
}

TEST(CheckService, WhoHasWaitedIsJudgedByItsOwnPath) {
  Door door;  // a limit of one: two wrong logins at a time are one too many
  door.world.use(std::string(kYaml).replace(std::string(kYaml).find("over: 0"), 7, "over: 1"));
  door.gate.use(door.world.set_);
  EXPECT_EQ(door.ask(Door::check("POST", "/login")).status().code(), 0);
  FakeCall call(Door::check("POST", "/l%6fgin"));
  call.until = door.now + milliseconds(250);
  door.service().start(call, door.now);
  EXPECT_FALSE(call.done());
  const CheckResponse other = door.ask(Door::check("GET", "/b%61nned"));
  EXPECT_EQ(static_cast<int>(other.denied_response().status().code()), 403);
  door.advance(milliseconds(240));
  EXPECT_EQ(static_cast<int>(Door::answer(call).denied_response().status().code()), 429);
}

TEST(CheckService, TheAppTellsOfItsAnswerByTheId) {
  Door door;
  door.world.use(std::string(kYaml).replace(std::string(kYaml).find("over: 0"), 7, "over: 1"));
  door.gate.use(door.world.set_);
  const CheckResponse passed = door.ask(Door::check("POST", "/login"));
  const std::string id = passed.dynamic_metadata().fields().at("request_id").string_value();
  Answer answer;
  answer.status = 401;
  EXPECT_TRUE(door.unsettled.settle(id, answer, door.now));
  const CheckResponse refused = door.ask(Door::check("POST", "/login"));
  EXPECT_EQ(static_cast<int>(refused.denied_response().status().code()), 429);
}

/// Keeps nothing of its answer but the size.
struct QuietCall final : net::grpc::Call {
  explicit QuietCall(std::string_view its) : bytes(its) {}
  std::string_view message() const noexcept override { return bytes; }
  TimePoint deadline() const noexcept override { return TimePoint::max(); }
  std::string_view metadata(std::string_view) const noexcept override { return {}; }
  const Address& peer() const noexcept override { return from; }
  bool is_memory_short() const noexcept override { return false; }
  void send(std::string_view) override {}
  void complete(std::string_view message) override { size = message.size(); }
  void fail(Status, std::string_view) override {}
  void wait_with(net::grpc::Pending&) noexcept override {}
  std::string_view bytes;
  Address from;
  std::size_t size = 0;
};

TEST(CheckService, AllocatesNothingForACheckThatPassesOnceItIsWarm) {
  Door door;
  envoy::service::auth::v3::CheckRequest message;
  ASSERT_TRUE(message.ParseFromString(Door::check("GET", "/" + std::string(100, 'a'))));
  auto& http = *message.mutable_attributes()->mutable_request()->mutable_http();
  for (int i = 0; i < 30; ++i)
    (*http.mutable_headers())["x-header-" + std::to_string(i)] = std::string(40, 'v');
  message.mutable_attributes()->mutable_metadata_context();
  const std::string bytes = message.SerializeAsString();
  const auto ask = [&] {
    QuietCall call(bytes);
    door.service().start(call, door.now);
    EXPECT_NE(call.size, 0U);
  };
  for (int i = 0; i < 100; ++i) ask();
  const std::size_t before = test::allocations();
  for (int i = 0; i < 1'000; ++i) ask();
  EXPECT_EQ(test::allocations(), before);
}

// Fifteen times a path would stay with each call that has ever been held.
TEST(CheckService, AHeldCallKeepsNoRoomForItsPath) {
  Door door;
  const std::string usual = Door::check("GET", "/%73low");
  std::string segments;
  for (int i = 0; i < 20'000; ++i) segments += "/.";
  const std::string longer = Door::check("GET", "/%73low" + segments);
  const auto hold_two = [&](const std::string& bytes) {
    const std::size_t before = test::allocations();
    {
      QuietCall first(bytes), second(bytes);
      door.service().start(first, door.now);
      door.service().start(second, door.now);
      EXPECT_EQ(door.metrics.sum(telemetry::Metric::requests_held), 2);
      door.advance(milliseconds(1'100));
      EXPECT_NE(second.size, 0U);
    }
    return test::allocations() - before;
  };
  hold_two(usual);
  const std::size_t warm = hold_two(usual);
  EXPECT_EQ(hold_two(longer), warm);
}

}  // namespace
}  // namespace weir::authz::check_service_test
