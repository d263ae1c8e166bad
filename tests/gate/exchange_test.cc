#include "gate/exchange.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "gate/gate.h"
#include "store/memory_store.h"

namespace weir::gate {
namespace {

using limiter::Metric;
using limiter::Window;

/// One store for all replicas. Each has a line to it that takes its time, loses replies, or is cut.
class Line final : public store::SharedStore {
 public:
  Line(store::SharedStore& store, const TimePoint& now) : store_(store), now_(now) {}

  bool submit(store::Batch& batch, TimePoint deadline) override {
    ++submitted;
    operations += batch.ops.size();
    if (is_cut) {
      fail(batch, limiter::SharedError::unavailable);
      return true;
    }
    under_way_.push_back({&batch, now_ + delay, deadline});
    return false;
  }
  void cancel(store::Batch&) noexcept override {}

  /// What has arrived by now.
  void deliver() {
    while (!under_way_.empty() && under_way_.front().at <= now_) {
      const UnderWay trip = under_way_.front();
      under_way_.pop_front();
      store_.submit(*trip.batch, trip.deadline);
      if (loses) fail(*trip.batch, limiter::SharedError::timed_out);
      trip.batch->on_replies();
    }
  }

  milliseconds delay{1};
  bool is_cut = false;  ///< nothing gets there
  bool loses = false;   ///< it gets there, and no reply comes back
  std::size_t submitted = 0, operations = 0;

 private:
  struct UnderWay {
    store::Batch* batch;
    TimePoint at, deadline;
  };
  static void fail(store::Batch& batch, limiter::SharedError error) {
    for (limiter::SharedReply& reply : batch.replies) {
      reply = {};
      reply.error = error;
    }
  }
  store::SharedStore& store_;
  const TimePoint& now_;
  std::deque<UnderWay> under_way_;
};

struct Replica {
  Replica(store::SharedStore& store, const TimePoint& now, const limiter::CounterSpec& spec,
          milliseconds interval, std::uint64_t origin)
      : line(store, now), wheel(now), exchange(line, table, shared, wheel, origin) {
    counter.id = *bank.open({1, 2}, spec);
    counter.shared = std::make_shared<limiter::SharedCounter>(Hash128{1, 2}, spec);
    counter.interval = interval;
    counter.wall_clock = spec.window == Window::every;
  }

  limiter::SyncedBank& synced() { return exchange.bank(); }
  void touch(const Hash128& key, TimePoint now) {
    if (!synced().touch(key, counter.id))
      synced().add(key, counter, "k" + std::to_string(key.lo), now);
  }
  /// True: it was admitted.
  bool charge(const Hash128& key, TimePoint now, std::int64_t limit, std::int64_t amount = 1) {
    touch(key, now);
    const limiter::Ceiling ceiling{limit, false};
    limiter::Undo undo;
    return !synced()
                .charge(counter.id, key, now, {amount, 0, nullptr}, &ceiling, true, &undo)
                .refused;
  }
  std::int64_t read(const Hash128& key, TimePoint now) {
    touch(key, now);
    return synced().peek(counter.id, key, now, nullptr).value.integer();
  }

  limiter::Bank bank{{std::uint64_t{8} << 20, 10'000}};
  limiter::ListBank lists;
  HashSecret secret = HashSecret::from_bytes({1});
  policies::StatsBank stats{1};
  Shared shared{bank, lists, secret, stats};
  limiter::SyncTable table{1'000};
  Line line;
  net::Wheel wheel;
  Exchange exchange;
  limiter::SyncedCounter counter;
};

/// Replicas, their store, and the time.
struct Fleet {
  Fleet(std::size_t replicas, const limiter::CounterSpec& spec, milliseconds each)
      : interval(each) {
    for (std::size_t i = 0; i < replicas; ++i) {
      all.push_back(std::make_unique<Replica>(store, now, spec, each, 100 + i));
    }
  }
  void step(milliseconds by) {
    now += by;
    for (const auto& replica : all) {
      replica->line.deliver();
      replica->exchange.run(now);
    }
  }
  /// Until every count has got everywhere: all read, and exchange what they were told.
  void settle(const std::vector<Hash128>& keys) {
    for (int round = 0; round < 4; ++round) {
      for (const auto& replica : all) {
        for (const Hash128& key : keys) replica->touch(key, now);
      }
      for (milliseconds gone{0}; gone < 2 * interval; gone += milliseconds{5})
        step(milliseconds{5});
    }
  }
  Replica& operator[](std::size_t i) { return *all[i]; }

  TimePoint now = from_ms(1'700'000'000'000);
  milliseconds interval;
  store::MemoryStore store{{std::uint64_t{16} << 20, 10'000}, [this] { return now; }};
  std::vector<std::unique_ptr<Replica>> all;
};

limiter::CounterSpec spec_of(Window window, Metric metric = Metric::count) {
  limiter::CounterSpec spec;
  spec.window = window;
  spec.metric = metric;
  spec.length = milliseconds{window == Window::every ? 86'400'000 : 3'600'000};
  spec.keep = 10'000;
  return spec;
}

constexpr milliseconds kInterval{200};

TEST(Exchange, TellsEachReplicaWhatTheOthersHaveCounted) {
  Fleet fleet(3, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fleet[0].charge(key, fleet.now, 10));
  EXPECT_TRUE(fleet[1].charge(key, fleet.now, 10));
  EXPECT_EQ(fleet[0].read(key, fleet.now), 4) << "nobody has told anybody yet";
  fleet.settle({key});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(fleet[i].read(key, fleet.now), 5) << "replica " << i;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(fleet[2].charge(key, fleet.now, 10)) << i;
  EXPECT_FALSE(fleet[2].charge(key, fleet.now, 10));
  EXPECT_EQ(fleet[2].read(key, fleet.now), 10);
  fleet.settle({key});
  EXPECT_FALSE(fleet[0].charge(key, fleet.now, 10));
}

TEST(Exchange, AResetHoldsEverywhere) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  for (int i = 0; i < 4; ++i) fleet[0].charge(key, fleet.now, 10);
  for (int i = 0; i < 3; ++i) fleet[1].charge(key, fleet.now, 10);
  fleet.settle({key});
  ASSERT_EQ(fleet[1].read(key, fleet.now), 7);
  fleet[0].synced().reset(fleet[0].counter.id, key, fleet.now);
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0) << "here at once";
  fleet.settle({key});
  EXPECT_EQ(fleet[1].read(key, fleet.now), 0);
  fleet[1].charge(key, fleet.now, 10);
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 1);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 1);
}

TEST(Exchange, WhatWasCountedDuringAnOutageIsMergedAfterIt) {
  Fleet fleet(2, spec_of(Window::ring), kInterval);
  const Hash128 key{7, 7};
  fleet[0].line.is_cut = true;
  for (int i = 0; i < 50; ++i) {
    fleet[0].charge(key, fleet.now, 1'000);
    fleet[1].charge(key, fleet.now, 1'000);
    fleet.step(milliseconds{20});
  }
  EXPECT_EQ(fleet[0].read(key, fleet.now), 50);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 50);
  fleet[0].line.is_cut = false;
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 100);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 100);
}

TEST(Exchange, APushWithoutAnAnswerCountsOnce) {
  Fleet fleet(2, spec_of(Window::ring), kInterval);
  const Hash128 key{7, 7};
  fleet[0].line.loses = true;
  for (int i = 0; i < 20; ++i) {
    fleet[0].charge(key, fleet.now, 1'000);
    fleet.step(milliseconds{50});
  }
  fleet[0].line.loses = false;
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 20);
  EXPECT_EQ(fleet[1].read(key, fleet.now), 20);
}

TEST(Exchange, WhatALaterPolicyTookBackIsNobodysCount) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  const Hash128 key{7, 7};
  limiter::Undo undo;
  fleet[0].touch(key, fleet.now);
  fleet[0].synced().charge(fleet[0].counter.id, key, fleet.now, {5, 0, nullptr}, nullptr, true,
                           &undo);
  fleet.settle({key});
  ASSERT_EQ(fleet[1].read(key, fleet.now), 5) << "it was sent";
  fleet[0].synced().uncharge(fleet[0].counter.id, key, undo);
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0);
  fleet.settle({key});
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0);
}

TEST(Exchange, TheOthersPartEndsWithTheirWindow) {
  limiter::CounterSpec spec = spec_of(Window::every);
  spec.length = milliseconds{60'000};
  Fleet fleet(2, spec, kInterval);
  const Hash128 key{7, 7};
  fleet.now = from_ms(to_ms(fleet.now) / 60'000 * 60'000 + 59'000);
  for (int i = 0; i < 5; ++i) fleet[0].charge(key, fleet.now, 100);
  fleet.settle({key});  // 1.6 s: into the next window
  EXPECT_EQ(fleet[1].read(key, fleet.now), 0);
  EXPECT_EQ(fleet[0].read(key, fleet.now), 0);
}

TEST(Exchange, AKeyNearItsLimitIsNotLeftToWait) {
  Fleet fleet(2, spec_of(Window::log), milliseconds{10'000});
  const Hash128 key{7, 7};
  for (int i = 0; i < 9; ++i) fleet[0].charge(key, fleet.now, 10);
  fleet.step(milliseconds{1});
  EXPECT_EQ(fleet[0].line.operations, 1u) << "at the end of the turn";
  fleet[1].charge(key, fleet.now, 10);
  fleet.step(milliseconds{1});
  fleet.step(milliseconds{5});
  EXPECT_EQ(fleet[1].line.operations, 0u) << "as far as it knows, it is far from its limit";
}

TEST(Exchange, AnIdleReplicaAsksForNothing) {
  Fleet fleet(2, spec_of(Window::log), kInterval);
  fleet[0].charge({7, 7}, fleet.now, 100);
  fleet.settle({});
  const std::size_t sent = fleet[0].line.operations;
  EXPECT_EQ(sent, 1u);
  for (int i = 0; i < 100; ++i) fleet.step(milliseconds{100});
  EXPECT_EQ(fleet[0].line.operations, sent);
  EXPECT_EQ(fleet[1].line.operations, 0u);
  EXPECT_EQ(fleet[0].exchange.stats().queued, 0u);
}

TEST(Exchange, AStoreThatIsAwayIsTriedOnceAnInterval) {
  Fleet fleet(1, spec_of(Window::log), kInterval);
  fleet[0].line.is_cut = true;
  for (std::uint64_t k = 0; k < 600; ++k) fleet[0].charge({k, k}, fleet.now, 100);
  for (int i = 0; i < 50; ++i) fleet.step(milliseconds{20});  // five intervals
  EXPECT_LE(fleet[0].line.submitted, 5u);
  fleet[0].line.is_cut = false;
  fleet.settle({});
  EXPECT_EQ(fleet[0].exchange.stats().queued, 0u) << "and nothing was forgotten meanwhile";
  EXPECT_GE(fleet[0].line.operations, 600u);
}

/// Random events at random replicas, over slow lines that are cut and lose replies: what is
/// admitted stays within the bound, and when all is quiet everybody knows exactly what was counted.
TEST(Exchange, RandomFleetsKeepTheBoundAndAgreeInTheEnd) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    constexpr Window kWindows[] = {Window::log, Window::ring, Window::every};
    const limiter::CounterSpec spec =
        spec_of(kWindows[below(3)], below(2) == 0 ? Metric::count : Metric::sum);
    const auto replicas = static_cast<std::size_t>(1 + below(4));
    const milliseconds interval{20 + below(400)};
    const std::int64_t limit = 20 + below(300);
    Fleet fleet(replicas, spec, interval);
    const Hash128 key{static_cast<std::uint64_t>(round), 3};
    milliseconds slowest{0};
    for (std::size_t i = 0; i < replicas; ++i) {
      fleet[i].line.delay = milliseconds{1 + below(30)};
      slowest = std::max(slowest, fleet[i].line.delay);
    }
    const bool faults = below(2) == 0;
    std::vector<std::deque<std::pair<TimePoint, std::int64_t>>> recent(replicas);
    std::vector<std::int64_t> most(replicas), in_interval(replicas);
    std::int64_t admitted = 0;
    for (int i = 0; i < 1'500; ++i) {
      const auto r = static_cast<std::size_t>(below(replicas));
      const std::int64_t amount = spec.metric == Metric::sum ? 1 + below(3) : 1;
      if (fleet[r].charge(key, fleet.now, limit, amount)) {
        admitted += amount;
        recent[r].push_back({fleet.now, amount});
        in_interval[r] += amount;
      }
      // What one replica admits between two of its exchanges: the interval, the way there and back,
      // and the turn that took the answer in.
      const TimePoint begin = fleet.now - interval - 2 * slowest - milliseconds{30};
      while (!recent[r].empty() && recent[r].front().first < begin) {
        in_interval[r] -= recent[r].front().second;
        recent[r].pop_front();
      }
      most[r] = std::max(most[r], in_interval[r]);
      if (below(3) == 0) fleet.step(milliseconds{below(12)});
      if (faults && below(40) == 0) fleet[r].line.loses = below(2) == 0;
      if (faults && below(60) == 0) fleet[r].line.is_cut = below(3) == 0;
    }
    std::int64_t bound = limit;
    for (std::size_t i = 0; i < replicas; ++i) {
      fleet[i].line.is_cut = fleet[i].line.loses = false;
      bound += most[i];
    }
    if (!faults) {
      EXPECT_LE(admitted, bound) << "round " << round << ", limit " << limit;
    }
    EXPECT_GE(admitted, limit - 2) << "round " << round << ": nobody is refused too early";
    fleet.settle({key});
    for (std::size_t i = 0; i < replicas; ++i) {
      EXPECT_EQ(fleet[i].read(key, fleet.now), admitted) << "round " << round << ", replica " << i;
    }
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace weir::gate
