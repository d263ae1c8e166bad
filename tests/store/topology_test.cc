// A Cluster of three masters and a trio of Sentinels, all real: the contract, and what happens when
// slots move and masters die.
#include "tests/store/contract.h"
#include "tests/store/list_replica.h"
#include "tests/store/pattern_contract.h"
#include "tests/support/free_port.h"
#include "tests/support/redis_server.h"

namespace weir::store::topology_test {
namespace {

using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::SharedVerb;
using test::Ask;
using test::World;
using weir::test::RedisServer;

const SharedCounter& counter(bool outcome) {
  const auto made = [](std::uint64_t id, bool two_keys) {
    limiter::CounterSpec spec;
    spec.window = limiter::Window::log;
    spec.length = milliseconds(3'600'000);
    spec.outcome = two_keys;  // which must lie in one slot
    return SharedCounter({id, 1}, spec);
  };
  static const SharedCounter with = made(0xC105, true), without = made(0xC106, false);
  return outcome ? with : without;
}

/// For what servers agree on among themselves: they take seconds, on a shared machine many.
constexpr milliseconds kPatience(60'000);

SharedReply add(World& world, SharedStore& store, const std::string& key,
                milliseconds deadline = milliseconds(5'000), bool outcome = false) {
  static std::uint64_t sequence = 0;
  Ask ask;
  SharedPart part;
  part.counter = &counter(outcome);
  ask.add(SharedVerb::add, {part}, key).id = {5, ++sequence};
  ask.run(world, store, deadline);
  return ask.answers[0];
}
std::int64_t value(const SharedReply& reply) { return reply.parts[0].reading.value.integer(); }

bool says(RedisServer& server, const std::vector<std::string>& command, const std::string& what) {
  for (const std::string& word : server.words(command)) {
    if (word.find(what) != std::string::npos) return true;
  }
  return false;
}

class Cluster {
 public:
  static constexpr unsigned kNodes = 3;
  explicit Cluster(World& world) {
    for (unsigned i = 0; i < kNodes; ++i) {
      ports.push_back(weir::test::free_port());
      bus.push_back(weir::test::free_port());
      nodes.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
          "--port", std::to_string(ports[i]), "--cluster-enabled", "yes", "--cluster-port",
          std::to_string(bus[i]), "--cluster-node-timeout", "20000", "--bind", "127.0.0.1"}));
      nodes[i]->text({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
      nodes[i]->text(
          {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first(i)), std::to_string(first(i + 1) - 1)});
      ids.push_back(nodes[i]->text({"CLUSTER", "MYID"}));
    }
    for (unsigned i = 1; i < kNodes; ++i) {
      nodes[0]->text(
          {"CLUSTER", "MEET", "127.0.0.1", std::to_string(ports[i]), std::to_string(bus[i])});
    }
    EXPECT_TRUE(world.until(
        [&] {
          for (auto& node : nodes) {
            if (!says(*node, {"CLUSTER", "INFO"}, "cluster_state:ok") ||
                !says(*node, {"CLUSTER", "INFO"}, "cluster_slots_ok:16384")) {
              return false;
            }
          }
          return true;
        },
        kPatience));
  }
  /// Until now a machine that stalled for seconds was not taken for a dead node.
  void notice_deaths_soon() {
    for (auto& node : nodes) node->text({"CONFIG", "SET", "cluster-node-timeout", "2000"});
  }
  static unsigned first(unsigned node) { return kSlots * node / kNodes; }
  Settings settings() const {
    Settings out;
    out.mode = Settings::Mode::cluster;
    out.timeout = milliseconds(10'000);
    out.budget = milliseconds(5'000);
    for (const int port : ports) {
      out.endpoints.push_back({"127.0.0.1", static_cast<std::uint16_t>(port), ""});
    }
    return out;
  }

  std::vector<int> ports, bus;
  std::vector<std::string> ids;
  std::vector<std::unique_ptr<RedisServer>> nodes;
};

TEST(SharedStores, AClusterOfThreeMasters) {
  World world;
  Cluster cluster(world);
  Settings settings = cluster.settings();
  settings.endpoints.resize(1);  // one seed is enough to know all
  auto store = test::connected(world, settings);
  EXPECT_EQ(store->stats().nodes, 3U);
  test::whole_contract(world, *store, 15);
  test::whole_pattern_contract(world, *store, 5);
  test::what_is_lent_comes_back_unless_it_is_seen_to(world, *store);
  test::two_leases_of_one_key_are_two(world, *store);
  ASSERT_FALSE(testing::Test::HasFatalFailure());

  // A slot without keys moves: MOVED is followed, and remembered.
  const auto move = [&](unsigned slot, unsigned to) {
    for (auto& node : cluster.nodes) {
      node->text({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", cluster.ids[to]});
    }
  };
  std::string key = "moving0";
  for (int i = 1; slot_of(key) >= Cluster::first(1); ++i) key = "moving" + std::to_string(i);
  move(slot_of(key), 2);
  const std::uint64_t before = store->stats().resent;
  EXPECT_EQ(value(add(world, *store, key, milliseconds(5'000), true)), 1);
  EXPECT_EQ(store->stats().resent, before + 1);
  EXPECT_EQ(value(add(world, *store, key, milliseconds(5'000), true)), 2);
  EXPECT_EQ(store->stats().resent, before + 1) << "the slot's new node is known";

  // A slot that is moving: a key that has left is asked for at its new node.
  std::string late = "asked0";
  for (int i = 1; slot_of(late) >= Cluster::first(1) || slot_of(late) == slot_of(key); ++i) {
    late = "asked" + std::to_string(i);
  }
  const std::string slot = std::to_string(slot_of(late));
  cluster.nodes[1]->text({"CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.ids[0]});
  cluster.nodes[0]->text({"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.ids[1]});
  EXPECT_EQ(add(world, *store, late, milliseconds(5'000), true).error, SharedError::busy)
      << "Redis answers TRYAGAIN where two keys are asked for";
  EXPECT_EQ(value(add(world, *store, late)), 1) << "ASK";
  EXPECT_EQ(value(add(world, *store, late)), 2);
  EXPECT_EQ(cluster.nodes[0]->integer({"CLUSTER", "COUNTKEYSINSLOT", slot}), 0);
  EXPECT_EQ(cluster.nodes[1]->integer({"CLUSTER", "COUNTKEYSINSLOT", slot}), 1);

  // A master dies: its keys fail, and (after the node time-out) the cluster says that it is down.
  cluster.notice_deaths_soon();
  cluster.nodes[2]->kill();
  EXPECT_NE(add(world, *store, key, milliseconds(200)).error, SharedError::none);
  EXPECT_TRUE(world.until(
      [&] {
        return add(world, *store, late, milliseconds(200)).error == SharedError::cluster_down;
      },
      kPatience));
  EXPECT_FALSE(store->stats().up);
  cluster.nodes[2]->start();  // with its nodes.conf
  EXPECT_TRUE(world.until(
      [&] {
        return add(world, *store, key, milliseconds(200)).error == SharedError::none &&
               add(world, *store, late, milliseconds(200)).error == SharedError::none;
      },
      kPatience));
}

TEST(SharedLists, MoveWithTheirSlotAndOutliveIt) {
  World world;
  Cluster cluster(world);
  test::Replica first(world, cluster.settings(), 1), second(world, cluster.settings(), 2);
  const auto seen = [&](std::uint64_t n) {
    return world.until([&] { return second.has(n); }, kPatience);
  };
  first.add(1);
  ASSERT_TRUE(seen(1)) << second.sharer->stats().why;
  std::string name;
  unsigned from = 0;
  for (unsigned i = 0; i < Cluster::kNodes; ++i) {
    for (const std::string& key : cluster.nodes[i]->words({"KEYS", "*}"})) {
      name = key;
      from = i;
    }
  }
  ASSERT_FALSE(name.empty());
  // The slot goes to a node that has nothing of it: MOVED, and the replicas fill it.
  for (const std::string& key : cluster.nodes[from]->words({"KEYS", "*"})) {
    cluster.nodes[from]->text({"DEL", key});
  }
  const unsigned to = (from + 1) % Cluster::kNodes;
  for (auto& node : cluster.nodes) {
    node->text({"CLUSTER", "SETSLOT", std::to_string(slot_of(name)), "NODE", cluster.ids[to]});
  }
  first.add(2);
  ASSERT_TRUE(seen(2)) << second.sharer->stats().why;
  ASSERT_TRUE(world.until([&] { return cluster.nodes[to]->integer({"HLEN", name}) == 2 + 3; }));
  // Its node dies and comes again with nothing.
  cluster.nodes[to]->kill();
  first.add(3);
  ASSERT_TRUE(world.until([&] { return !second.sharer->stats().up; }));
  EXPECT_TRUE(second.has(1) && second.has(2));
  cluster.nodes[to]->start();
  ASSERT_TRUE(seen(3)) << second.sharer->stats().why;
}

TEST(SharedStores, ATrioOfSentinels) {
  World world;
  std::vector<int> ports;
  std::vector<std::unique_ptr<RedisServer>> servers, sentinels;
  for (int i = 0; i < 2; ++i) {
    ports.push_back(weir::test::free_port());
    servers.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
        "--port", std::to_string(ports.back()), "--bind", "127.0.0.1", "--repl-diskless-sync-delay",
        "0", "--repl-ping-replica-period", "1"}));
  }
  servers[1]->text({"REPLICAOF", "127.0.0.1", std::to_string(ports[0])});
  Settings settings;
  settings.mode = Settings::Mode::sentinel;
  settings.master = "counters";
  settings.timeout = milliseconds(500);
  settings.budget = milliseconds(200);
  for (int i = 0; i < 3; ++i) {
    const int port = weir::test::free_port();
    sentinels.push_back(std::make_unique<RedisServer>(std::vector<std::string>{
        "--sentinel", "--port", std::to_string(port), "--bind", "127.0.0.1"}));
    RedisServer& sentinel = *sentinels.back();
    sentinel.text({"SENTINEL", "MONITOR", "counters", "127.0.0.1", std::to_string(ports[0]), "2"});
    sentinel.text({"SENTINEL", "SET", "counters", "down-after-milliseconds", "300"});
    sentinel.text({"SENTINEL", "SET", "counters", "failover-timeout", "2000"});
    settings.endpoints.push_back({"127.0.0.1", static_cast<std::uint16_t>(port), ""});
  }
  sentinels[0]->kill();  // the next one is asked
  const auto store = test::connected(world, settings);
  test::whole_contract(world, *store, 10);
  test::whole_pattern_contract(world, *store, 5);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  ASSERT_EQ(value(add(world, *store, "kept")), 1);
  test::Replica first(world, settings, 1), second(world, settings, 2);
  first.add(1);
  ASSERT_TRUE(world.until([&] { return second.has(1); })) << second.sharer->stats().why;

  sentinels[0]->start();
  sentinels[0]->text(
      {"SENTINEL", "MONITOR", "counters", "127.0.0.1", std::to_string(ports[0]), "2"});
  sentinels[0]->text({"SENTINEL", "SET", "counters", "down-after-milliseconds", "300"});
  ASSERT_TRUE(world.until(
      [&] {  // they know each other, and the replica, which has everything
        for (auto& sentinel : sentinels) {
          const auto words = sentinel->words({"SENTINEL", "MASTER", "counters"});
          const auto is = [&](const std::string& name, const std::string& least) {
            const auto at = std::find(words.begin(), words.end(), name);
            return at != words.end() && *(at + 1) >= least;
          };
          if (!is("num-slaves", "1") || !is("num-other-sentinels", "2")) return false;
        }
        return servers[0]->integer({"WAIT", "1", "1000"}) == 1;
      },
      milliseconds(30'000)));
  servers[0]->kill();
  ASSERT_TRUE(world.until(
      [&] { return add(world, *store, "after", milliseconds(50)).error == SharedError::none; },
      milliseconds(30'000)))
      << store->why();
  EXPECT_EQ(value(add(world, *store, "kept")), 2) << "the replica has what the master had";
  EXPECT_EQ(servers[1]->words({"ROLE"})[0], "master");
  first.add(2);
  test::Replica late(world, settings, 3);
  ASSERT_TRUE(world.until([&] { return second.has(2) && late.has(1) && late.has(2); }))
      << second.sharer->stats().why;
}

}  // namespace
}  // namespace weir::store::topology_test
