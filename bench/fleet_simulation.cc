// Measures the cost and the accuracy of shared counters (`sync`) and shared lists: fleets of
// replicas with weir's own code, in simulated time. `weir_fleet_simulation --help`;
// bench/README.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "bench/fleet/counts.h"
#include "bench/fleet/lists.h"

namespace {

using namespace weir::bench;

// `base`, and then with one of its figures changed at a time.
template <typename Scenario>
class Sweep {
 public:
  explicit Sweep(const Scenario& base) : scenarios_{base} {}
  template <typename T>
  void vary(T Scenario::*member, std::initializer_list<std::type_identity_t<T>> values) {
    for (const T value : values) {
      scenarios_.push_back(scenarios_.front());
      scenarios_.back().*member = value;
    }
  }
  auto begin() const { return scenarios_.begin(); }
  auto end() const { return scenarios_.end(); }

 private:
  std::vector<Scenario> scenarios_;
};

void report(const CountsScenario& s, const CountsOutcome& o) {
  const auto seconds = static_cast<double>(s.seconds);
  std::printf(
      "| %4lld | %5zu | %5zu | %2zu | %2lld | %6zu | %.1f | %9.0f | %8.0f | %8.0f | %6.3f | %5.2f "
      "| %6.3f "
      "| %6.3f |\n",
      static_cast<long long>(s.sync_ms), s.replicas, s.together == 0 ? s.replicas : s.together,
      s.shards, static_cast<long long>(s.way_ms), s.keys, s.skew,
      static_cast<double>(o.events) / seconds, static_cast<double>(o.operations) / seconds,
      static_cast<double>(o.busiest_shard) / seconds,
      static_cast<double>(o.operations) / static_cast<double>(o.events),
      100 * std::max(o.worst - 1, 0.0),
      100 * static_cast<double>(o.beyond) / static_cast<double>(o.admitted),
      100 * static_cast<double>(o.early) / static_cast<double>(o.events));
}

void report(const ListsScenario& s, const ListsOutcome& o) {
  const auto seconds = static_cast<double>(s.seconds);
  std::printf("| %5zu | %6.1f | %2lld | %6.0f | %7.0f | %5.1f | %4lld | %4lld | %4lld | %llu |\n",
              s.replicas, s.listings, static_cast<long long>(s.way_ms),
              static_cast<double>(o.calls) / seconds, static_cast<double>(o.records) / seconds,
              o.busy_ms / seconds / 10, static_cast<long long>(o.p50),
              static_cast<long long>(o.p99), static_cast<long long>(o.worst),
              static_cast<unsigned long long>(o.missing));
}

}  // namespace

int main(int argc, char** argv) {
  CountsScenario s;
  double listings = 1;
  bool sweep = false;
  CLI::App app(
      "Counts that replicas exchange, and lists that they share, in simulated time: load of Redis, "
      "what passes beyond the limit, how late entries are.");
  app.add_option("--replicas", s.replicas)->check(CLI::Range(1, 10'000))->capture_default_str();
  app.add_option("--together", s.together,
                 "replicas that see the same keys, the others having their own; 0: all")
      ->check(CLI::Range(0, 10'000))
      ->capture_default_str();
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
  app.add_option("--listings", listings, "entries of a shared list that the fleet makes a second")
      ->check(CLI::Range(0.01, 1'000.0))
      ->capture_default_str();
  app.add_option("--seed", s.seed)->capture_default_str();
  app.add_flag("--sweep", sweep,
               "vary interval, replicas, shards, skew, listings and distance, one at a time");
  CLI11_PARSE(app, argc, argv);

  std::printf(
      "limit %lld in %lld ms, %.0f events/s and replica, %lld ms to the store, %lld s, seed "
      "%llu\n\n",
      static_cast<long long>(s.limit), static_cast<long long>(s.window_ms), s.rate,
      static_cast<long long>(s.way_ms), static_cast<long long>(s.seconds),
      static_cast<unsigned long long>(s.seed));
  std::puts(
      "| sync ms | replicas | together | shards | way ms | keys | skew | events/s | operations/s | "
      "of the "
      "busiest "
      "shard | operations an "
      "event | worst window over its limit, % | events beyond a limit, % | events refused early, % "
      "|");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  Sweep counts(s);
  if (sweep) {
    counts.vary(&CountsScenario::sync_ms, {50, 500, 1000, 5000});
    counts.vary(&CountsScenario::replicas, {2, 50});
    counts.vary(&CountsScenario::shards, {3, 12});
    counts.vary(&CountsScenario::skew, {0.0, 0.8, 1.5});
    counts.vary(&CountsScenario::way_ms, {10, 50});
  }
  for (const CountsScenario& each : counts) report(each, simulate(each));

  ListsScenario l;
  l.replicas = s.replicas;
  l.listings = listings;
  l.way_ms = s.way_ms;
  l.seconds = s.seconds;
  l.seed = s.seed;
  std::puts(
      "\nAn entry of a shared list, ms until another replica knows it, over all entries and all "
      "others\n");
  std::puts(
      "| replicas | listings/s | way ms | calls/s | entries told/s | of a core, % | p50 | p99 | "
      "worst | never |\n|---|---|---|---|---|---|---|---|---|---|");
  Sweep lists(l);
  if (sweep) {
    lists.vary(&ListsScenario::replicas, {2, 100, 1'000, 10'000});
    lists.vary(&ListsScenario::listings, {0.05, 20.0});
    lists.vary(&ListsScenario::way_ms, {10, 50});
  }
  for (const ListsScenario& each : lists) report(each, simulate(each));
}
