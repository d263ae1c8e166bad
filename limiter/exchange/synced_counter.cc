#include "limiter/exchange/synced_counter.h"

#include <algorithm>

namespace weir::limiter {
namespace {

/// The counters that an average is made of, in the bank and in the store, beside those of others.
constexpr Hash128 kAmounts{0x616d'6f75'6e74'7300, 1};
constexpr Hash128 kOnes{0x6f6e'6573'0000'0000, 2};

struct Row {
  Metric metric;
  Window window;
  Merge merge;
};
/// All other combinations ask the store each time; docs/redis.md says why.
constexpr Row kRows[] = {
    {Metric::count, Window::ring, Merge::sum},
    {Metric::count, Window::log, Merge::sum},
    {Metric::count, Window::every, Merge::sum},
    {Metric::count, Window::every_first, Merge::sum},
    {Metric::count, Window::calendar, Merge::sum},
    {Metric::count, Window::leaky, Merge::sum},
    {Metric::sum, Window::ring, Merge::sum},
    {Metric::sum, Window::log, Merge::sum},
    {Metric::sum, Window::every, Merge::sum},
    {Metric::sum, Window::every_first, Merge::sum},
    {Metric::sum, Window::calendar, Merge::sum},
    {Metric::sum, Window::leaky, Merge::sum},
    {Metric::distinct, Window::log, Merge::members},
    {Metric::distinct, Window::every, Merge::members},
    {Metric::distinct, Window::calendar, Merge::members},
    {Metric::in_flight, Window::none, Merge::gauge},
    {Metric::average, Window::log, Merge::average},
    {Metric::average, Window::every, Merge::average},
    {Metric::average, Window::calendar, Merge::average},
    {Metric::minimum, Window::every, Merge::extreme},
    {Metric::minimum, Window::calendar, Merge::extreme},
    {Metric::maximum, Window::every, Merge::extreme},
    {Metric::maximum, Window::calendar, Merge::extreme},
};

Number quotient(Number a, Number b) noexcept { return Number::real(a.as_real() / b.as_real()); }

}  // namespace

Merge merge_of(const CounterSpec& spec) noexcept {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) {
    return r.metric == spec.metric && r.window == spec.window;
  });
  return row == std::end(kRows) ? Merge::none : row->merge;
}

CounterSpec amounts_of(const CounterSpec& average) {
  CounterSpec out = average;
  out.metric = Metric::sum;
  if (out.window == Window::log) out.window = Window::ring;
  out.what = average.what.owned_by(kAmounts);
  return out;
}

CounterSpec ones_of(const CounterSpec& average) {
  CounterSpec out = amounts_of(average);
  out.real = false;
  out.what = average.what.owned_by(kOnes);
  return out;
}

Reading average_of(const Reading& amounts, const Reading& ones) noexcept {
  Reading out = amounts;
  out.has_value = ones.value > Number{0};
  out.value = out.has_value ? quotient(amounts.value, ones.value) : Number::real(0);
  const bool any = ones.settled > Number{0};
  out.settled = any ? quotient(amounts.settled, ones.settled) : Number::real(0);
  return out;
}

SyncedCounter SyncedCounter::of(const std::shared_ptr<const SharedCounter>& counter,
                                milliseconds interval, bool wall_clock) {
  SyncedCounter out{{}, counter, interval, wall_clock, {}};
  const Merge merge = merge_of(counter->spec);
  CounterSpec told = counter->spec;
  if (merge == Merge::gauge) told.real = true;
  out.shared = std::make_shared<SharedCounter>(counter->identity, told, true);
  if (merge != Merge::average) return out;
  const auto part = [&](const Hash128& owner, const CounterSpec& spec) {
    const Hash128 identity = counter->identity.owned_by(owner);
    return SyncedCounter{
        {}, std::make_shared<SharedCounter>(identity, spec, true), interval, wall_clock, {}};
  };
  out.average = std::make_shared<SyncedAverage>(SyncedAverage{
      part(kAmounts, amounts_of(counter->spec)), part(kOnes, ones_of(counter->spec))});
  return out;
}

void SyncedCounter::exchange_within(milliseconds most) noexcept {
  interval = std::min(interval, most);
  if (average == nullptr) return;
  average->amounts.exchange_within(most);
  average->ones.exchange_within(most);
}

milliseconds SyncedCounter::longest_stay() const noexcept {
  const CounterSpec& spec = shared->spec;
  switch (spec.window) {
    case Window::none:
      return milliseconds{0};
    case Window::calendar:
      return milliseconds{CalendarSpan::longest(spec.unit)};
    case Window::leaky:
      return milliseconds{static_cast<std::int64_t>(spec.capacity.as_real() * spec.ms_of_one())};
    default:
      return milliseconds{shared->rule.length + shared->rule.quantum};
  }
}

Result<void> SyncedCounter::open(Bank& bank, std::size_t keys) {
  if (average == nullptr) {
    const auto opened = bank.open(shared->identity, shared->spec, keys);
    if (!opened) return opened.error();
    id = *opened;
    return {};
  }
  if (const auto done = average->amounts.open(bank, keys); !done) return done;
  id = average->amounts.id;
  return average->ones.open(bank, keys);
}

}  // namespace weir::limiter
