// What `share: {redis: {sync: ...}}` costs and lets through: a fleet of replicas with weir's own
// exchange, store and windows, in simulated time. The same seed gives the same numbers, on any
// machine. `weir_fleet_simulation --help`; bench/README.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "bench/zipf.h"
#include "gate/exchange.h"
#include "gate/gate.h"
#include "store/lists/list_sync.h"
#include "store/memory_store.h"

namespace {

using namespace weir;

struct Scenario {
  std::size_t replicas = 10;
  std::size_t shards = 1;
  std::size_t keys = 10'000;
  double skew = 1.1;    // Zipf's exponent
  double rate = 1'000;  // events a second, each replica
  std::int64_t limit = 600;
  std::int64_t window_ms = 10'000;
  std::int64_t sync_ms = 200;
  std::int64_t way_ms = 1;  // to the store, and back
  std::int64_t seconds = 30;
  std::int64_t swing_ms = 0;  // so long half of the replicas get all events, then the other half
  std::uint64_t seed = 1;
};

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

struct Replica {
  Replica(const Scenario& s, store::SharedStore& store, const TimePoint& now,
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
  gate::Exchange exchange;
  limiter::SyncedCounter counter;
};

struct Outcome {
  std::uint64_t events = 0, admitted = 0, beyond = 0, early = 0, operations = 0, busiest_shard = 0;
  double worst = 0;  // of all keys and windows: admitted / limit
};

Outcome simulate(const Scenario& s) {
  std::mt19937_64 random(s.seed);
  const bench::Zipf keys(s.keys, s.skew);
  std::uniform_real_distribution<> uniform(0, 1);
  limiter::CounterSpec spec;
  spec.window = limiter::Window::ring;
  spec.length = milliseconds{s.window_ms};
  TimePoint now = from_ms(1'700'000'000'000);
  const TimePoint end = now + std::chrono::seconds{s.seconds};
  store::MemoryStore store({std::uint64_t{64} << 20, s.keys}, [&now] { return now; });
  std::vector<std::uint64_t> shards(s.shards);
  std::vector<std::unique_ptr<Replica>> fleet;
  for (std::size_t i = 0; i < s.replicas; ++i) {
    fleet.push_back(std::make_unique<Replica>(s, store, now, shards, spec, 100 + i));
  }
  Outcome out;
  // What one process would have counted: by it, not by the window, an event is refused too early.
  limiter::Bank truth({std::uint64_t{64} << 20, s.keys});
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
        const std::size_t k = keys.draw(uniform(random));
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

void report(const Scenario& s, const Outcome& o) {
  const auto seconds = static_cast<double>(s.seconds);
  std::printf(
      "| %4lld | %3zu | %2zu | %2lld | %6zu | %.1f | %9.0f | %8.0f | %8.0f | %6.3f | %5.2f | %6.3f "
      "| %6.3f |\n",
      static_cast<long long>(s.sync_ms), s.replicas, s.shards, static_cast<long long>(s.way_ms),
      s.keys, s.skew, static_cast<double>(o.events) / seconds,
      static_cast<double>(o.operations) / seconds, static_cast<double>(o.busiest_shard) / seconds,
      static_cast<double>(o.operations) / static_cast<double>(o.events),
      100 * std::max(o.worst - 1, 0.0),
      100 * static_cast<double>(o.beyond) / static_cast<double>(o.admitted),
      100 * static_cast<double>(o.early) / static_cast<double>(o.events));
}

// How long until another replica knows of an entry: it asks every so often, spread at random.
void list_lag(const Scenario& s) {
  using store::ListSync;
  std::mt19937_64 random(s.seed);
  for (const auto& [name, poll] :
       {std::pair{"busy", ListSync::kPollBusy}, {"idle", ListSync::kPollIdle}}) {
    std::vector<double> lags;
    for (int i = 0; i < 100'000; ++i) {
      const double gap = static_cast<double>(poll.count()) *
                         std::uniform_real_distribution<>(0.875, 1.125)(random);
      lags.push_back(std::uniform_real_distribution<>(0, gap)(random) +
                     3.0 * static_cast<double>(s.way_ms));
    }
    std::sort(lags.begin(), lags.end());
    std::printf("| %s | %.0f | %.0f | %.0f | %.1f |\n", name, lags[lags.size() / 2],
                lags[lags.size() / 100 * 99], lags.back(),
                static_cast<double>(s.replicas) * 1000 / static_cast<double>(poll.count()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Scenario s;
  bool sweep = false;
  CLI::App app(
      "Counts that replicas exchange, in simulated time: load of Redis and what passes beyond the "
      "limit.");
  app.add_option("--replicas", s.replicas)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--shards", s.shards, "masters of the Cluster")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  app.add_option("--keys", s.keys)->check(CLI::Range(1, 10'000'000))->capture_default_str();
  app.add_option("--skew", s.skew, "Zipf's exponent")
      ->check(CLI::Range(0.0, 5.0))
      ->capture_default_str();
  app.add_option("--rate", s.rate, "events a second and replica")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--limit", s.limit)->check(CLI::Range(1, 1'000'000'000))->capture_default_str();
  app.add_option("--window", s.window_ms, "ms")
      ->check(CLI::Range(100, 86'400'000))
      ->capture_default_str();
  app.add_option("--sync", s.sync_ms, "ms")->check(CLI::Range(10, 10'000))->capture_default_str();
  app.add_option("--way", s.way_ms, "ms to the store, and back")
      ->check(CLI::Range(0, 1'000))
      ->capture_default_str();
  app.add_option("--seconds", s.seconds)->check(CLI::Range(1, 3'600))->capture_default_str();
  app.add_option("--swing", s.swing_ms, "ms for which half of the replicas get all events")
      ->check(CLI::Range(0, 3'600'000))
      ->capture_default_str();
  app.add_option("--seed", s.seed)->capture_default_str();
  app.add_flag("--sweep", sweep, "vary interval, replicas, shards and skew, one at a time");
  CLI11_PARSE(app, argc, argv);

  std::printf(
      "limit %lld in %lld ms, %.0f events/s and replica, %lld ms to the store, %lld s, seed "
      "%llu\n\n",
      static_cast<long long>(s.limit), static_cast<long long>(s.window_ms), s.rate,
      static_cast<long long>(s.way_ms), static_cast<long long>(s.seconds),
      static_cast<unsigned long long>(s.seed));
  std::puts(
      "| sync ms | replicas | shards | way ms | keys | skew | events/s | operations/s | of the "
      "busiest "
      "shard | operations an "
      "event | worst window over its limit, % | events beyond a limit, % | events refused early, % "
      "|");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  std::vector<Scenario> scenarios{s};
  const auto vary = [&](auto member, auto... values) {
    for (const auto value : {values...}) {
      Scenario other = s;
      other.*member = static_cast<std::remove_reference_t<decltype(other.*member)>>(value);
      scenarios.push_back(other);
    }
  };
  if (sweep) {
    vary(&Scenario::sync_ms, 50, 500, 1000, 5000);
    vary(&Scenario::replicas, 2, 50);
    vary(&Scenario::shards, 3, 12);
    vary(&Scenario::skew, 0.0, 0.8, 1.5);
    vary(&Scenario::way_ms, 10, 50);
  }
  for (const Scenario& each : scenarios) report(each, simulate(each));
  std::puts(
      "\nAn entry of a shared list, ms until another replica knows it; polls of all replicas a "
      "second, each list:\n");
  std::puts("| list | p50 | p99 | worst | polls/s |\n|---|---|---|---|---|");
  list_lag(s);
}
