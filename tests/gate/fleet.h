#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gate/count_exchange.h"
#include "gate/gate.h"
#include "store/memory_store.h"

/// Replicas that exchange their counts through one store, in a time of their own.
namespace weir::gate {
using limiter::Window;

/// One store for all replicas. Each has a line to it that takes its time, loses replies, or is cut.
class Line final : public store::SharedStore {
 public:
  Line(store::SharedStore& store, const TimePoint& now) : store_(store), now_(now) {}

  bool submit(store::Batch& batch, TimePoint deadline) override {
    ++submitted;
    operations += batch.ops.size();
    for (const limiter::SharedOp& op : batch.ops) adds += op.verb == limiter::SharedVerb::add;
    if (is_cut) {
      fail(batch, limiter::SharedError::unavailable);
      return true;
    }
    under_way_.push_back({&batch, now_ + delay, deadline});
    return false;
  }
  void cancel(store::Batch&) noexcept override {}

  /// Delivers the batches that have arrived by now.
  void deliver() {
    while (!under_way_.empty() && under_way_.front().at <= now_) {
      const UnderWay trip = under_way_.front();
      under_way_.pop_front();
      store_.submit(*trip.batch, trip.deadline);
      if (loses) fail(*trip.batch, limiter::SharedError::timed_out);
      for (std::size_t i = 0; i < trip.batch->ops.size(); ++i) {
        if (trip.batch->ops[i].key == refused)
          trip.batch->replies[i].error = limiter::SharedError::refused;
      }
      trip.batch->on_replies();
    }
  }

  /// Operations that have no answer yet.
  std::size_t under_way() const {
    std::size_t out = 0;
    for (const UnderWay& trip : under_way_) out += trip.batch->ops.size();
    return out;
  }

  milliseconds delay{1};
  bool is_cut = false;  ///< nothing gets there
  bool loses = false;   ///< it gets there, and no reply comes back
  std::string refused;  ///< the key whose operations the store answers with an error
  std::size_t submitted = 0, operations = 0, adds = 0;

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
          milliseconds interval, std::uint64_t origin, std::size_t keys)
      : table(keys), line(store, now), wheel(now), exchange(line, table, shared, wheel, origin) {
    counter = limiter::SyncedCounter::of(
        std::make_shared<limiter::SharedCounter>(Hash128{1, 2}, spec), interval,
        spec.window == Window::every || spec.window == Window::every_first);
    EXPECT_TRUE(counter.open(bank, 0));
  }

  limiter::SyncedBank& synced() { return exchange.bank(); }
  void touch(const Hash128& key, TimePoint now) {
    if (!synced().touch(counter, key))
      synced().add(counter, key, "k" + std::to_string(key.lo), now);
  }
  /// True: it was admitted.
  bool charge(const Hash128& key, TimePoint now, std::int64_t limit, std::int64_t amount = 1) {
    touch(key, now);
    const limiter::Ceiling ceiling{limit, false};
    limiter::Undo undo;
    return !synced().charge(counter, key, now, {amount, 0, nullptr}, &ceiling, true, &undo).refused;
  }
  limiter::Reading reading(const Hash128& key, TimePoint now) {
    touch(key, now);
    return synced().peek(counter, key, now, nullptr);
  }
  std::int64_t read(const Hash128& key, TimePoint now) { return reading(key, now).value.integer(); }

  limiter::Bank bank{{std::uint64_t{8} << 20, 10'000}};
  limiter::ListBank lists;
  HashSecret secret = HashSecret::from_bytes({1});
  policies::StatsBank stats{1};
  Shared shared{bank, lists, secret, stats};
  limiter::SyncTable table;
  Line line;
  net::Wheel wheel;
  CountExchange exchange;
  limiter::SyncedCounter counter;
};

/// Replicas, their store, and the time.
struct Fleet {
  /// `keys`: for so many each replica has room.
  Fleet(std::size_t replicas, const limiter::CounterSpec& spec, milliseconds each,
        std::size_t keys = 1'000)
      : interval(each) {
    for (std::size_t i = 0; i < replicas; ++i) {
      all.push_back(std::make_unique<Replica>(store, now, spec, each, 100 + i, keys));
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

inline limiter::CounterSpec spec_of(Window window, Metric metric = Metric::count) {
  limiter::CounterSpec spec;
  spec.window = window;
  spec.metric = metric;
  spec.length = milliseconds{window == Window::every ? 86'400'000 : 3'600'000};
  spec.keep = 10'000;
  return spec;
}

}  // namespace weir::gate
