#pragma once

#include <cstdint>

#include "core/key.h"
#include "limiter/kinds/counter.h"

namespace weir::limiter {

/// How a reopened counter gets the events that came while it was closed. Another counter of the
/// same `what` must have been open meanwhile. Both have the same metric and type, and neither
/// counts events with times of their own.
enum class Joining : std::uint8_t {
  none,    ///< it cannot be determined which events belong to its window
  gaps,    ///< both trail: the events that it lacks (catch_up.cc)
  times,   ///< the events of the time in between, each at its time
  renew,   ///< members, each with its time: one that it has already is not counted twice
  totals,  ///< the total, if all of it came in between and in the window that is open now
  level,   ///< buckets: the higher level
  newest,  ///< `last`: the later value
};
Joining joining(Metric metric, Window to, Window from) noexcept;

/// Whether a key that holds `keep` entries drops its oldest one for a new one; other counters are
/// one number, or merge their entries.
bool drops(const CounterSpec& spec) noexcept;

/// The facts about a counter that another counter of the same `what` needs to start with its
/// events.
struct HistoryFacts {
  Hash128 what;
  Metric metric = Metric::count;
  Window window = Window::ring;
  bool real = false;
  std::int64_t quantum = 1;
  std::int64_t kept = 0;  ///< ms: how far back it has every event

  static HistoryFacts of(const Counter& counter) noexcept { return of(counter.spec, counter.rule); }
  static HistoryFacts of(const CounterSpec& spec, const Rule& rule) noexcept;
  /// Whether everything that `receiver` reads is kept, and can be computed. A log is enough for any
  /// window. A ring is enough only if its buckets add up to the receiver's, because its events have
  /// no times of their own.
  bool fits(const Counter& receiver) const noexcept;
};

}  // namespace weir::limiter
