#include "policies/set/text_keys.h"

#include <gtest/gtest.h>

#include "policies/judge/immediate_outbox.h"
#include "policies/set/sharing.h"
#include "tests/policies/world.h"

// Keys that people name are those that events have.
namespace weir::policies::text_keys_test {
namespace {

constexpr char kMasked[] = R"(
redis: {url: "redis://127.0.0.1:6379", secret: s}
events: {order: {source: {csv: [ip, user, ts], time: {field: ts, as: seconds}}}}
policies:
  - {name: p, watch: order, key: [ip/24, user], missing: same, window: 1h, share: SHARE, then: [{over: 2, do: flag}]}
)";

std::string with_share(std::string_view share) {
  std::string yaml = kMasked;
  yaml.replace(yaml.find("SHARE"), 5, share);
  return yaml;
}

/// The `ip` of a record is an address, in any spelling.
struct TextKeys : testing::Test {
  const Verdict& order(World& world, Value ip, Value user) {
    const PolicySet& set = world.driver.set();
    const Preset values[] = {{*set.slots.find("column order.ip"), ip},
                             {*set.slots.find("column order.user"), user}};
    const EventIndex event = set.policies.front().bindings.front().event;
    return world.start(Record{event, world.now, values}, {});
  }
  const Value ann = Value::text("ann");
};

TEST_F(TextKeys, NameTheNetworkThatAnAddressIsIn) {
  World world(with_share("local"));
  const PolicySet& set = world.driver.set();
  const Policy& policy = set.policies.front();
  const Counter& counter = set.counters[policy.counters.front()];
  for (const char* ip : {"203.0.113.7", "203.0.113.8", "::ffff:203.0.113.9"})
    order(world, Value::text(ip), ann);
  const auto value = [&](std::vector<std::string_view> parts) {
    const auto key = counter_key(set, policy, counter, parts, world.secret);
    if (!key) return std::int64_t{-1};
    return world.bank.peek(counter.id, *key, world.instant().moment(counter)).value.integer();
  };
  EXPECT_EQ(value({"203.0.113.200", "ann"}), 3);
  EXPECT_EQ(value({"203.0.113.0", "ann"}), 3);
  EXPECT_EQ(value({"203.0.114.7", "ann"}), 0);
  order(world, Value::text("unknown"), ann);
  EXPECT_EQ(value({"unknown", "ann"}), -1) << "what is not an address is not a key";
}

TEST_F(TextKeys, LeavingAPartOutLeavesTheMaskOn) {
  World world(with_share("local"));
  EXPECT_EQ(order(world, Value::text("203.0.113.7"), Value::null()).effect, Action::none);
  EXPECT_EQ(order(world, Value::text("203.0.113.8"), Value::null()).effect, Action::none);
  EXPECT_EQ(order(world, Value::text("203.0.113.9"), Value::null()).effect, Action::flag);
}

TEST_F(TextKeys, AreSpelledInTheStoreAsEventsSpellThem) {
  for (const bool readable : {true, false}) {
    World world(with_share("redis"));
    const Sharing sharing{7, "", readable, milliseconds{60'000}, milliseconds{60'000}};
    std::string spelled;
    ImmediateOutbox outbox([&](StoreOps& operations, TimePoint) {
      ASSERT_EQ(operations.size(), 1u);
      spelled = operations[0].key;
      operations.replies()[0] = {};
    });
    world.driver.use_store(sharing, outbox);
    const Policy& policy = world.driver.set().policies.front();
    const auto asked = [&](const char* ip) {
      spelled.clear();
      order(world, Value::text(ip), ann);
      return spelled;
    };
    const std::string key = asked("203.0.113.7");
    EXPECT_FALSE(key.empty());
    EXPECT_EQ(asked("203.0.113.8"), key) << readable;
    EXPECT_EQ(asked("::ffff:203.0.113.9"), key);
    EXPECT_NE(asked("203.0.114.7"), key);
    const std::string_view parts[] = {"203.0.113.200", "ann"};
    EXPECT_EQ(shared_key(policy, parts, world.secret, sharing, {}).value(), key);
    EXPECT_EQ(key.find("203.0.113.0") != std::string::npos, readable) << key;
  }
}

}  // namespace
}  // namespace weir::policies::text_keys_test
