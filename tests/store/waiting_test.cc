// Operations that wait for a server: their deadlines, their servers, and their order.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "core/clock.h"
#include "tests/store/faulty_peer.h"
#include "tests/store/world.h"
#include "tests/support/redis_server.h"

namespace weir::store::waiting_test {
namespace {

using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedVerb;
using test::Ask;
using test::Fault;
using test::FaultyPeer;
using test::World;
using weir::test::OriginServer;
using weir::test::RedisServer;
using weir::test::Stream;

SharedCounter with_outcomes(limiter::Window window) {
  limiter::CounterSpec spec;
  spec.window = window;
  spec.length = milliseconds(3'600'000);
  spec.outcome = true;
  return SharedCounter({0xFEED, static_cast<std::uint64_t>(window)}, spec);
}

SharedOp& add(Ask& ask, SharedVerb verb, const SharedCounter& counter, std::uint64_t event) {
  SharedPart part;
  part.counter = &counter;
  SharedOp& op = ask.add(verb, {part}, "k");
  op.id = {91, event};
  op.lifetime = milliseconds(60'000);
  return op;
}

/// Submits and does not wait.
void submit(World& world, SharedStore& store, Ask& ask, milliseconds deadline) {
  ask.list.assign(ask.all.begin(), ask.all.end());
  ask.answers.resize(ask.list.size());
  ask.ops = ask.list;
  ask.replies = ask.answers;
  world.turn([&] { EXPECT_FALSE(store.submit(ask, world.worker.now() + deadline)); });
}

/// Node of a Cluster that is one only as far as a store can see. It has every slot.
class FakeNode {
 public:
  /// `answer`: the reply to calls that carry operations.
  explicit FakeNode(std::function<std::string()> answer)
      : answer_(std::move(answer)), server_([this](Stream& stream, int) { serve(stream); }) {}
  int port() const noexcept { return server_.port(); }
  void name_owner(int port) noexcept { owner_ = port; }
  /// From now on it greets new connections.
  void greet() {
    greets_ = true;
    greets_.notify_all();
  }

 private:
  void serve(Stream& stream) {
    greets_.wait(false);
    std::string command;
    while (!(command = test::next_value(stream)).empty()) {
      const std::vector<std::string> words = test::words_of(command);
      if (words[0] == "PING") stream.write("+PONG\r\n");
      if (words[0] == "SCRIPT") stream.write("-NOPERM no\r\n");
      if (words[0] == "ASKING") stream.write("+OK\r\n");
      if (words[0] == "CLUSTER") {
        stream.write("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" +
                     std::to_string(owner_) + "\r\n");
      }
      if (words[0].starts_with("EVAL")) stream.write(words[2] == "0" ? "*1\r\n:0\r\n" : answer_());
    }
  }

  std::function<std::string()> answer_;
  std::atomic<bool> greets_{false};
  std::atomic<int> owner_{0};
  OriginServer server_;
};

/// The slot is moving to a node to which there is no connection yet.
TEST(Waiting, ASettlementWaitsForTheNodeThatItsSlotMovesTo) {
  std::atomic<int> asked = 0, arrived = 0;
  FakeNode fresh([&] {
    ++arrived;
    return std::string("-NOPERM that is all it can say\r\n");
  });
  FakeNode old([&] {
    ++asked;
    return "-ASK 11 127.0.0.1:" + std::to_string(fresh.port()) + "\r\n";
  });
  old.name_owner(old.port());
  fresh.name_owner(old.port());
  old.greet();
  World world;
  Settings settings;
  settings.mode = Settings::Mode::cluster;
  settings.endpoints = {{"127.0.0.1", static_cast<std::uint16_t>(old.port()), ""}};
  settings.timeout = milliseconds(10'000);
  const auto store = test::connected(world, settings);
  const SharedCounter counter = with_outcomes(limiter::Window::ring);
  Ask ask;
  add(ask, SharedVerb::settle, counter, 1);
  ask.patient = true;
  submit(world, *store, ask, milliseconds(20'000));
  world.until([&] { return ask.told > 0; }, milliseconds(250));
  EXPECT_EQ(ask.told, 0) << row_of(ask.answers[0].error).name;
  EXPECT_LE(asked, 4) << "who has been told where to go need not ask all the time";
  fresh.greet();
  EXPECT_TRUE(world.until([&] { return ask.told > 0; }, milliseconds(20'000)));
  EXPECT_EQ(arrived, 1);
  EXPECT_EQ(ask.answers[0].error, SharedError::denied);
}

/// The server has lost the script, and is too late just then to be asked again.
TEST(Waiting, ASettlementWaitsForAServerThatHasLostTheScript) {
  RedisServer redis;
  World world;
  Settings settings = test::unix_settings(redis.path());
  settings.timeout = milliseconds(10'000);
  const auto store = test::connected(world, settings);
  const SharedCounter ring = with_outcomes(limiter::Window::ring),
                      fixed = with_outcomes(limiter::Window::every);
  const auto known = static_cast<ScriptIndex>(limiter::SharedForm::ring);
  redis.text({"SCRIPT", "FLUSH"});
  redis.text({"SCRIPT", "LOAD", std::string(script(known).text)});
  redis.pause();
  Ask late, settles;
  for (std::uint64_t i = 0; i < Breaker::kFailures; ++i) add(late, SharedVerb::reserve, ring, i);
  submit(world, *store, late, milliseconds(20));
  add(settles, SharedVerb::settle, fixed, 99);
  settles.patient = true;
  submit(world, *store, settles, milliseconds(20'000));
  ASSERT_TRUE(world.until([&] { return late.told > 0; }));
  redis.resume();
  ASSERT_TRUE(world.until([&] { return settles.told > 0; }, milliseconds(20'000)));
  EXPECT_EQ(settles.answers[0].error, SharedError::none) << row_of(settles.answers[0].error).name;
}

/// Nothing would end what a late renewal has begun again.
TEST(Waiting, ARenewalIsNotSentAgainAfterTheEndOfItsEvent) {
  RedisServer redis;
  FaultyPeer peer(redis);
  World world;
  const auto store = test::connected(world, test::unix_settings(peer.path()));
  const SharedCounter counter = with_outcomes(limiter::Window::ring);
  Ask begins, renews, ends, reads;
  add(begins, SharedVerb::reserve, counter, 1);
  begins.run(world, *store);
  add(renews, SharedVerb::reserve, counter, 1).renews = true;
  renews.patient = true;
  add(ends, SharedVerb::release, counter, 1);
  ends.patient = true;
  peer.arm_one(Fault::refused);
  submit(world, *store, renews, milliseconds(5'000));
  submit(world, *store, ends, milliseconds(5'000));
  ASSERT_TRUE(world.until([&] { return renews.told > 0 && ends.told > 0; }));
  EXPECT_EQ(renews.answers[0].error, SharedError::read_only) << "the next one makes up for it";
  EXPECT_EQ(ends.answers[0].error, SharedError::none);
  add(reads, SharedVerb::read, counter, 2);
  reads.run(world, *store);
  EXPECT_EQ(reads.answers[0].parts[0].reading.in_flight, 0U);
}

TEST(Waiting, AStoreThatHasStoppedNotifiesNobody) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  const SharedCounter counter = with_outcomes(limiter::Window::ring);
  redis.pause();
  Ask ask;
  add(ask, SharedVerb::reserve, counter, 1);
  submit(world, *store, ask, milliseconds(50));
  world.turn([&] { store->stop(); });
  world.until([&] { return ask.told != 0; }, milliseconds(150));
  EXPECT_EQ(ask.told, 0);
  store->cancel(ask);  // which is not there any more
}

}  // namespace
}  // namespace weir::store::waiting_test
