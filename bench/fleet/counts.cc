#include "bench/fleet/counts.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "bench/zipf.h"
#include "gate/count_exchange.h"
#include "gate/gate.h"
#include "store/memory_store.h"

namespace weir::bench {
namespace {

// Carries batches to the one store in its time, and counts what each shard gets.
class Line final : public store::SharedStore {
 public:
  Line(store::SharedStore& store, const TimePoint& now, milliseconds way,
       std::vector<std::uint64_t>& shards)
      : store_(store), now_(now), way_(way), shards_(shards) {}

  bool submit(store::Batch& batch, TimePoint deadline) override {
    for (const limiter::SharedOp& op : batch.ops)
      ++shards_[std::hash<std::string_view>{}(op.key) % shards_.size()];
    under_way_.push_back({&batch, now_ + way_, deadline, false});
    return false;
  }
  void cancel(store::Batch&) noexcept override {}
  void deliver() {
    while (!under_way_.empty() && under_way_.front().at <= now_) {
      Trip trip = under_way_.front();
      under_way_.pop_front();
      if (!trip.back) {
        store_.submit(*trip.batch, trip.deadline);
        trip.back = true;
        trip.at = now_ + way_;
        under_way_.push_back(trip);
      } else {
        trip.batch->on_replies();
      }
    }
  }

 private:
  struct Trip {
    store::Batch* batch;
    TimePoint at, deadline;
    bool back;
  };
  store::SharedStore& store_;
  const TimePoint& now_;
  milliseconds way_;
  std::vector<std::uint64_t>& shards_;
  std::deque<Trip> under_way_;
};

struct CountingReplica {
  CountingReplica(const CountsScenario& s, store::SharedStore& store, const TimePoint& now,
                  std::vector<std::uint64_t>& shards, const limiter::CounterSpec& spec,
                  std::uint64_t origin)
      : bank({std::uint64_t{16} << 20, s.keys}),
        table(2 * s.keys),
        line(store, now, milliseconds{s.way_ms}, shards),
        wheel(now),
        exchange(line, table, shared, wheel, origin) {
    counter.id = *bank.open({1, 2}, spec);
    counter.shared = std::make_shared<limiter::SharedCounter>(Hash128{1, 2}, spec);
    counter.interval = milliseconds{s.sync_ms};
  }

  limiter::Bank bank;
  limiter::ListBank lists;
  HashSecret secret = HashSecret::from_bytes({1});
  policies::StatsBank stats{1};
  gate::Shared shared{bank, lists, secret, stats};
  limiter::SyncTable table;
  Line line;
  net::Wheel wheel;
  gate::CountExchange exchange;
  limiter::SyncedCounter counter;
};

}  // namespace

CountsOutcome simulate(const CountsScenario& s) {
  std::mt19937_64 random(s.seed);
  const Zipf keys(s.keys, s.skew);
  std::uniform_real_distribution<> uniform(0, 1);
  limiter::CounterSpec spec;
  spec.window = limiter::Window::ring;
  spec.length = milliseconds{s.window_ms};
  const std::size_t together = s.together == 0 ? s.replicas : s.together;
  const std::size_t groups = (s.replicas + together - 1) / together;
  const limiter::BankLimits room{(std::uint64_t{64} << 20) + std::uint64_t{256} * s.keys * groups,
                                 s.keys * groups};
  TimePoint now = from_ms(1'700'000'000'000);
  const TimePoint end = now + std::chrono::seconds{s.seconds};
  store::MemoryStore store(room, [&now] { return now; });
  std::vector<std::uint64_t> shards(s.shards);
  std::vector<std::unique_ptr<CountingReplica>> fleet;
  for (std::size_t i = 0; i < s.replicas; ++i) {
    fleet.push_back(std::make_unique<CountingReplica>(s, store, now, shards, spec, 100 + i));
  }
  CountsOutcome out;
  // The counts of a single process: it defines which event is refused too early, the window does
  // not.
  limiter::Bank truth(room);
  const limiter::CounterId all = *truth.open({1, 2}, spec);
  std::unordered_map<std::size_t, std::deque<TimePoint>> passed;  // by key: in the trailing window
  std::poisson_distribution<int> arrivals(s.rate / 1000);
  const limiter::Ceiling ceiling{s.limit, false};
  for (; now < end; now += milliseconds{1}) {
    for (std::size_t r = 0; r < fleet.size(); ++r) {
      const auto& replica = fleet[r];
      replica->line.deliver();
      int n = arrivals(random);
      if (s.swing_ms != 0) {
        const bool on = static_cast<std::size_t>(to_ms(now) / s.swing_ms % 2) == r % 2;
        n = on ? n + arrivals(random) : 0;
      }
      for (; n > 0; --n) {
        const std::size_t k = keys.draw(uniform(random)) * groups + r / together;
        const Hash128 key{k * 0x9e3779b97f4a7c15, k + 1};
        limiter::SyncedBank& bank = replica->exchange.bank();
        if (!bank.touch(replica->counter, key))
          bank.add(replica->counter, key, "k" + std::to_string(k), now);
        limiter::Undo undo;
        ++out.events;
        if (bank.charge(replica->counter, key, now, {}, &ceiling, true, &undo).refused) {
          const limiter::Amount one;
          out.early += ceiling.broken_by(truth.peek(all, key, now, &one).value) ? 0 : 1;
          continue;
        }
        truth.charge(all, key, now, {}, nullptr, nullptr);
        ++out.admitted;
        auto& recent = passed[k];
        while (!recent.empty() && recent.front() <= now - spec.length) recent.pop_front();
        recent.push_back(now);
        const auto count = static_cast<std::int64_t>(recent.size());
        out.beyond += count > s.limit ? 1 : 0;
        out.worst = std::max(out.worst, static_cast<double>(count) / static_cast<double>(s.limit));
      }
      replica->exchange.run(now);
    }
  }
  for (const std::uint64_t n : shards) {
    out.operations += n;
    out.busiest_shard = std::max(out.busiest_shard, n);
  }
  return out;
}

}  // namespace weir::bench
