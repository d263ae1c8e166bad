// Faults of a real server: stop, die, run out of memory, forget, refuse. Bounds are kept,
// and counting resumes within two seconds of its return.
#include <dirent.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/store/contract.h"
#include "tests/store/world.h"
#include "tests/support/origin_server.h"
#include "tests/support/redis_server.h"

namespace weir::store::faults_test {
namespace {

using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::SharedVerb;
using limiter::Window;
using test::Ask;
using test::World;
using weir::test::RedisServer;

Settings of_user(const RedisServer& redis, const std::string& name, const std::string& password) {
  Settings out = test::unix_settings(redis.path());
  out.credentials = {name, password};
  return out;
}

Settings quick(const std::string& path) {
  Settings out = test::unix_settings(path);
  out.timeout = milliseconds(50);
  out.budget = milliseconds(5);
  return out;
}

const SharedCounter& hourly() {
  static const SharedCounter counter({0xABCD, 1}, [] {
    limiter::CounterSpec spec;
    spec.window = limiter::Window::ring;
    spec.length = milliseconds(3'600'000);
    return spec;
  }());
  return counter;
}

std::uint64_t next_sequence() {
  static std::uint64_t last = 0;
  return ++last;
}

SharedReply add(World& world, SharedStore& store, const std::string& key = "k",
                milliseconds deadline = milliseconds(1'000), bool patient = false) {
  Ask ask;
  SharedPart part;
  part.counter = &hourly();
  ask.add(SharedVerb::add, {part}, key).id = {77, next_sequence()};
  ask.patient = patient;
  ask.run(world, store, deadline);
  return ask.answers[0];
}

std::int64_t value(const SharedReply& reply) { return reply.parts[0].reading.value.integer(); }

/// Adds until one is counted; how long that took.
milliseconds heals(World& world, SharedStore& store) {
  const Clock clock;
  const TimePoint begin = clock.now();
  while (add(world, store, "healed", milliseconds(30)).error != SharedError::none) {
    if (clock.now() - begin > milliseconds(20'000)) break;
    world.until([] { return false; }, milliseconds(5));
  }
  return clock.now() - begin;
}
// The promise is two seconds; a machine that builds and tests at once gets more.
constexpr milliseconds kHealed{8'000};

std::size_t descriptors() {
  std::size_t n = 0;
  DIR* const dir = ::opendir("/proc/self/fd");
  while (dir != nullptr && ::readdir(dir) != nullptr) ++n;
  if (dir != nullptr) ::closedir(dir);
  return n;
}

TEST(Faults, AStoppedServerCostsLittleAndIsPickedUpAgain) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, quick(redis.path()));
  ASSERT_LT(heals(world, *store), kHealed);
  const std::size_t before = descriptors();
  redis.pause();
  int waited = 0, at_once = 0;
  for (int i = 0; i < 60; ++i) {
    Ask ask;
    SharedPart part;
    part.counter = &hourly();
    ask.add(SharedVerb::add, {part}, "k").id = {77, next_sequence()};
    ask.list.assign(ask.all.begin(), ask.all.end());
    ask.answers.resize(1);
    ask.ops = ask.list;
    ask.replies = ask.answers;
    bool there = false;
    world.turn([&] { there = store->submit(ask, world.worker.now() + milliseconds(5)); });
    if (!there) {
      ASSERT_TRUE(world.until([&] { return ask.told > 0; }));
    }
    const SharedError error = ask.answers[0].error;
    EXPECT_TRUE(error == SharedError::timed_out || error == SharedError::unavailable ||
                error == SharedError::lost)
        << row_of(error).name;
    ++(there ? at_once : waited);
  }
  EXPECT_GT(at_once, 20) << "the breaker is open";
  EXPECT_LT(waited, 40);
  EXPECT_FALSE(store->stats().up);
  EXPECT_FALSE(store->why().empty());
  redis.resume();
  EXPECT_LT(heals(world, *store), kHealed);
  EXPECT_LE(descriptors(), before + 1);
}

TEST(Faults, AServerThatRefusesIsNoHelpAndSaysWhy) {
  RedisServer redis;
  redis.text({"ACL", "SETUSER", "weak", "on", ">pw", "~weir:*", "+ping"});
  World world;
  const auto store = test::connected(world, of_user(redis, "weak", "pw"));
  EXPECT_EQ(store->why(), "");
  EXPECT_EQ(add(world, *store).error, SharedError::denied);
  EXPECT_TRUE(store->stats().up);
  EXPECT_TRUE(store->stats().refuses);
  EXPECT_NE(store->why().find(" refuses: NOPERM"), std::string::npos) << store->why();
  const auto is_well = [&] {
    world.turn([] {});  // as one of every second looks
    return !store->stats().refuses;
  };
  EXPECT_TRUE(world.until(is_well)) << "asked for nothing more";
  EXPECT_EQ(add(world, *store).error, SharedError::denied);
  EXPECT_TRUE(store->stats().refuses);
  redis.text({"ACL", "SETUSER", "weak", "+@all"});
  EXPECT_EQ(value(add(world, *store)), 1);
  EXPECT_TRUE(world.until(is_well)) << "and says no more";
  EXPECT_EQ(store->why(), "");

  // A key of another type fails alone.
  redis.text({"DEL", redis.words({"KEYS", "*"}).front()});
  EXPECT_EQ(value(add(world, *store)), 1);
  const std::string key = redis.words({"KEYS", "*"}).front();
  redis.text({"DEL", key});
  redis.text({"SET", key, "a"});
  EXPECT_EQ(add(world, *store).error, SharedError::wrong_type);
  EXPECT_FALSE(store->stats().refuses);

  Settings cluster = test::unix_settings(redis.path());
  cluster.mode = Settings::Mode::cluster;
  RedisStore alone(world.worker, cluster, 1);
  world.turn([&] { alone.start(); });
  EXPECT_TRUE(world.until([&] { return alone.why().find("cluster support") != std::string::npos; }))
      << alone.why();
}

TEST(Faults, AServerThatRefusesForNowIsWaitedForOnlyWhereThatHelps) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  ASSERT_EQ(add(world, *store).error, SharedError::none);
  redis.text({"REPLICAOF", "127.0.0.1", "1"});
  constexpr int kRequests = 60;
  const std::uint64_t before = store->stats().resent;
  for (int i = 0; i < kRequests; ++i)
    EXPECT_EQ(add(world, *store, "k", milliseconds(60)).error, SharedError::read_only);
  EXPECT_LT(store->stats().resent - before, kRequests)
      << "attempts beside the first one: where nothing changes hardly any request waits for them";
  redis.text({"REPLICAOF", "NO", "ONE"});
  EXPECT_EQ(add(world, *store).error, SharedError::none) << "the first attempt is always made";
}

TEST(Faults, SlowAnswersShowInTheRoundTrips) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  const auto trips = [&] { return store->stats().round_trips; };
  EXPECT_EQ(trips().total_us, 0U);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(value(add(world, *store)), i + 1);
  const RoundTrips before = trips();
  EXPECT_EQ(std::accumulate(before.calls.begin(), before.calls.end(), std::uint64_t{0}), 5U);
  EXPECT_GT(before.total_us, 0U);

  redis.pause();
  EXPECT_EQ(add(world, *store, "k", milliseconds(60)).error, SharedError::timed_out);
  redis.resume();
  ASSERT_EQ(value(add(world, *store)), 7) << "the late answer has come by now";
  const RoundTrips after = trips();
  EXPECT_GE(after.total_us, before.total_us + 50'000);
  const auto above = [](const RoundTrips& of) {
    constexpr auto k25ms = std::find(RoundTrips::kUpTo.begin(), RoundTrips::kUpTo.end(), 25'000);
    return std::accumulate(of.calls.begin() + (k25ms + 1 - RoundTrips::kUpTo.begin()),
                           of.calls.end(), std::uint64_t{0});
  };
  EXPECT_GE(above(after), above(before) + 1);
  EXPECT_EQ(std::accumulate(after.calls.begin(), after.calls.end(), std::uint64_t{0}), 7U);
}

TEST(Faults, AKilledServerIsPickedUpWhenItComesAgain) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  ASSERT_EQ(value(add(world, *store)), 1);
  for (int round = 0; round < 3; ++round) {
    redis.kill();
    for (int i = 0; i < 20; ++i) {
      EXPECT_NE(add(world, *store, "k", milliseconds(5)).error, SharedError::none);
    }
    redis.start();
    EXPECT_LT(heals(world, *store), kHealed);
    EXPECT_EQ(value(add(world, *store, "fresh")), 1) << "its data are gone";
  }
}

TEST(Faults, StartsWithoutAServerAndSettlementsWaitForIt) {
  RedisServer redis;
  redis.kill();
  World world;
  auto store = std::make_unique<RedisStore>(world.worker, quick(redis.path()), 1);
  world.turn([&] { store->start(); });
  EXPECT_EQ(add(world, *store).error, SharedError::unavailable);
  Ask patient;
  SharedPart part;
  part.counter = &hourly();
  patient.add(SharedVerb::add, {part}, "patient").id = {77, next_sequence()};
  patient.patient = true;
  patient.list.assign(patient.all.begin(), patient.all.end());
  patient.answers.resize(1);
  patient.ops = patient.list;
  patient.replies = patient.answers;
  world.turn(
      [&] { EXPECT_FALSE(store->submit(patient, world.worker.now() + milliseconds(20'000))); });
  redis.start();
  ASSERT_TRUE(world.until([&] { return patient.told > 0; }));
  EXPECT_EQ(patient.answers[0].error, SharedError::none);
  EXPECT_EQ(value(patient.answers[0]), 1);
}

TEST(Faults, EachHasItsErrorAndPasses) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  ASSERT_EQ(value(add(world, *store)), 1);

  EXPECT_EQ(redis.text({"SCRIPT", "FLUSH"}), "+OK");
  EXPECT_EQ(value(add(world, *store)), 2) << "SCRIPT FLUSH is not seen";

  redis.text({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(add(world, *store).error, SharedError::out_of_memory);
  redis.text({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(value(add(world, *store)), 3) << "what OOM refused was not counted";

  redis.text({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(add(world, *store).error, SharedError::read_only) << "asked a few times";
  redis.text({"CONFIG", "SET", "replica-serve-stale-data", "no"});
  EXPECT_EQ(add(world, *store).error, SharedError::cluster_down) << "MASTERDOWN";
  redis.text({"REPLICAOF", "NO", "ONE"});
  EXPECT_EQ(value(add(world, *store)), 4);

  EXPECT_EQ(redis.text({"FLUSHALL"}), "+OK");
  EXPECT_EQ(value(add(world, *store)), 1) << "counting goes on";

  redis.text({"SET", "weir:" + hourly().name + ":{odd}", "short"});
  EXPECT_NE(add(world, *store, "odd").error, SharedError::none);
  redis.text({"DEL", "weir:" + hourly().name + ":{odd}"});
  redis.integer({"LPUSH", "weir:" + hourly().name + ":{odd}", "x"});
  EXPECT_EQ(add(world, *store, "odd").error, SharedError::wrong_type);
  EXPECT_EQ(value(add(world, *store)), 2) << "other keys are undisturbed";
}

TEST(Faults, ItIsUpOnceTheServerHasTheScripts) {
  RedisServer redis;
  World world;
  const auto first = test::connected(world, test::unix_settings(redis.path()));
  for (std::size_t i = 0; i < kScripts; ++i) {
    const Script& one = script(static_cast<ScriptIndex>(i));
    EXPECT_EQ(redis.integer({"SCRIPT", "EXISTS", std::string(one.sha1)}), 1) << one.name;
  }
  EXPECT_EQ(value(add(world, *first)), 1);
  EXPECT_EQ(first->stats().calls, 1U) << "never NOSCRIPT";
  // And where they may not be loaded, the calls bring them.
  redis.text({"SCRIPT", "FLUSH"});
  redis.text({"ACL", "SETUSER", "default", "-script"});
  const auto second = test::connected(world, test::unix_settings(redis.path()));
  EXPECT_EQ(value(add(world, *second)), 2);
  EXPECT_EQ(second->stats().calls, 2U) << "one for NOSCRIPT, one with the text";
}

TEST(Faults, OneOperationsErrorIsNoOthersInTheSameCall) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  redis.integer({"LPUSH", "weir:" + hourly().name + ":{odd}", "x"});
  Ask ask;
  SharedPart part;
  part.counter = &hourly();
  for (const char* key : {"a", "odd", "b"}) {
    ask.add(SharedVerb::add, {part}, key).id = {77, next_sequence()};
  }
  ask.run(world, *store);
  EXPECT_EQ(store->stats().calls, 1U);
  EXPECT_EQ(value(ask.answers[0]), 1);
  EXPECT_EQ(ask.answers[1].error, SharedError::wrong_type);
  EXPECT_EQ(value(ask.answers[2]), 1);
}

TEST(Faults, AWrongPasswordIsSaidAndANewOneTaken) {
  RedisServer redis({"--requirepass", "right"});
  World world;
  Settings settings = quick(redis.path());
  settings.credentials.password = "wrong";
  RedisStore store(world.worker, settings, 1);
  world.turn([&] { store.start(); });
  ASSERT_TRUE(world.until([&] { return store.why().find("WRONGPASS") != std::string::npos; }))
      << store.why();
  EXPECT_EQ(add(world, store).error, SharedError::unavailable);
  store.set_credentials({"default", "right"}, {});
  EXPECT_LT(heals(world, store), kHealed);
}

TEST(Faults, ForbiddenCommandsAreSaidToBeDenied) {
  RedisServer redis({"--rename-command", "EVALSHA", ""});
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  EXPECT_EQ(add(world, *store).error, SharedError::denied);
  RedisServer inside({"--rename-command", "HINCRBY", ""});
  World other;
  const auto second = test::connected(other, test::unix_settings(inside.path()));
  EXPECT_EQ(add(other, *second).error, SharedError::denied) << "what the scripts call";
}

/// An event of every kind, and its reservation where it has outcomes; alone and twice in a call.
void add_of_every_kind(World& world, SharedStore& store, std::uint64_t salt) {
  std::deque<SharedCounter> counters;
  Ask ask;
  const limiter::Datum datum{limiter::Datum::Type::number, false, Number{7}, {}};
  for (const limiter::Kind& kind : limiter::kinds()) {
    for (const bool outcome : {false, true}) {
      if (outcome && kind.window == Window::none) continue;
      limiter::CounterSpec spec;
      spec.metric = kind.metric;
      spec.window = kind.window;
      spec.real = kind.real;
      if (kind.near) spec.radius = 1'000;
      spec.length = milliseconds(60'000);
      if (spec.window == Window::events) spec.events = 3;
      if (spec.window == Window::calendar) spec.zone = TimeZone::find("Europe/Berlin");
      if (spec.window == Window::leaky) spec.capacity = 5, spec.drain = milliseconds(1'000);
      spec.outcome = outcome;
      counters.emplace_back(Hash128{salt, counters.size()}, spec);
      for (int k = 0; k < 2; ++k) {
        SharedPart part;
        part.counter = &counters.back();
        SharedOp& op = ask.add(outcome ? SharedVerb::reserve : SharedVerb::add, {part},
                               "k" + std::to_string(counters.size()));
        op.id = {77, next_sequence()};
        op.event = {1, 9, &datum};
        op.lifetime = milliseconds(60'000);
      }
    }
  }
  ask.run(world, store);
}

/// Without a time to live a key would stay forever, and each caller leaves one.
TEST(Faults, WhatAForbiddenCommandCutsShortLeavesNothingForEver) {
  int denied = 0;
  for (const std::string command : {"none", "PEXPIRE", "HGETALL", "GETRANGE", "ZREMRANGEBYSCORE"}) {
    RedisServer redis;
    redis.words(
        {"ACL", "SETUSER", "weir", "on", ">pass", "~weir:*", "+@all", "-@dangerous", "+info"});
    if (command != "none") redis.words({"ACL", "SETUSER", "weir", "-" + command});
    RedisServer renamed({"--rename-command", command == "none" ? "FLUSHALL" : command, ""});
    for (RedisServer* const server : {&redis, &renamed}) {
      World world;
      const auto store =
          test::connected(world, server == &redis ? of_user(redis, "weir", "pass")
                                                  : test::unix_settings(server->path()));
      for (std::uint64_t salt = 1; salt <= 2; ++salt) add_of_every_kind(world, *store, salt);
      const std::vector<std::string> keys = server->words({"KEYS", "*"});
      EXPECT_TRUE(command != "none" || keys.size() > 40) << keys.size();
      for (const std::string& key : keys) {
        EXPECT_NE(server->integer({"PTTL", key}), -1)
            << key << " (" << server->text({"TYPE", key}) << ") without " << command;
      }
      denied += store->stats().errors[static_cast<std::size_t>(SharedError::denied)] != 0;
    }
  }
  EXPECT_EQ(denied, 8) << "each is wanted by some kind";
}

/// Existing keys with a time to live are not deleted.
TEST(Faults, AForbiddenCommandDeletesNothingThatHasATimeToLive) {
  RedisServer redis;
  redis.words({"ACL", "SETUSER", "weir", "on", ">pass", "~weir:*", "+@all"});
  World world;
  const auto store = test::connected(world, of_user(redis, "weir", "pass"));
  EXPECT_EQ(value(add(world, *store)), 1);
  redis.words({"ACL", "SETUSER", "weir", "-hincrby"});
  EXPECT_EQ(add(world, *store).error, SharedError::denied);
  redis.words({"ACL", "SETUSER", "weir", "+hincrby"});
  EXPECT_EQ(value(add(world, *store)), 2);
}

TEST(Faults, AUserOfTheAclMayCountAndNothingElse) {
  RedisServer redis;
  // The rights that docs/redis.md lists.
  redis.words({"ACL",     "SETUSER",        "weir",         "on",       ">pass",
               "~weir:*", "-@all",          "+evalsha",     "+eval",    "+ping",
               "+select", "+script|exists", "+script|load", "+time",    "+@string",
               "+@hash",  "+@sortedset",    "+del",         "+pexpire", "+pttl"});
  World world;
  Settings settings = of_user(redis, "weir", "pass");
  settings.database = 3;
  const auto store = test::connected(world, settings);
  EXPECT_EQ(value(add(world, *store)), 1);
  EXPECT_EQ(redis.text({"GET", "weir:" + hourly().name + ":{k}"}), "$-1") << "another database";
  test::whole_contract(world, *store, 12);
}

}  // namespace
}  // namespace weir::store::faults_test
