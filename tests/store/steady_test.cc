// The cost of an operation once everything has grown: no allocation, and a share of one write.
#include <array>

#include "tests/store/world.h"
#include "tests/support/allocations.h"
#include "tests/support/free_port.h"
#include "tests/support/redis_server.h"
#include "tests/support/tcp_segments.h"

namespace weir::store::steady_test {
namespace {

using limiter::Ceiling;
using limiter::CounterSpec;
using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::SharedVerb;
using limiter::Window;
using test::World;
using weir::test::RedisServer;

/// A counter of each script, with and without outcomes where that makes a difference.
const std::deque<SharedCounter>& counters() {
  static const std::deque<SharedCounter> all = [] {
    std::deque<SharedCounter> out;
    const auto add = [&](Metric metric, Window window, bool outcome = false,
                         bool exchanged = false) {
      CounterSpec spec;
      spec.metric = metric;
      spec.window = window;
      spec.length = milliseconds(3'600'000);
      spec.capacity = 1'000'000;
      spec.drain = milliseconds(1'000);
      spec.events = 5;
      spec.unit = CalendarUnit::month;
      spec.zone = TimeZone::find("UTC");
      spec.outcome = outcome;
      spec.keep = 100;
      out.emplace_back(Hash128{out.size() + 1, 0x57EAD}, spec, exchanged);
    };
    for (const bool outcome : {false, true}) {
      add(Metric::count, Window::every, outcome);
      add(Metric::sum, Window::calendar, outcome);
      add(Metric::count, Window::ring, outcome);
      add(Metric::count, Window::log, outcome);
      add(Metric::sum, Window::log, outcome);
      add(Metric::distinct, Window::log, outcome);
      add(Metric::average, Window::every, outcome);
      add(Metric::maximum, Window::events, outcome);
      add(Metric::count, Window::leaky, outcome);
    }
    add(Metric::sum, Window::ring, false, true);
    add(Metric::last, Window::log);
    add(Metric::in_flight, Window::none);
    return out;
  }();
  return all;
}

/// The operations of some requests, asked again and again: adds and reservations, then what ends
/// these and a look at the rest. Allocates nothing itself.
class Requests final : public Batch {
 public:
  Requests(World& world, RedisStore& store, int keys) : world_(world), store_(store) {
    datum_.type = limiter::Datum::Type::text;
    datum_.text = "a text that is longer than what a string keeps in itself";
    for (int key = 0; key < keys; ++key) keys_.push_back("key " + std::to_string(key));
    for (const std::string& key : keys_) {
      for (const SharedCounter& counter : counters()) {
        SharedPart& part = parts_.emplace_back();
        part.counter = &counter;
        if (counter.spec.metric == Metric::count) part.ceiling = Ceiling{Number(40), true};
        SharedOp& op = list_.emplace_back();
        op.parts = {&part, 1};
        op.key = key;
        op.event.datum = &datum_;
        op.lifetime = milliseconds(60'000);
      }
    }
    answers_.resize(list_.size());
    ops = list_;
    replies = answers_;
  }

  /// False: all replies are there already, which only an unavailable store does.
  bool submit() {
    const bool begins = round_++ % 2 == 0;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      SharedOp& op = list_[i];
      const SharedCounter& counter = *op.parts[0].counter;
      const bool flight = counter.spec.metric == Metric::in_flight;
      if (begins) {
        op.verb = counter.spec.outcome ? SharedVerb::reserve : SharedVerb::add;
        op.id = {0x57EAD, ++sequence_};
        op.event.member = sequence_;
        op.event.amount = flight ? 1 : static_cast<std::int64_t>(sequence_ % 9);
        if (counter.spec.metric == Metric::count) op.event.amount = 1;
      } else {
        op.verb = counter.spec.outcome ? SharedVerb::settle
                  : flight             ? SharedVerb::take_back
                                       : SharedVerb::read;
        op.at = answers_[i].at;
      }
    }
    return !store_.submit(*this, world_.worker.now() + milliseconds(20'000));
  }

  void on_replies() override {
    ++answered_;
    for (const SharedReply& reply : answers_) {
      if (reply.error != SharedError::none) failed_ = reply.error;
    }
    if (answered_ == warm_up_) before_ = weir::test::allocations();
    const bool done = answered_ >= rounds_ || failed_ != SharedError::none;
    if (!done && submit()) return;
    after_ = weir::test::allocations();
    world_.worker.io().stop();
  }

  /// All rounds within one run of the loop, which allocates where it is entered. Gives how often
  /// anything was allocated after the first `warm_up` of them.
  std::size_t run(int warm_up, int rounds) {
    warm_up_ = warm_up;
    rounds_ = rounds;
    const std::size_t begin = weir::test::allocations();
    world_.turn([&] { EXPECT_TRUE(submit()); });
    world_.worker.io().restart();
    world_.worker.io().run();
    EXPECT_EQ(failed_, SharedError::none) << row_of(failed_).name;
    EXPECT_EQ(answered_, rounds);
    EXPECT_GT(before_, begin) << "what grows is seen";
    return after_ - before_;
  }
  std::size_t size() const noexcept { return list_.size(); }
  int answered() const noexcept { return answered_; }

 private:
  World& world_;
  RedisStore& store_;
  limiter::Datum datum_;
  std::vector<std::string> keys_;
  std::deque<SharedPart> parts_;
  std::vector<SharedOp> list_;
  std::vector<SharedReply> answers_;
  std::uint64_t sequence_ = 0;
  int round_ = 0, answered_ = 0, warm_up_ = -1, rounds_ = 0;
  std::size_t before_ = 0, after_ = 0;
  SharedError failed_ = SharedError::none;
};

TEST(Steady, AnOperationAllocatesNothingAfterWarmUp) {
  RedisServer redis;
  World world;
  const auto store = test::connected(world, test::unix_settings(redis.path()));
  Requests requests(world, *store, 4);
  EXPECT_EQ(requests.run(60, 160), 0U);
  EXPECT_EQ(store->stats().operations, 160 * requests.size());
}

TEST(Steady, WhatATurnAsksIsOneWrite) {
  const int port = weir::test::free_port();
  RedisServer redis({"--port", std::to_string(port), "--bind", "127.0.0.1"});
  World world;
  Settings settings = test::unix_settings("");
  settings.endpoints = {{"127.0.0.1", static_cast<std::uint16_t>(port), ""}};
  const auto store = test::connected(world, settings);
  std::deque<Requests> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(world, *store, 2);
  const auto sent = [&] {
    const auto segments = weir::test::segments_sent_to(port);
    EXPECT_TRUE(segments);
    return segments.value_or(0);
  };
  for (int turns = 1; turns <= 2; ++turns) {  // of reservations, and of what ends them
    const std::uint64_t calls = store->stats().calls;
    const std::uint32_t before = sent();
    world.turn([&] {
      for (Requests& one : all) EXPECT_TRUE(one.submit());
      EXPECT_EQ(sent(), before) << "nothing before the turn ends";
    });
    EXPECT_EQ(sent(), before + 1);
    EXPECT_GE(store->stats().calls, calls + 5) << "scripts";
    EXPECT_LE(store->stats().calls, calls + 40) << "not a call an operation";
    ASSERT_TRUE(world.until([&] { return all.back().answered() == turns; }));
  }
  // Two turns send two: the measure sees them.
  const std::uint32_t before = sent();
  world.turn([&] { EXPECT_TRUE(all[0].submit()); });
  world.turn([&] { EXPECT_TRUE(all[1].submit()); });
  EXPECT_EQ(sent(), before + 2);
  ASSERT_TRUE(world.until([&] { return all[1].answered() == 3; }));
}

}  // namespace
}  // namespace weir::store::steady_test
