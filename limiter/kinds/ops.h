#pragma once

#include <cmath>

#include "core/assert.h"
#include "limiter/kinds/entries.h"
#include "limiter/kinds/kinds.h"
#include "limiter/kinds/packed.h"

namespace weir::limiter {

/// The operations of counters whose windows are series of entries (series.h), by the type of an
/// entry: see entries.h. kExists: the members are asked for one of them instead of counted.
template <class V, bool kExists = false>
class WindowOps : WindowEntries<V> {
  using Entries = WindowEntries<V>;
  using Entries::find_reserved, Entries::same, Entries::forget_settled, Entries::keep_of;
  using Entries::kMembers, Entries::kReal, Entries::kSum, Entries::kCount, Entries::kAlsoSettled;
  using Entries::merge_with, Entries::insert, Entries::take_back, Entries::value_of;
  using Sum = std::conditional_t<kReal, double, std::conditional_t<kSum, Wide, std::int64_t>>;
  struct Values {  // of one key, perhaps with an event
    Sum settled, all;
  };

 public:
  static Reading charge(Subject& s, const Instant& now, const Amount& event, const Ceiling* ceiling,
                        Undo* undo) noexcept {
    Reading r;  // one variable, so that it is built in the caller's storage
    if constexpr (kCount || (kMembers && !kExists)) {
      if (s.slot == nullptr) {
        if (charge_first(s, now, event, ceiling, undo, r)) return r;
      } else if (charge_in_place(*s.slot, s.counter, s.arena, now, event, ceiling, undo, r)) {
        return r;
      }
    }
    r = judge(s, now, event, ceiling, undo, [&](State<V>& state, Memory& memory, Undo& u) {
      u.what = Undo::What::charge;
      insert(s, state, memory, now, now.ms, event, u);
      return true;
    });
    return r;
  }

  /// The same for a key that is there, where its event changes no more than a few bytes. False:
  /// nothing has changed. `undo`, unless it is null, and `r` are as made.
  [[gnu::always_inline]] static bool charge_in_place(Slot& slot, const Counter& counter,
                                                     const Arena& arena, const Instant& now,
                                                     const Amount& event, const Ceiling* ceiling,
                                                     Undo* undo, Reading& r) noexcept {
    return !stale(slot, counter, now) &&
           Packed<V>::charge(slot, counter, arena, now, event, ceiling, undo, r);
  }

  /// The same for a key that is not there: its slot then holds this event alone. In a log of many
  /// callers that is every second event.
  static bool charge_first(Subject& s, const Instant& now, const Amount& event,
                           const Ceiling* ceiling, Undo* undo, Reading& r) noexcept {
    if (!Packed<V>::may_begin(s.counter, event)) return false;
    r.value = r.settled = Number(1);
    r.refused = ceiling != nullptr && ceiling->broken_by(r.value);
    if (r.refused) return true;
    const Table::Claim claim = s.counter.table->claim(s.place, s.counter.index, s.ages, s.arena);
    s.slot = claim.slot;
    r.displaced = claim.displaced;
    r.full = claim.slot == nullptr;
    if (!r.full) Packed<V>::begin(*s.slot, now, event, undo, r);
    return true;
  }

  static Reading reserve(Subject& s, const Instant& now, const Amount& event,
                         const Ceiling* ceiling, Undo* undo) noexcept {
    WEIR_ASSERT(s.counter.holds_reservations());
    return judge(s, now, event, ceiling, undo, [&](State<V>& state, Memory& memory, Undo& u) {
      if (!add_reservation(s, state, memory, event)) return false;
      u.what = Undo::What::reservation;
      return true;
    });
  }

  static Reading peek(const Subject& s, const Instant& now, const Amount* event) noexcept {
    if constexpr (kCount) {
      if (s.slot == nullptr) return of_nothing(s, event);
      Reading r;
      if (!stale(s, now) && Packed<V>::peek(*s.slot, s.counter, s.arena, now, event, r)) return r;
    }
    if constexpr (kSum) {
      V sum{};
      if (event == nullptr && s.slot != nullptr && !stale(s, now) &&
          Packed<V>::peek_sum(*s.slot, s.counter, now, sum))
        return reading(s, {static_cast<Sum>(sum), static_cast<Sum>(sum)});
    }
    State<V> state(s.counter, s.slot, s.arena);
    std::uint32_t revived = 0;  // reserved members that have just ceased to be settled
    prune(s, state, now, [&](V v) {
      if constexpr (kMembers) revived += find_reserved(state, v) < state.reserved();
    });
    Values v = values(s, state, now, event);
    if (!kExists && now.kept == now.span) v.all += revived;
    return reading(s, v);
  }

  static void uncharge(Subject& s, const Undo& undo) noexcept {
    if (s.slot == nullptr) return;
    State<V> state(s.counter, s.slot, s.arena);
    Memory memory = memory_of(s);
    if (undo.what == Undo::What::reservation) {
      drop_reservation(s, state, undo.amount);
    } else if (undo.what == Undo::What::charge) {
      take_back(s, state, memory, undo);
    }
    finish(s, state, memory);
  }

  static Reading settle(Subject& s, const Instant& now, std::int64_t event_ms, const Amount& event,
                        const Undo& undo, bool matched) noexcept {
    matched = matched && valid(event);
    Memory memory = memory_of(s);
    bool displaced = false;
    bool stored = false;
    bool full = false;
    if (matched && s.slot == nullptr && now.covers(event_ms)) {
      const Table::Claim claim = memory.table.claim(s.place, s.counter.index, s.ages, s.arena);
      s.slot = claim.slot;
      displaced = claim.displaced;
      full = claim.slot == nullptr;
      if (!full) s.slot->touched = now.second;
    }
    unpin_stale(s, now);
    Reading r;
    {
      State<V> state(s.counter, s.slot, s.arena);
      prune(s, state, now, forget_settled(state));
      if (s.slot != nullptr) {
        if (undo.what == Undo::What::reservation) drop_reservation(s, state, undo.amount);
        if (matched && now.covers(event_ms)) {
          Undo ignored;
          insert(s, state, memory, now, event_ms, event, ignored);
          stored = true;
        }
      }
      Values v = values(s, state, now, full ? &event : nullptr);
      v.all = v.settled;
      r = reading(s, v);
      finish(s, state, memory);
    }
    r.stored = stored;
    r.displaced = displaced;
    r.full = full;
    return r;
  }

  static void reset(Subject& s, const Instant&) noexcept {
    if (s.slot == nullptr) return;
    State<V> state(s.counter, s.slot, s.arena);
    Memory memory = memory_of(s);
    clear(state, forget_settled(state));
    s.slot->pinned = 0;
    finish(s, state, memory);
  }

  static void take_out(const Subject& s, const Instant& now, std::vector<PlainEntry>& out) {
    State<V> state(s.counter, s.slot, s.arena);
    prune(s, state, now, [](V) {});
    const Series<V>& e = state.series;
    for (std::uint32_t i = 0; i < e.size; ++i) {
      const std::int64_t age = now.age(e.newest()) + std::int64_t{e.newest() - e.time(i)};
      std::uint64_t bits = 1;
      if constexpr (!std::is_same_v<V, Unit>) {
        const V v = e.value(i);
        bits = 0;
        std::memcpy(&bits, &v, sizeof(v));
      }
      out.push_back({(now.ms / s.counter.rule.quantum - age) * s.counter.rule.quantum, bits});
    }
  }

  static void put_in(Subject& s, const Instant& now, std::span<const PlainEntry> entries) noexcept {
    for (const PlainEntry& e : entries) {
      Amount event;
      if constexpr (kMembers) {
        event.member = e.bits;
      } else if constexpr (kReal) {
        event.amount = Number::real(std::bit_cast<double>(e.bits));
      } else {
        event.amount = Number(static_cast<std::int64_t>(e.bits));
      }
      Undo none;
      settle(s, now, e.ms, event, none, true);
      if (s.slot == nullptr) s.slot = memory_of(s).table.find(s.place, s.counter.index);
    }
  }

 private:
  static Memory memory_of(const Subject& s) noexcept {
    return {*s.counter.table, *s.place.region, s.ages, s.arena};
  }
  /// The shape of charge and reserve: look, judge, then find room and add.
  template <class Add>
  static Reading judge(Subject& s, const Instant& now, const Amount& event, const Ceiling* ceiling,
                       Undo* undo, Add&& add) noexcept {
    unpin_stale(s, now);
    State<V> state(s.counter, s.slot, s.arena);
    prune(s, state, now, forget_settled(state));
    Reading r = reading(s, values(s, state, now, &event));
    Memory memory = memory_of(s);
    r.refused = !valid(event) || (ceiling != nullptr && ceiling->broken_by(r.value));
    if (!r.refused && s.slot == nullptr) claim_slot(s, now, r);
    if (s.slot == nullptr) return r;
    if (!r.refused) {
      Undo unused;
      Undo& u = undo != nullptr ? *undo : unused;
      u.amount = event;
      u.at = from_ms(now.ms);
      r.stored = add(state, memory, u);
      r.full = !r.stored;
    }
    finish(s, state, memory);
    return r;
  }

  static bool valid(const Amount& event) noexcept {
    if constexpr (kSum) return event.amount.is_finite();
    if constexpr (kCount) return !event.amount.is_negative();
    return true;
  }

  static bool stale(const Subject& s, const Instant& now) noexcept {
    return stale(*s.slot, s.counter, now);
  }
  static bool stale(const Slot& slot, const Counter& counter, const Instant& now) noexcept {
    const auto since = static_cast<std::int32_t>(now.second - slot.touched);
    return since > static_cast<std::int64_t>(counter.idle_seconds) || since < -61;
  }

  static void unpin_stale(Subject& s, const Instant& now) noexcept {
    if (s.slot != nullptr && s.slot->pinned != 0 && stale(s, now)) s.slot->pinned = 0;
  }

  template <class F>
  static void clear(State<V>& state, F&& dropped) noexcept {
    for (std::uint32_t i = 0; i < state.series.size; ++i) dropped(state.series.value(i));
    state.series.clear();
  }

  template <class F>
  static void prune(const Subject& s, State<V>& state, const Instant& now, F&& dropped) noexcept {
    if (s.slot == nullptr) return;
    if (stale(s, now)) {  // before any look at the stamps: they may have wrapped
      clear(state, dropped);
    } else {
      state.series.prune(now, dropped);
    }
  }

  // --- reservations ---

  static bool add_reservation(Subject& s, State<V>& state, Memory& memory,
                              const Amount& event) noexcept {
    std::uint32_t n = 1;
    if constexpr (kCount) {
      n = count_of(event);
    } else {
      const V v = value_of(event);
      const std::uint32_t i = find_reserved(state, v);
      if (i < state.reserved()) {
        ++state.reserved_times(i);
      } else {
        std::uint32_t times = 1;
        if constexpr (kMembers) {
          if (state.series.find_value(v) < state.series.size) times |= kAlsoSettled;
        }
        if (!state.add_reserved(*s.slot, memory, v, times)) return false;
      }
    }
    s.slot->word[3] += n;
    s.slot->held = 1;
    return true;
  }

  static void drop_reservation(Subject& s, State<V>& state, const Amount& event) noexcept {
    std::uint32_t n = 1;
    if constexpr (kCount) {
      n = count_of(event);
    } else {
      const std::uint32_t i = find_reserved(state, value_of(event));
      if (i >= state.reserved()) return;
      if ((--state.reserved_times(i) & ~kAlsoSettled) == 0) state.erase_reserved(i);
    }
    s.slot->word[3] -= std::min(s.slot->word[3], n);
    s.slot->held = s.slot->word[3] != 0;
  }

  // --- readings ---

  /// With `retain` the oldest entries are kept and not read. Ages fall from the oldest on.
  static std::uint32_t first_live(const Series<V>& e, const Instant& now) noexcept {
    if (now.kept == now.span || e.size == 0) return 0;
    const std::int64_t newest_age = now.age(e.newest());
    std::uint32_t low = 0, high = e.size;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (now.live(newest_age + std::int64_t{e.newest() - e.time(middle)})) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  static std::uint32_t find_from(const Series<V>& e, std::uint32_t first, V v) noexcept {
    const V* const values = e.values + e.head;
    return static_cast<std::uint32_t>(std::find(values + first, values + e.size, v) - values);
  }

  static Values values(const Subject& s, const State<V>& state, const Instant& now,
                       const Amount* event) noexcept {
    const Series<V>& e = state.series;
    Values out{};
    const std::uint32_t first = first_live(e, now);
    if constexpr (kExists) {
      if (event == nullptr) return out;
      out.settled = find_from(e, first, event->member) < e.size;
      out.all = out.settled != 0 || find_reserved(state, event->member) < state.reserved();
    } else if constexpr (kMembers) {
      std::uint32_t only = 0;  // in flight and not settled
      bool also_reserved = false;
      for (std::uint32_t i = 0; i < state.reserved(); ++i) {
        only += now.kept == now.span ? (state.reserved_times(i) & kAlsoSettled) == 0
                                     : find_from(e, first, state.reserved_value(i)) == e.size;
        also_reserved |= event != nullptr && state.reserved_value(i) == event->member;
      }
      const bool fresh = event != nullptr && find_from(e, first, event->member) == e.size;
      out.settled = std::min<Sum>(e.size - first + fresh, keep_of(s));
      out.all = out.settled + only - (fresh && also_reserved ? 1 : 0);
    } else if constexpr (kReal) {
      const std::uint32_t at = event != nullptr ? merge_with(s, e, now.stamp) : e.size;
      for (std::uint32_t i = first; i < e.size; ++i) {
        out.settled += i == at ? e.value(i) + event->amount.as_real() : e.value(i);
      }
      if (event != nullptr && at == e.size) out.settled += event->amount.as_real();
      out.all = out.settled;
      for (std::uint32_t i = 0; i < state.reserved(); ++i) {
        out.all += state.reserved_value(i) * state.reserved_times(i);
      }
    } else {
      if constexpr (std::is_same_v<V, Unit>) {
        out.settled = e.size - first;
      } else {
        out.settled = static_cast<Sum>(e.total);
        for (std::uint32_t i = 0; i < first; ++i) out.settled -= Sum{e.value(i)};
      }
      if constexpr (kSum && !kReal) {
        // A bucket at the top has lost count (saturating_sum); the scan is for sums beyond 2^62.
        constexpr V kMost = std::numeric_limits<V>::max();
        if (out.settled > kMost / 2 && s.counter.rule.merge != Rule::Merge::none &&
            e.find_value(kMost) < e.size) {
          out.settled = Sum{kMost} * 2;
        }
      }
      if (event != nullptr)
        out.settled += kSum ? Sum{integer_of(event->amount)} : Sum{count_of(*event)};
      if constexpr (kCount) out.settled = std::min<Sum>(out.settled, most_of(s));
      out.all = out.settled;
      if constexpr (kCount) {
        out.all += in_flight(s);
      } else {
        for (std::uint32_t i = 0; i < state.reserved(); ++i) {
          out.all += Sum{state.reserved_value(i)} * state.reserved_times(i);
        }
      }
    }
    return out;
  }

  /// The reading of a key that the table does not have.
  static Reading of_nothing(const Subject& s, const Amount* event) noexcept {
    Values v{};
    if (event != nullptr) v.settled = v.all = std::min<Sum>(count_of(*event), most_of(s));
    return reading(s, v);
  }
  /// The largest possible count: the number of events that a log holds.
  static Sum most_of(const Subject& s) noexcept {
    if constexpr (std::is_same_v<V, Unit>) return keep_of(s);
    return std::numeric_limits<Sum>::max();
  }

  static std::uint32_t in_flight(const Subject& s) noexcept {
    return s.slot != nullptr && s.counter.holds_reservations() ? s.slot->word[3] : 0;
  }

  static Number number(Sum v) noexcept {
    if constexpr (kReal) {
      return Number::real(v);
    } else {
      constexpr Sum kMin = std::numeric_limits<std::int64_t>::min();
      constexpr Sum kMax = std::numeric_limits<std::int64_t>::max();
      return static_cast<std::int64_t>(std::clamp(v, kMin, kMax));
    }
  }

  static Reading reading(const Subject& s, const Values& v) noexcept {
    Reading r;
    r.value = number(v.all);
    r.settled = number(v.settled);
    r.in_flight = in_flight(s);
    return r;
  }

  /// Writes the state back; a key that holds nothing gives its slot back.
  static void finish(Subject& s, State<V>& state, Memory& memory) noexcept {
    if (s.slot == nullptr) return;
    state.commit(*s.slot, memory);
    if (state.series.size == 0 && s.slot->held == 0) {
      memory.table.release(memory.region, *s.slot, memory.arena);
      s.slot = nullptr;
    }
  }
};

}  // namespace weir::limiter
