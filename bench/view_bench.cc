// Measures the cost of a view per event, and of a hop: limiter::View alone, with keys drawn as
// shoppers look at items (Zipf, exponent 0.8 over 4 M items: the Taobao file's first hour has
// 28,000 keys per 42,000 events). The goal is well under 150 ns an event, so that a replay reads
// 2 M rows/s.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/key.h"
#include "limiter/views/view.h"

namespace weir::limiter {
namespace {

const HashSecret kSecret = HashSecret::from_bytes({1});

struct Event {
  std::uint32_t key;
  std::uint32_t member;
};

/// Zipf by the inverse of the continuous distribution: near enough, and cheap.
std::vector<Event> some_events(std::size_t count, double keys, double exponent) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Event> out(count);
  const double power = 1 - exponent;
  const double most = std::pow(keys, power);
  for (Event& event : out) {
    const double rank = std::pow(1 + uniform(random) * (most - 1), 1 / power);
    event.key = static_cast<std::uint32_t>(rank) * 2'654'435'761U % 5'000'000U;
    event.member = static_cast<std::uint32_t>(random() % 1'000'000);
  }
  return out;
}

/// `per_second` events a second; hashing of the key is part of it, as in a replay.
void run(benchmark::State& state, const ViewSpec& spec, int per_second) {
  constexpr std::size_t kCount = std::size_t{1} << 22;
  static const std::vector<Event> events = some_events(kCount, 4e6, 0.8);
  const auto view = make_view(spec);
  KeyBuilder builder;
  std::int64_t windows = 0, rows = 0;
  const ViewSink sink = [&](const ViewWindow& window) {
    ++windows;
    rows += static_cast<std::int64_t>(window.rows.size());
  };
  std::size_t i = 0;
  for (auto _ : state) {
    const Event& event = events[i % kCount];
    const auto at = static_cast<std::int64_t>(i) * 1000 / per_second;
    ++i;
    char text[16];
    const std::size_t size = Number{event.key}.to_chars(text);
    builder.start();
    if (spec.grouped) builder.add_text({text, size});
    ViewEvent seen;
    seen.at = from_ms(at);
    seen.key = builder.hash(kSecret);
    seen.parts = builder.bytes();
    if (spec.metric == Metric::distinct) {
      seen.member = {event.member * 0x9e3779b97f4a7c15, event.member * 0xc2b2ae3d27d4eb4f};
    }
    seen.amount = event.member;
    view->advance(from_ms(at - 1), sink);
    view->observe(seen);
  }
  benchmark::DoNotOptimize(rows);
  state.counters["windows"] = static_cast<double>(windows);
  state.counters["keys"] = static_cast<double>(view->stats().keys);
  state.counters["MB"] = static_cast<double>(view->stats().bytes) / 1e6;
}

ViewSpec hour_every(Metric metric, std::int64_t hop_ms) {
  ViewSpec spec;
  spec.metric = metric;
  spec.length = milliseconds{3'600'000};
  spec.hop = milliseconds{hop_ms};
  spec.top = 10;
  return spec;
}

// The Taobao file: some 128 events a second.
void hot_items(benchmark::State& state) { run(state, hour_every(Metric::count, 300'000), 128); }
BENCHMARK(hot_items)->Iterations(8 << 20)->Unit(benchmark::kNanosecond);

void hot_items_every_5_s(benchmark::State& state) {
  run(state, hour_every(Metric::count, 5'000), 128);
}
BENCHMARK(hot_items_every_5_s)->Iterations(1 << 20);

void sum(benchmark::State& state) { run(state, hour_every(Metric::sum, 300'000), 128); }
BENCHMARK(sum)->Iterations(4 << 20);

void maximum(benchmark::State& state) { run(state, hour_every(Metric::maximum, 300'000), 128); }
BENCHMARK(maximum)->Iterations(4 << 20);

void visitors(benchmark::State& state) {
  ViewSpec spec = hour_every(Metric::distinct, 3'600'000);
  spec.grouped = false;
  spec.top = 0;
  spec.method = static_cast<Method>(state.range(0));
  run(state, spec, 128);
}
BENCHMARK(visitors)->ArgName("method")->Arg(0)->Arg(1)->Arg(2)->Iterations(4 << 20);

}  // namespace
}  // namespace weir::limiter

BENCHMARK_MAIN();
