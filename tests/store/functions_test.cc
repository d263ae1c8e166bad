// `functions: true`: the scripts as one library of Redis Functions. The answers are the same;
// the difference is how a server gets them, and what happens if it cannot.
#include <gtest/gtest.h>

#include <cstdlib>

#include "store/redis/scripts.h"
#include "tests/store/contract.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"

namespace weir::store::functions_test {
namespace {

using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::SharedVerb;
using test::Ask;
using test::World;
using weir::test::RedisServer;

Settings with_functions(const std::string& path) {
  Settings out = test::unix_settings(path);
  out.functions = true;
  return out;
}

/// Adds one to a counter of its own; the reply.
SharedReply add(World& world, SharedStore& store) {
  static const SharedCounter counter({0xF00D, 1}, [] {
    limiter::CounterSpec spec;
    spec.window = limiter::Window::ring;
    spec.length = milliseconds(3'600'000);
    return spec;
  }());
  static std::uint64_t sequence = 0;
  Ask ask;
  SharedPart part;
  part.counter = &counter;
  ask.add(SharedVerb::add, {part}, "k").id = {78, ++sequence};
  ask.run(world, store);
  return ask.answers[0];
}

std::int64_t value(const SharedReply& reply) {
  return reply.error == SharedError::none ? reply.parts[0].reading.value.integer() : -1;
}

/// How often the server got the command from connections other than this one.
std::int64_t calls_of(RedisServer& redis, const std::string& command) {
  const std::vector<std::string> info = redis.words({"INFO", "commandstats"});
  if (info.size() != 1) return -1;
  const std::string line = "cmdstat_" + command + ":calls=";
  const std::size_t at = info[0].find(line);
  return at == std::string::npos ? 0 : std::atoll(info[0].c_str() + at + line.size());
}

TEST(Functions, DoAllThatScriptsDo) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, with_functions(redis.path()));
  test::whole_contract(world, *store, 40);
  EXPECT_GT(calls_of(redis, "fcall"), 0);
  EXPECT_EQ(calls_of(redis, "evalsha"), 0);
  EXPECT_EQ(calls_of(redis, "eval"), 0);
}

TEST(Functions, AreThereBeforeTheFirstOperationAndLoadedOnce) {
  RedisServer redis;
  World world;
  const auto first = test::connected(world, with_functions(redis.path()));
  EXPECT_EQ(value(add(world, *first)), 1);
  EXPECT_EQ(first->stats().calls, 1U);
  const auto second = test::connected(world, with_functions(redis.path()));
  EXPECT_EQ(value(add(world, *second)), 2);
  EXPECT_EQ(calls_of(redis, "function|load"), 1);
}

TEST(Functions, ComeAgainAfterTheServerHasForgottenThem) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, with_functions(redis.path()));
  EXPECT_EQ(value(add(world, *store)), 1);
  redis.text({"FUNCTION", "FLUSH", "SYNC"});
  EXPECT_EQ(value(add(world, *store)), 2) << "one call that finds none, one that brings them";
  EXPECT_EQ(store->stats().calls, 3U);
}

TEST(Functions, AreDoneWithoutWhereTheServerHasNone) {
  RedisServer old({"--rename-command", "FUNCTION", ""});  // as Redis 6 answers
  World world;
  const auto store = test::connected(world, with_functions(old.path()));
  EXPECT_EQ(value(add(world, *store)), 1);
  EXPECT_EQ(calls_of(old, "evalsha"), 2) << "a probe, and the operation";

  RedisServer strict;
  strict.text({"ACL", "SETUSER", "default", "-function"});
  World other;
  const auto denied = test::connected(other, with_functions(strict.path()));
  EXPECT_EQ(value(add(other, *denied)), 1);
  EXPECT_EQ(calls_of(strict, "evalsha"), 2);
}

TEST(Functions, HaveNamesOfTheirVersion) {
  const FunctionLibrary& library = function_library();
  EXPECT_TRUE(library.name.starts_with("weir_")) << library.name;
  const std::string_view version = library.name.substr(5);
  EXPECT_EQ(version.size(), 12U);
  EXPECT_TRUE(library.text.starts_with("#!lua name=" + std::string(library.name) + "\n"));
  for (std::size_t i = 0; i < kScripts; ++i) {
    EXPECT_TRUE(script(static_cast<ScriptIndex>(i)).function.ends_with(version));
  }
  EXPECT_TRUE(list_script().function.ends_with(version));
}

}  // namespace
}  // namespace weir::store::functions_test
