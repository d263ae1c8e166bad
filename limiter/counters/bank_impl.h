#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "limiter/counters/bank.h"
#include "limiter/counters/held.h"
#include "limiter/counters/history_copier.h"
#include "limiter/counters/neighbourhood.h"
#include "limiter/counters/retirement.h"
#include "limiter/kinds/counter.h"
#include "limiter/kinds/kinds.h"

namespace weir::limiter {

/// The state of a bank. Every source of this folder that defines functions of Bank includes it.
struct Bank::Impl {
  explicit Impl(const BankLimits& limits);

  static std::size_t common_keys(const BankLimits& limits) noexcept;
  static std::size_t bytes_of(std::size_t keys) noexcept;
  Counter* counter(CounterId id) const noexcept {
    if (id.index >= kCountersMax) return nullptr;
    Counter* c = by_index[id.index].load(std::memory_order_acquire);
    return c != nullptr && c->generation == id.generation ? c : nullptr;
  }
  /// The times that an operation on a counter uses; `tells`: it advances the counter's clock. A
  /// call would cost more than the arithmetic, so it is inlined.
  [[gnu::always_inline]] Instant instant(Counter& c, const Moment& now, bool tells) const noexcept {
    if (c.rule.own_time) return own_instant(c, now, tells);
    const Instant at(c.rule, now.at);
    if (tells) ages.advance(c.index, c.clock, at.second);
    return at;
  }
  Instant own_instant(Counter& counter, const Moment& now, bool tells) const noexcept;
  /// The latest time that each clock (Ages) has seen, in ms. Events and maintain() advance the
  /// clocks; the time may be some seconds behind.
  std::array<std::int64_t, 2> latest() const noexcept {
    std::array<std::int64_t, 2> out{};
    for (std::size_t clock = 0; clock < out.size(); ++clock) {
      const std::int64_t told = ages.now[clock].load(std::memory_order_relaxed);
      out[clock] = std::max(told * 1000, to_ms(maintained[clock]) / 1000 * 1000);
    }
    return out;
  }
  /// The latest time of the clock of trailing windows, in ms.
  std::int64_t latest_ms() const noexcept { return latest()[Ages::kNow]; }

  /// Adds a counter that is not there yet. `keys` > 0: it gets a table of its own for that many
  /// keys. The caller has made sure that an index is free and has withheld the memory of the table
  /// (Retirement).
  Held& add(const Hash128& identity, const CounterSpec& spec, const Kind& kind, std::size_t keys);
  void close(Held& held);

  /// Calls found(region, slot) for each slot of a table that looked like a key of one of these
  /// counters (by index; null: not of them). Holds no lock then: the slot may have a new key.
  template <class T, class F>
  static void each_slot_of(Table& table, const std::vector<T*>& counters, F&& found) {
    for (std::size_t r = 0; r < table.regions(); ++r) {
      Table::Region& region = table.region(r);
      if (region.taken.load(std::memory_order_relaxed) == 0) continue;  // nor touch its memory
      for (std::size_t b = 0; b < table.buckets(); ++b) {
        Slot* const slots = table.bucket(r, b);
        std::array<T*, Table::kWays> of{};
        {
          const std::scoped_lock hold(region.lock);
          for (std::size_t i = 0; i < Table::kWays; ++i) {
            if (slots[i].tag != 0) of[i] = counters[slots[i].counter];
          }
        }
        for (std::size_t i = 0; i < Table::kWays; ++i) {
          if (of[i] != nullptr) found(*of[i], region, slots[i]);
        }
      }
    }
  }

  std::vector<Table*> tables() const;
  template <class F>
  void for_each_table(F f) const {
    f(common);
    for (const Held& held : all) {
      if (held.own != nullptr && held.own_bytes != 0) f(*held.own);
    }
  }

  /// Looks the key up under its region's lock and runs f(Subject&). False: a stale id, and nothing
  /// ran.
  template <class F>
  bool with(Counter* c, const Table::Place& place, F&& f) const noexcept {
    c->table->prefetch(place);
    const std::scoped_lock hold(place.region->lock);
    if (c->retired.load(std::memory_order_relaxed)) return false;
    Subject subject{*c, place, ages, arena, c->table->find(place, c->index)};
    f(subject);
    return true;
  }

  template <class F>
  bool with(Counter* c, const CounterKey& key, F&& f) const noexcept {
    if (c->grid) return with_around(c, key, f);
    return with(c, c->table->place(key, c->salt), f);
  }

  /// The reading of a stale id.
  static Reading itself_alone(const Amount* event) noexcept {
    Reading r;
    if (event != nullptr) r.value = r.settled = event->amount;
    return r;
  }
  /// with() for functions that return a reading. Every charge goes through here: in one piece with
  /// its caller.
  template <class F>
  [[gnu::always_inline]] Reading read(Counter* c, const CounterKey& key, const Amount* event,
                                      F&& f) const noexcept {
    if (c->grid) {
      Reading r = itself_alone(event);
      with_around(c, key, [&](Subject& s) { r = f(s); });
      return r;
    }
    const Table::Place place = c->table->place(key, c->salt);
    c->table->prefetch(place);
    const std::scoped_lock hold(place.region->lock);
    if (c->retired.load(std::memory_order_relaxed)) return itself_alone(event);
    Subject subject{*c, place, ages, arena, c->table->find(place, c->index)};
    return f(subject);
  }

  /// The same for a counter with a radius: with all cells about the place.
  template <class F>
  bool with_around(Counter* c, const CounterKey& key, F&& f) const noexcept {
    const Neighbourhood near(*c, key);
    const Neighbourhood::Locks hold(near);
    if (c->retired.load(std::memory_order_relaxed)) return false;
    const Around around = near.around();
    Subject subject{*c, near.own(), ages, arena, c->table->find(near.own(), c->index), &around};
    f(subject);
    return true;
  }

  void advise_huge() noexcept {
    common.memory().advise_huge();
    arena.advise_huge();
    huge = true;
  }

  const BankLimits limits;
  mutable Ages ages;
  Table common;
  mutable Arena arena;
  std::array<std::atomic<Counter*>, kCountersMax> by_index{};

  mutable std::mutex control;  // guards all below, and keeps tables alive
  std::list<Held> all;         // also the dropped ones, for as long as stale ids may be in use
  std::map<Hash128, Held*> by_identity;
  std::map<Hash128, std::vector<Held*>> by_what;  // by CounterSpec::what, to inherit history
  std::vector<std::uint16_t> free_indices;
  std::array<std::uint16_t, kCountersMax> generations{};  // the last one of each index
  std::uint64_t closings = 0;
  HistoryCopier inheritance{*this};
  Retirement retirement{*this};
  unsigned openings = 0;                  // Opening objects
  std::uint64_t opening = 1;              // the number of the one under way, or of the last
  std::array<TimePoint, 2> maintained{};  // when maintain() was called last, on each clock
  std::uint16_t next_index = 0;
  bool huge = false;  // huge pages back the common table and the blocks
};

}  // namespace weir::limiter
