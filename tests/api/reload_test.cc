#include <gmock/gmock.h>

#include "api_world.h"
#include "tests/gate/slow_store.h"

// Events and queries that wait for the shared store while other policies come into force, or while
// their callers have left.
namespace weir::api::reload_test {
namespace {

using ::testing::HasSubstr;

constexpr char kEvents[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events:
  order: {source: {json: true, time: {field: ts, as: millis}}}
)";
constexpr char kOne[] = R"(policies:
  - {name: a, watch: order, key: user, window: 10m, share: redis, then: [{over: 5, do: flag}]}
)";
constexpr char kThree[] = R"(policies:
  - {name: a, watch: order, key: user, window: 10m, share: redis, then: [{over: 5, do: flag}]}
  - {name: b, watch: order, key: user, window: 20m, share: redis, then: [{over: 5, do: flag}]}
  - {name: c, watch: order, key: user, window: 30m, share: redis, then: [{over: 5, do: deny}]}
)";
constexpr char kOrder[] = R"({"event":"order","user":"u","ts":1700000000000})";

struct Client final : Asker {
  void resume(TimePoint) override { resumed = true; }
  bool resumed = false;
};

struct AcrossReloads : testing::Test {
  AcrossReloads() {
    api.gate.use_store(store, {7, "", false, milliseconds{60'000}, milliseconds{60'000}},
                       milliseconds{5});
  }
  void use(const std::string& yaml) {
    api.world.use(yaml);
    api.gate.use(api.world.set_);
  }
  /// Empty: it waits.
  std::string ask(Ask what) {
    std::string out;
    const auto wrong = api.lines.judge(kOrder, what, api.world.now, out, client);
    EXPECT_EQ(!wrong && out.empty(), client.waits());
    return wrong ? wrong->what : out;
  }
  void deliver() {
    store.deliver();
    api.gate.tick(api.world.now);
    EXPECT_TRUE(std::exchange(client.resumed, false));
  }

  ApiWorld api{std::string(kEvents) + kOne};
  gate::SlowStore store{api.world.now};
  Client client;
};

TEST_F(AcrossReloads, AQueryIsAnsweredByThePoliciesInForce) {
  const std::weak_ptr<const policies::PolicySet> old = api.world.set_;
  ASSERT_EQ(ask(Ask::query), "");
  use(std::string(kEvents) + kThree);
  deliver();
  ASSERT_EQ(ask(Ask::query), "") << "asked again";
  deliver();
  const std::string answer = ask(Ask::query);
  for (const char* policy : {"\"a\"", "\"b\"", "\"c\""}) EXPECT_THAT(answer, HasSubstr(policy));
  EXPECT_TRUE(old.expired());
  EXPECT_FALSE(api.gate.has_waiters());
}

TEST_F(AcrossReloads, AnEventThatIsNoneAnyMoreLeavesNothing) {
  use(std::string(kEvents) + kThree);
  const std::weak_ptr<const policies::PolicySet> old = api.world.set_;
  ASSERT_EQ(ask(Ask::events), "");
  use("events: {other: {source: {json: true, time: {field: ts, as: millis}}}}\n"
      "redis: {url: 'redis://127.0.0.1:6379', secret: s}\n"
      "policies: [{name: x, watch: other, window: 1m, then: [{over: 1, do: flag}]}]\n");
  deliver();
  EXPECT_THAT(ask(Ask::events), HasSubstr("order"));
  EXPECT_FALSE(client.waits());
  EXPECT_FALSE(api.gate.has_waiters());
  api.gate.tick(api.world.now);
  ASSERT_FALSE(store.asked.empty()) << "what it counted is taken back";
  store.deliver();
  EXPECT_TRUE(old.expired());
}

TEST_F(AcrossReloads, AnAskerThatHasLeftIsNotWaitedFor) {
  ASSERT_EQ(ask(Ask::events), "");
  api.lines.give_up(client, api.world.now);
  store.deliver();
  api.gate.tick(api.world.now);
  EXPECT_FALSE(client.resumed);
  EXPECT_FALSE(api.gate.has_waiters());

  ASSERT_EQ(ask(Ask::events), "");
  deliver();
  api.lines.give_up(client, api.world.now);  // resumed, and left before its turn
  EXPECT_FALSE(api.gate.has_waiters());
}

}  // namespace
}  // namespace weir::api::reload_test
