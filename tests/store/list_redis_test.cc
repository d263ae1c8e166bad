// list.lua against its model, and replicas that share lists through real servers which restart,
// forget, stop, and move.
#include <gtest/gtest.h>

#include <random>

#include "store/resp/resp_writer.h"
#include "tests/store/list_model.h"
#include "tests/store/list_replica.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"
#include "tests/support/seed.h"

namespace weir::store::list_redis_test {
namespace {

using test::list_key;
using test::ListModel;
using test::Replica;
using test::World;
using weir::test::RedisServer;

// The promise is one second; a machine that builds and tests at once gets more.
constexpr milliseconds kSoon{5'000};

class Shared : public testing::Test {
 protected:
  Replica& replica() {
    return *replicas.emplace_back(
        std::make_unique<Replica>(world, settings(), replicas.size() + 1));
  }
  virtual Settings settings() { return test::unix_settings(redis->path()); }
  testing::AssertionResult all(std::uint64_t n, bool listed, milliseconds limit = kSoon) {
    const bool good = world.until(
        [&] {
          return std::all_of(replicas.begin(), replicas.end(),
                             [&](const auto& each) { return each->has(n) == listed; });
        },
        limit);
    return good ? testing::AssertionSuccess()
                : testing::AssertionFailure() << replicas[0]->sharer->stats().why;
  }

  World world;
  std::unique_ptr<RedisServer> redis = std::make_unique<RedisServer>();
  std::vector<std::unique_ptr<Replica>> replicas;
};

TEST_F(Shared, EntriesReasonsAndRemovalsAreEverywhereWithinASecond) {
  Replica& first = replica();
  Replica& second = replica();
  replica();
  ASSERT_TRUE(world.until([&] { return second.sharer->stats().up; }));
  first.add(1);
  EXPECT_TRUE(first.has(1)) << "at once where it was set";
  ASSERT_TRUE(all(1, true));
  const auto entry = second.bank.get(second.list, list_key(1), second.clock.now());
  EXPECT_EQ(entry->policy, "gold");
  EXPECT_EQ(entry->value.integer(), 7);
  second.bank.remove(second.list, list_key(1), second.clock.now());
  ASSERT_TRUE(all(1, false));
  for (const std::string& name : redis->words({"KEYS", "*"})) {
    EXPECT_TRUE(name.starts_with("weir:list:gray:{")) << name;
    EXPECT_GT(redis->integer({"PTTL", name}), 0) << name;
  }
  const Replica stranger(world, settings(), 99, "another secret");
  first.add(2);
  ASSERT_TRUE(all(2, true));
  ASSERT_TRUE(world.until([&] { return stranger.sharer->stats().up; }));
  EXPECT_FALSE(stranger.has(2)) << "its hashes mean nothing here";
}

TEST_F(Shared, TheLastChangesAreToldBeforeTheEnd) {
  Replica& first = replica();
  Replica& second = replica();
  constexpr milliseconds kHour{3'600'000};
  first.add(0, kHour);
  ASSERT_TRUE(all(0, true));
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().sum.pending == 0; }));
  const auto end = [&] {
    return second.bank.held(second.list, list_key(0), second.clock.now())->until;
  };
  const TimePoint before = end();
  bool told = false;
  // More changes than a call brings, the first of them while a call is on its way, and an
  // extension that would wait for a minute.
  world.turn([&] {
    first.add(1);
    first.sharer->use({{"gray", first.list, 10'000, {7, 7}}});  // takes a turn
    for (std::uint64_t n = 2; n < 3 * ListSync::kOpsMax; ++n) first.add(n);
    first.add(0, 3 * kHour);
    first.sharer->flush([&] { told = true; });
  });
  ASSERT_TRUE(world.until([&] { return told; }));
  world.turn([&] { first.sharer.reset(); });
  const auto all_told = [&] {
    for (std::uint64_t n = 1; n < 3 * ListSync::kOpsMax; ++n) {
      if (!second.has(n)) return false;
    }
    return end() > before + kHour;
  };
  EXPECT_TRUE(world.until(all_told, kSoon));
}

TEST_F(Shared, TheEndWaitsForNoRedisThatIsAway) {
  Replica& first = replica();
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().up; }));
  redis->kill();
  first.add(1);
  bool told = false;
  world.turn([&] { first.sharer->flush([&] { told = true; }); });
  EXPECT_TRUE(world.until([&] { return told; }, kSoon));
}

TEST_F(Shared, AListThatIsNewIsNotBehindSinceTheStart) {
  Replica& first = replica();
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().up; }));
  const TimePoint begin = world.worker.now();
  ASSERT_TRUE(world.until([&] { return world.worker.now() > begin + milliseconds{300}; }));
  const limiter::ListId other = first.bank.open("other", 10'000).value();
  milliseconds lag{-1};
  world.turn([&] {
    first.sharer->use({{"other", other, 10'000, {8, 8}}});
    lag = first.sharer->stats().lag(world.worker.now());
  });
  EXPECT_EQ(lag, milliseconds{0});
}

TEST_F(Shared, OneReplicaIsToldThatItMadeTheEntry) {
  for (int i = 0; i < 3; ++i) replica();
  ASSERT_TRUE(world.until([&] { return replicas[2]->sharer->stats().up; }));
  int heard = 0, made = 0;
  for (const auto& each : replicas) each->add(1);
  world.turn([&] {
    for (const auto& each : replicas) {
      each->sharer->ask_maker(each->list, list_key(1), world.worker.now() + kSoon, [&](bool here) {
        ++heard;
        made += here ? 1 : 0;
      });
    }
  });
  ASSERT_TRUE(world.until([&] { return heard == 3; }));
  EXPECT_EQ(made, 1);
  // Without Redis each speaks for itself, after the deadline.
  redis->kill();
  heard = made = 0;
  for (const auto& each : replicas) each->add(2);
  world.turn([&] {
    for (const auto& each : replicas) {
      each->sharer->ask_maker(each->list, list_key(2), world.worker.now() + milliseconds{100},
                              [&](bool here) {
                                ++heard;
                                made += here ? 1 : 0;
                              });
    }
  });
  ASSERT_TRUE(world.until([&] { return heard == 3; }));
  EXPECT_EQ(made, 3);
}

TEST_F(Shared, ARestartedServerIsFilledFromTheReplicas) {
  Replica& first = replica();
  Replica& second = replica();
  for (std::uint64_t n = 0; n < 500; ++n) first.add(n);
  ASSERT_TRUE(all(499, true));
  redis->kill();
  ASSERT_TRUE(world.until([&] { return !second.sharer->stats().up; }));
  EXPECT_FALSE(second.sharer->stats().why.empty());
  second.add(1'000);  // meanwhile
  first.bank.remove(first.list, list_key(3), first.clock.now());
  redis->start();
  Replica& late = replica();
  ASSERT_TRUE(all(1'000, true));
  ASSERT_TRUE(all(3, false));
  ASSERT_TRUE(world.until([&] { return late.bank.size(late.list) == 500; }));
}

TEST_F(Shared, AFlushedServerIsFilledFromTheReplicas) {
  Replica& first = replica();
  replica();
  for (std::uint64_t n = 0; n < 300; ++n) first.add(n);
  ASSERT_TRUE(all(299, true));
  redis->text({"FLUSHALL"});
  Replica& late = replica();
  ASSERT_TRUE(world.until([&] { return late.bank.size(late.list) == 300; }));
  // Redis may also evict a part of it.
  for (const std::string& name : redis->words({"KEYS", "*:order"})) redis->text({"DEL", name});
  Replica& later = replica();
  ASSERT_TRUE(world.until([&] { return later.bank.size(later.list) == 300; }));
  redis->text({"SCRIPT", "FLUSH"});
  first.add(7'000);
  ASSERT_TRUE(all(7'000, true));
}

TEST_F(Shared, AStoppedServerDelaysNobody) {
  Replica& first = replica();
  Replica& second = replica();
  first.add(1);
  ASSERT_TRUE(all(1, true));
  redis->pause();
  first.add(2);
  EXPECT_TRUE(first.has(2));
  ASSERT_TRUE(world.until([&] { return !first.sharer->stats().up; }));
  EXPECT_FALSE(second.has(2));
  redis->resume();
  ASSERT_TRUE(all(2, true));
}

TEST_F(Shared, ErrorsOfTheServerAreSaidAndOvercome) {
  redis = std::make_unique<RedisServer>(std::vector<std::string>{"--maxmemory", "100mb"});
  Replica& first = replica();
  replica();
  first.add(1);
  ASSERT_TRUE(all(1, true));
  redis->text({"CONFIG", "SET", "maxmemory", "1"});
  first.add(2);
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().why.starts_with("out_of_memory"); }))
      << first.sharer->stats().why;
  redis->text({"CONFIG", "SET", "maxmemory", "0"});
  ASSERT_TRUE(all(2, true));
  const std::string name = redis->words({"KEYS", "*}"}).at(0);
  redis->text({"DEL", name});
  redis->text({"SET", name, "something else"});
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().why.starts_with("wrong_type"); }))
      << first.sharer->stats().why;
  redis->text({"DEL", name});
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().up; }));
}

TEST_F(Shared, AReloadTakesListsInAndOut) {
  Replica& first = replica();
  Replica& second = replica();
  first.add(1);
  ASSERT_TRUE(all(1, true));
  world.turn([&] { first.sharer->use({}); });
  first.add(2);
  world.turn([&] { first.sharer->use({{"gray", first.list, 10'000, {7, 7}}}); });
  ASSERT_TRUE(all(2, true)) << "what was listed meanwhile is told";
  EXPECT_EQ(second.sharer->stats().lists, 1U);
}

TEST_F(Shared, AReloadKeepsWhatRedisHasNotHeard) {
  Replica& first = replica();
  Replica& second = replica();
  first.add(1);
  ASSERT_TRUE(all(1, true));
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().sum.pending == 0; }));
  redis->text({"REPLICAOF", "127.0.0.1", "1"});  // refuses to write
  world.turn([&] { first.bank.remove(first.list, list_key(1), first.clock.now()); });
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().sum.pending != 0; }));
  world.turn([&] { first.sharer->use({{"gray", first.list, 20'000, {7, 7}}}); });
  EXPECT_EQ(first.sharer->stats().sum.pending, 1U);
  redis->text({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(all(1, false));
  EXPECT_FALSE(first.has(1));
  second.add(2);
  EXPECT_TRUE(all(2, true));
}

/// Every entry is removed again: the list is empty, and the next one has room.
TEST_F(Shared, RemovedEntriesLeaveRoomForOthers) {
  Replica& first = replica();
  Replica& second = replica();
  constexpr std::size_t kMax = 10, kRoom = 2 * kMax + 1'024;
  for (const auto& each : replicas)
    world.turn([&] { each->sharer->use({{"gray", each->list, kMax, {7, 7}}}); });
  for (std::uint64_t n = 0; n < kRoom + 500; ++n) {
    first.add(n);
    if (n % 50 == 0) {
      ASSERT_TRUE(world.until([&] { return first.sharer->stats().sum.pending == 0; }));
    }
    first.bank.remove(first.list, list_key(n), first.clock.now());
  }
  ASSERT_TRUE(world.until([&] { return first.sharer->stats().sum.pending == 0; }));
  first.add(1'000'000);
  ASSERT_TRUE(all(1'000'000, true));
  EXPECT_EQ(first.sharer->stats().sum.refused, 0U);
  const std::string name = redis->words({"KEYS", "*}"}).at(0);
  EXPECT_LE(redis->integer({"HLEN", name}) - 3, static_cast<std::int64_t>(kRoom));
  EXPECT_GT(redis->integer({"PTTL", name + ":tombstones"}), 0);
  second.bank.remove(second.list, list_key(1'000'000), second.clock.now());
  EXPECT_TRUE(all(1'000'000, false));
  // The latest removal holds for a replica that comes back with the entry.
  Replica& third = replica();
  third.add(1'000'000, milliseconds{3'600'000}, third.clock.now() - milliseconds{60'000});
  EXPECT_TRUE(third.has(1'000'000));
  EXPECT_TRUE(all(1'000'000, false));
}

/// A listing whose end has passed when it arrives is not written, so no tombstone gives way to it.
TEST_F(Shared, NothingGivesWayToWhatIsNotWritten) {
  const auto store = test::connected(world, test::unix_settings(redis->path()));
  struct Call final : ScriptCall {
    void on_answer(const Reply& reply) override {
      heard = read_answer(reply, 1, answer);
      EXPECT_TRUE(heard);
    }
    void on_failure(limiter::SharedError error, std::string_view text) override {
      ADD_FAILURE() << limiter::row_of(error).name << ": " << text;
      heard = true;
    }
    ListAnswer answer;
    bool heard = false;
  };
  const auto names = list_keys("gray", {1, 2});
  const auto make = [&](const ListOp& op) {
    ListQuestion question;
    question.origin = ListOrigin::of(1);
    question.fresh.fill('e');
    question.changes_most = 8;
    question.keys_most = 1;
    Call call;
    call.script = &list_script();
    call.keys = names.size();
    call.count = call.keys + 2;
    for (const std::string& name : names) append_bulk(call.words, name);
    append_question(call.words, question);
    append_op(call.words, op);
    world.turn([&] { ASSERT_TRUE(store->call(call)); });
    EXPECT_TRUE(world.until([&] { return call.heard; }));
    return call.answer.results.at(0);
  };
  const std::int64_t now = to_ms(Clock::wall());
  ListOp removal, over;
  removal.key = list_key(1);
  removal.removed = now;
  EXPECT_TRUE(make(removal).changed);
  over.key = list_key(2);
  over.listed = now - 60'000;
  over.until = over.needed = now - 30'000;
  EXPECT_FALSE(make(over).changed);
  EXPECT_FALSE(make(over).full);
  EXPECT_EQ(redis->integer({"HLEN", names[0]}) - 3, 1) << "the tombstone is there";
  over.until = over.needed = now + 60'000;
  EXPECT_TRUE(make(over).changed) << "and gives way to what is written";
  EXPECT_EQ(redis->integer({"HLEN", names[0]}) - 3, 1);
}

/// Times as milliseconds from now.
std::string spelt(const ListRecord& r, std::int64_t now) {
  const auto from_now = [&](const auto& time) { return std::to_string(time - now) + " "; };
  return "removed " + from_now(r.removed) + "listed " + from_now(r.listed) + "until " +
         from_now(r.until) + "needed " + from_now(r.needed) + "entry " + std::string(r.entry);
}

TEST(ListScript, DoesWhatItsModelDoes) {
  RedisServer redis;
  ListModel model;
  const std::uint64_t seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  const auto names = list_keys("gray", {1, 2});
  redis.text({"SCRIPT", "LOAD", std::string(list_script().text)});
  struct Caller {
    ListOrigin origin;
    ListEpoch epoch_redis{}, epoch_model{};
    std::int64_t known_redis = 0, known_model = 0;
  };
  std::vector<Caller> callers(3);
  for (std::size_t i = 0; i < callers.size(); ++i) callers[i].origin = ListOrigin::of(i + 1);
  // A call to the real script; the same words and time go to the model.
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  struct Call final : ScriptCall {
    void on_answer(const Reply& reply) override {
      answer = reply;
      heard = true;
    }
    void on_failure(limiter::SharedError error, std::string_view text) override {
      ADD_FAILURE() << limiter::row_of(error).name << ": " << text;
      heard = true;
    }
    Reply answer;
    bool heard = false;
  };
  std::string key_words;
  for (const std::string& name : names) append_bulk(key_words, name);
  std::int64_t now = to_ms(Clock::wall());
  std::size_t most = 0;  // records; the last steps may follow a FLUSHALL
  for (int step = 0; step < 3'000; ++step) {
    if (pick(500) == 0) {
      redis.text({"FLUSHALL"});
      model.data = {};
    }
    Caller& caller = callers[pick(callers.size())];
    std::vector<ListOp> ops(pick(4));
    for (ListOp& op : ops) {
      op.key = list_key(pick(12));
      const auto near = [&] { return now - 3'000 + static_cast<std::int64_t>(pick(6'000)); };
      if (pick(3) == 0) op.removed = near();
      if (pick(4) != 0) {
        op.listed = near();
        op.until = now + 600'000 - static_cast<std::int64_t>(pick(20)) * 60'000;
        op.needed = op.until + static_cast<std::int64_t>(pick(2)) * 900'000;
        op.entry = "entry" + std::to_string(pick(100));
      }
    }
    ListQuestion question;
    question.origin = caller.origin;
    for (char& c : question.fresh) c = static_cast<char>('a' + pick(26));  // as in life: each once
    question.changes_most = 1 + pick(8);
    question.keys_most = 10;
    std::string arguments;
    for (const ListOp& op : ops) append_op(arguments, op);
    Call call;
    call.script = &list_script();
    call.keys = names.size();
    call.count = call.keys + 1 + static_cast<unsigned>(ops.size());
    question.epoch = caller.epoch_redis;
    question.known = caller.known_redis;
    call.words = key_words;
    append_question(call.words, question);
    call.words += arguments;
    world.turn([&] { ASSERT_TRUE(store->call(call)); });
    ASSERT_TRUE(world.until([&] { return call.heard; }));
    ListAnswer real, said;
    ASSERT_TRUE(read_answer(call.answer, ops.size(), real)) << step;
    now = real.now;
    question.epoch = caller.epoch_model;
    question.known = caller.known_model;
    std::string words;
    append_question(words, question);
    words += arguments;
    const Reply spoken = model.call(words, static_cast<double>(now) * 1000);
    ASSERT_TRUE(read_answer(spoken, ops.size(), said));
    // Sequences are times and differ by microseconds; their order does not.
    ASSERT_EQ(real.epoch, said.epoch) << step;
    ASSERT_EQ(real.more, said.more) << step;
    const auto same = [](const ListRecord& a, const ListRecord& b) {
      return a.key == b.key && a.removed == b.removed && a.listed == b.listed &&
             a.until == b.until && std::abs(a.needed - b.needed) < 1'000 && a.maker == b.maker &&
             a.entry == b.entry;
    };
    ASSERT_EQ(real.records.size(), said.records.size()) << step;
    for (std::size_t i = 0; i < real.records.size(); ++i) {
      ASSERT_TRUE(same(real.records[i], said.records[i]))
          << step << " record " << i << ": " << spelt(real.records[i], now) << ", not "
          << spelt(said.records[i], now);
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ASSERT_EQ(real.results[i].changed, said.results[i].changed) << step << " change " << i;
      ASSERT_EQ(real.results[i].made_here, said.results[i].made_here) << step << " change " << i;
      ASSERT_EQ(real.results[i].full, said.results[i].full) << step << " change " << i;
      ASSERT_EQ(real.results[i].record.has_value(), said.results[i].record.has_value()) << step;
    }
    caller.epoch_redis = real.epoch;
    caller.epoch_model = said.epoch;
    caller.known_redis = real.known;
    caller.known_model = said.known;
    most = std::max(most, model.data.records.size());
  }
  EXPECT_GT(most, 4U);
}

}  // namespace
}  // namespace weir::store::list_redis_test
