#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/calendar.h"
#include "limiter/counters/bank.h"
#include "limiter/kinds/kinds.h"

namespace weir::limiter::test {

/// A counter of this kind over so many hours; of a calendar over an hour, or a day if it is more.
inline CounterSpec spec_of_hours(const Kind& kind, std::int64_t hours, const char* zone = "UTC") {
  CounterSpec spec;
  spec.metric = kind.metric;
  spec.window = kind.window;
  spec.real = kind.real;
  if (kind.near) spec.radius = 1000;
  spec.what = {3, 4};
  spec.keep = 5000;
  spec.length = milliseconds(3'600'000 * hours);
  if (kind.window == Window::events) spec.events = 100;
  if (kind.window == Window::calendar) {
    spec.zone = TimeZone::find(zone);
    spec.unit = hours == 1 ? CalendarUnit::hour : CalendarUnit::day;
  }
  if (kind.window == Window::leaky) {
    spec.length = milliseconds(0);
    spec.capacity = 10'000 * hours;
    spec.drain = milliseconds(36'000'000);
  }
  return spec;
}

/// Counters by name, as reloads open and close them.
struct Reloads {
  static constexpr BankLimits kLimits{std::uint64_t{16} << 20, 3000};
  Bank bank{kLimits};
  std::map<int, CounterId> open;  // by the name of the counter

  void reload(const std::map<int, CounterSpec>& specs) {
    std::map<int, CounterId> next;
    {
      const Bank::Opening opening(bank);
      for (const auto& [name, spec] : specs)
        next[name] = bank.open({1, static_cast<std::uint64_t>(name)}, spec).value();
    }
    std::vector<CounterId> used;
    for (const auto& [name, id] : next) used.push_back(id);
    bank.close_unused(used);
    open = next;
  }
  void charge(std::int64_t ms, const CounterKey& key, const Amount& event) {
    for (const auto& [name, id] : open) bank.charge(id, key, from_ms(ms), event, nullptr, nullptr);
  }
};

}  // namespace weir::limiter::test
