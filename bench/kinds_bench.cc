// Measures the cost of one event for each kind of counter, alone: charging it with a limit that is
// never reached (or opening and ending it, if the kind works so), for 1,000 keys that fit the
// caches. table_bench.cc measures the additional cost of a cold table.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"

namespace weir::limiter {
namespace {

constexpr std::size_t kKeys = 1'000;
constexpr std::size_t kEvents = std::size_t{1} << 16;

struct Event {
  Hash128 key;
  Amount amount;
  Datum datum;
};

const std::vector<Event>& some_events() {
  static const std::vector<Event> events = [] {
    std::mt19937_64 random(11);
    std::vector<Hash128> keys(kKeys);
    for (Hash128& key : keys) key = {random(), random()};
    std::vector<Event> out(kEvents);
    for (Event& event : out) {
      event.key = keys[random() % kKeys];
      event.amount.amount = Number(static_cast<std::int64_t>(1 + random() % 9));
      event.amount.member = random() % 20 * 0x9E37'79B9'7F4A'7C15U;
      event.amount.datum = &event.datum;
    }
    return out;
  }();
  return events;
}

/// 2,000 events a second over a thousand keys: some twenty of a key in its ten seconds.
CounterSpec spec_of(const Kind& kind) {
  CounterSpec spec;
  spec.metric = kind.metric;
  spec.window = kind.window;
  spec.real = kind.real;
  spec.length = milliseconds(10'000);
  spec.buckets = 10;
  spec.keep = 100;
  if (kind.window == Window::events) spec.events = 10;
  if (kind.window == Window::leaky) {
    spec.capacity = Number(std::int64_t{1'000'000});
    spec.drain = milliseconds(10);
  }
  if (kind.window == Window::calendar) {
    spec.unit = CalendarUnit::day;
    spec.zone = TimeZone::find("UTC");
  }
  if (kind.near) spec.radius = 5'000;
  return spec;
}

void charge(benchmark::State& state, const Kind& kind) {
  const std::vector<Event>& events = some_events();
  Bank bank({std::uint64_t{64} << 20, 10'000});
  const Result<CounterId> id = bank.open({1, 2}, spec_of(kind));
  if (!id) return state.SkipWithError(id.error().message().c_str());
  const Ceiling ceiling{Number(std::int64_t{1} << 40), false};
  std::int64_t now = 1'700'000'000'000;
  std::uint64_t handled = 0;
  double sum = 0;
  for (auto _ : state) {
    const Event& event = events[handled % kEvents];
    if (++handled % 2 == 0) ++now;  // 2,000 events a second
    CounterKey key(event.key);
    if (kind.near) key.place = Place{0.01 * static_cast<double>(event.amount.member % 8), 50};
    Undo undo;
    sum += bank.charge(*id, key, from_ms(now), event.amount, &ceiling, &undo).value.as_real();
    if (kind.metric == Metric::in_flight) bank.uncharge(*id, key, undo);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<std::int64_t>(handled));
}

const bool registered = [] {
  for (const Kind& kind : kinds()) {
    benchmark::RegisterBenchmark(("charge/" + std::string(kind.name)).c_str(),
                                 [&kind](benchmark::State& state) { charge(state, kind); });
  }
  return true;
}();

}  // namespace
}  // namespace weir::limiter

BENCHMARK_MAIN();
