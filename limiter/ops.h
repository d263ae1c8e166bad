#pragma once

#include <cmath>

#include "core/assert.h"
#include "limiter/kinds.h"
#include "limiter/packed.h"
#include "limiter/state.h"

namespace weir::limiter {

/// The operations of every counter with a window, by the type of its entries:
/// Unit (count in a log), uint32 (count where events merge), int64 and double (sum), uint64
/// (members).
template <class V>
class WindowOps {
  static constexpr bool kMembers = std::is_same_v<V, std::uint64_t>;
  static constexpr bool kReal = std::is_same_v<V, double>;
  static constexpr bool kSum = kReal || std::is_same_v<V, std::int64_t>;
  static constexpr bool kCount = !kMembers && !kSum;
  using Sum = std::conditional_t<kReal, double, std::conditional_t<kSum, Wide, std::int64_t>>;
  static constexpr std::uint32_t kAlsoSettled = 0x8000'0000U;  // of a reserved member's times

  struct Values {  // of one key, perhaps with an event
    Sum settled, all;
  };

 public:
  static Reading charge(Subject& s, const Instant& now, const Amount& event, const Ceiling* ceiling,
                        Undo* undo) noexcept {
    if constexpr (kCount) {
      Reading r;
      if (s.slot != nullptr && !stale(s, now) &&
          Packed<V>::charge(*s.slot, s.counter, now, event, ceiling, undo, r)) {
        return r;
      }
    }
    return judge(s, now, event, ceiling, undo, [&](State<V>& state, Memory& memory, Undo& u) {
      u.what = Undo::What::charge;
      insert(s, state, memory, now, now.ms, event, u);
      return true;
    });
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
    State<V> state(s.counter, s.slot, s.arena);
    std::uint32_t revived = 0;  // reserved members that have just ceased to be settled
    prune(s, state, now, [&](V v) {
      if constexpr (kMembers) revived += find_reserved(state, v) < state.reserved();
    });
    Values v = values(s, state, now, event);
    v.all += revived;
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

  static void reset(Subject& s) noexcept {
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
  static std::uint32_t keep_of(const Subject& s) noexcept {
    return s.counter.keep.load(std::memory_order_relaxed);
  }
  static std::uint32_t stamp_of(const Subject& s, std::int64_t ms) noexcept {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(0, ms) / s.counter.rule.quantum);
  }

  /// The shape of charge and reserve: look, judge, then find room and add.
  template <class Add>
  static Reading judge(Subject& s, const Instant& now, const Amount& event, const Ceiling* ceiling,
                       Undo* undo, Add&& add) noexcept {
    if (undo != nullptr) *undo = Undo{};
    unpin_stale(s, now);
    State<V> state(s.counter, s.slot, s.arena);
    prune(s, state, now, forget_settled(state));
    Reading r = reading(s, values(s, state, now, &event));
    Memory memory = memory_of(s);
    r.refused = !valid(event) || (ceiling != nullptr && ceiling->broken_by(r.value));
    if (!r.refused && s.slot == nullptr) {
      const Table::Claim claim = memory.table.claim(s.place, s.counter.index, s.ages, s.arena);
      s.slot = claim.slot;
      r.displaced = claim.displaced;
      r.full = claim.slot == nullptr;
      if (s.slot != nullptr) s.slot->touched = now.second;
    }
    if (s.slot == nullptr) return r;
    if (!r.refused) {
      Undo u;
      u.amount = event;
      u.at = from_ms(now.ms);
      r.stored = add(state, memory, u);
      r.full = !r.stored;
      if (undo != nullptr && r.stored) *undo = u;
    }
    finish(s, state, memory);
    return r;
  }

  static bool valid(const Amount& event) noexcept {
    if constexpr (kSum) return event.amount.is_finite();
    if constexpr (kCount) return !event.amount.is_negative();
    return true;
  }

  /// Amounts of an integer sum that come as doubles count as the next integer above.
  static std::int64_t integer_of(const Amount& event) noexcept {
    if (!event.amount.is_real()) return event.amount.integer();
    const double up = std::ceil(event.amount.as_real());
    constexpr double kEdge = 9'223'372'036'854'775'808.0;
    if (!(up > -kEdge)) return std::numeric_limits<std::int64_t>::min();
    return up >= kEdge ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(up);
  }
  static std::uint32_t count_of(const Amount& event) noexcept {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(integer_of(event), 0, std::numeric_limits<std::int32_t>::max()));
  }
  static V value_of(const Amount& event) noexcept {
    if constexpr (std::is_same_v<V, Unit>)
      return {};
    else if constexpr (kCount)
      return count_of(event);
    else if constexpr (kMembers)
      return event.member;
    else if constexpr (kReal)
      return event.amount.as_real();
    else
      return integer_of(event);
  }

  static bool stale(const Subject& s, const Instant& now) noexcept {
    const auto since = static_cast<std::int32_t>(now.second - s.slot->touched);
    return since > static_cast<std::int64_t>(s.counter.idle_seconds) || since < -61;
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

  static std::uint32_t find_reserved(const State<V>& state, V v) noexcept {
    std::uint32_t i = 0;
    while (i < state.reserved() && !same(v, state.reserved_value(i))) ++i;
    return i;
  }
  static bool same(V a, V b) noexcept {
    if constexpr (std::is_same_v<V, Unit>)
      return true;
    else if constexpr (kReal)
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    else
      return a == b;
  }

  static auto forget_settled(State<V>& state) noexcept {
    return [&state]([[maybe_unused]] V v) {
      static_cast<void>(state);
      if constexpr (kMembers) {
        if (state.reserved() == 0) return;
        const std::uint32_t i = find_reserved(state, v);
        if (i < state.reserved()) state.reserved_times(i) &= ~kAlsoSettled;
      }
    };
  }

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

  static Values values(const Subject& s, const State<V>& state, const Instant& now,
                       const Amount* event) noexcept {
    const Series<V>& e = state.series;
    Values out{};
    if constexpr (kMembers) {
      std::uint32_t only = 0;  // in flight and not settled
      bool also_reserved = false;
      for (std::uint32_t i = 0; i < state.reserved(); ++i) {
        only += (state.reserved_times(i) & kAlsoSettled) == 0;
        also_reserved |= event != nullptr && state.reserved_value(i) == event->member;
      }
      const bool fresh = event != nullptr && e.find_value(event->member) == e.size;
      out.settled = std::min<Sum>(e.size + fresh, keep_of(s));
      out.all = out.settled + only - (fresh && also_reserved ? 1 : 0);
    } else if constexpr (kReal) {
      const std::uint32_t at = event != nullptr ? merge_with(s, e, now.stamp) : e.size;
      for (std::uint32_t i = 0; i < e.size; ++i) {
        out.settled += i == at ? e.value(i) + event->amount.as_real() : e.value(i);
      }
      if (event != nullptr && at == e.size) out.settled += event->amount.as_real();
      out.all = out.settled;
      for (std::uint32_t i = 0; i < state.reserved(); ++i) {
        out.all += state.reserved_value(i) * state.reserved_times(i);
      }
    } else {
      if constexpr (std::is_same_v<V, Unit>)
        out.settled = e.size;
      else
        out.settled = static_cast<Sum>(e.total);
      if (event != nullptr) out.settled += kSum ? Sum{integer_of(*event)} : Sum{count_of(*event)};
      if constexpr (std::is_same_v<V, Unit>) out.settled = std::min<Sum>(out.settled, keep_of(s));
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

  // --- entries ---

  /// The entry that an event of this stamp joins, or size.
  static std::uint32_t merge_with(const Subject& s, const Series<V>& e,
                                  std::uint32_t stamp) noexcept {
    switch (s.counter.rule.merge) {
      case Rule::Merge::none:
        return e.size;
      case Rule::Merge::equal:
        return e.find_stamp(stamp);
      case Rule::Merge::newest:
        return e.size == 0 ? 0 : e.size - 1;
    }
    return e.size;
  }

  /// Adds an event whose stamp is live. What it does stands in `undo`.
  static void insert(Subject& s, State<V>& state, Memory& memory, const Instant& now,
                     std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    Series<V>& e = state.series;
    const Rule& rule = s.counter.rule;
    undo.stamp = stamp_of(s, event_ms);
    const bool was_empty = e.size == 0;
    // A window that has begun does not begin earlier for a late settlement.
    if (rule.from_oldest && !was_empty && now.age(undo.stamp) > age_of(e, 0, now))
      undo.stamp = e.time(0);
    if constexpr (std::is_same_v<V, Unit>) {
      for (std::uint32_t n = std::min(count_of(event), keep_of(s)); n > 0; --n) {
        add(s, state, memory, now, undo, {});
      }
    } else if constexpr (kMembers) {
      const std::uint32_t at = e.find_value(event.member);
      if (at < e.size) {
        undo.former = e.time(at);
        const bool renew =
            !rule.aligned_members && !rule.from_oldest && now.age(undo.stamp) < age_of(e, at, now);
        if (renew) {
          e.erase(at);
          place(e, now, undo.stamp, event.member);
        } else {
          undo.stamp = undo.former;
          return;  // `touched` must stay the newest entry's: beyond it stamps may wrap unseen
        }
      } else if (e.size >= keep_of(s) && (rule.aligned_members || rule.from_oldest)) {
        undo.what = Undo::What::nothing;  // the window's first members stand for all
      } else {
        undo.fresh = true;
        add(s, state, memory, now, undo, event.member);
        const std::uint32_t r = find_reserved(state, event.member);
        if (r < state.reserved()) state.reserved_times(r) |= kAlsoSettled;
      }
    } else {
      const std::uint32_t at = merge_with(s, e, undo.stamp);
      if (at < e.size) {
        undo.stamp = e.time(at);
        const V before = e.value(at);
        std::memcpy(&undo.former_value, &before, sizeof(before));
        e.set(at, plus(before, value_of(event)));
      } else {
        undo.fresh = true;
        add(s, state, memory, now, undo, value_of(event));
      }
    }
    if (s.counter.spec.window == Window::every_first && !was_empty) return;
    const auto second = static_cast<std::uint32_t>(std::max<std::int64_t>(0, event_ms) / 1000);
    if (was_empty || static_cast<std::int32_t>(second - s.slot->touched) > 0)
      s.slot->touched = second;
  }

  static V plus(V a, V b) noexcept {
    if constexpr (std::is_same_v<V, Unit>) {
      return a;
    } else if constexpr (kReal) {
      return a + b;
    } else {
      V out;
      if (!__builtin_add_overflow(a, b, &out)) return out;
      return b < 0 ? std::numeric_limits<V>::min() : std::numeric_limits<V>::max();
    }
  }

  static std::int64_t age_of(const Series<V>& e, std::uint32_t i, const Instant& now) noexcept {
    return now.age(e.newest()) + std::int64_t{e.newest() - e.time(i)};
  }

  static void place(Series<V>& e, const Instant& now, std::uint32_t stamp, V v) noexcept {
    const std::int64_t behind = e.size == 0 ? 0 : now.age(stamp) - now.age(e.newest());
    e.insert(e.place_of(behind), stamp, v);
  }

  /// A new entry, with room made for it by growing or, at `keep` or without memory, by shedding.
  static void add(Subject& s, State<V>& state, Memory& memory, const Instant& now, Undo& undo,
                  V v) noexcept {
    Series<V>& e = state.series;
    const bool capped = s.counter.rule.merge == Rule::Merge::none;
    constexpr std::uint32_t kLeast = kMembers || std::is_same_v<V, Unit> ? 0 : 1;
    while (e.size > kLeast &&
           ((capped && e.size >= keep_of(s)) || !state.make_room(*s.slot, memory))) {
      if (!undo.dropped) {
        undo.dropped = true;
        undo.dropped_stamp = e.time(0);
        if constexpr (!std::is_same_v<V, Unit>) {
          const V oldest = e.value(0);
          std::memcpy(&undo.dropped_value, &oldest, sizeof(oldest));
          if constexpr (kSum) {
            const V next = e.value(e.size > 1 ? 1 : 0);
            std::memcpy(&undo.former_value, &next, sizeof(next));
          }
        }
      }
      if (kMembers) forget_settled(state)(e.value(0));
      state.shed();
    }
    if (!state.make_room(*s.slot, memory)) {  // all that is left holds reservations
      if (kLeast == 1 && e.size == 1) e.set(0, plus(e.value(0), v));
      return;
    }
    place(e, now, undo.stamp, v);
  }

  static void take_back(Subject& s, State<V>& state, Memory& memory, const Undo& undo) noexcept {
    Series<V>& e = state.series;
    const std::uint32_t newest_before = e.size != 0 ? e.newest() : 0;
    if constexpr (std::is_same_v<V, Unit>) {
      for (std::uint32_t n = std::min(count_of(undo.amount), keep_of(s)); n > 0; --n) {
        const std::uint32_t i = e.find_stamp(undo.stamp);
        if (i == e.size) break;
        e.erase(i);
      }
    } else if constexpr (kMembers) {
      const std::uint32_t i = e.find_value(undo.amount.member);
      if (i == e.size || e.time(i) != undo.stamp) return;  // renewed by another since
      if (undo.fresh) {
        forget_settled(state)(e.value(i));
        e.erase(i);
      } else if (undo.former != undo.stamp) {
        const std::int64_t behind =
            std::int64_t{e.newest() - undo.stamp} + (undo.stamp - undo.former);
        e.erase(i);
        // The newest may just have gone; distances count from what is newest now.
        const std::int64_t shift = e.size == 0 ? behind : std::int64_t{newest_before - e.newest()};
        e.insert(e.place_of(behind - shift), undo.former, undo.amount.member);
      }
    } else {
      std::uint32_t i = e.size;
      const V amount = value_of(undo.amount);
      while (i-- > 0) {
        if (e.time(i) == undo.stamp &&
            (s.counter.rule.merge != Rule::Merge::none || e.value(i) == amount)) {
          break;
        }
      }
      if (i >= e.size) return;
      if constexpr (kReal) {
        const double before = undo.fresh ? 0.0 : std::bit_cast<double>(undo.former_value);
        e.set(i, e.value(i) == before + amount ? before : e.value(i) - amount);
      } else {
        const bool saturated = kSum && (e.value(i) == std::numeric_limits<V>::max() ||
                                        e.value(i) == std::numeric_limits<V>::min());
        if (!saturated) e.set(i, e.value(i) - std::min(amount, kCount ? e.value(i) : amount));
      }
      if (e.value(i) == V{}) e.erase(i);
    }
    if (undo.dropped) put_back_dropped(s, state, memory, undo);
    if (e.size == 0 || s.counter.spec.window == Window::every_first) return;
    const std::int64_t back =
        std::int64_t{newest_before - e.newest()} * s.counter.rule.quantum / 1000;
    s.slot->touched -= static_cast<std::uint32_t>(back);
  }

  static void put_back_dropped(Subject& s, State<V>& state, Memory& memory,
                               const Undo& undo) noexcept {
    Series<V>& e = state.series;
    V oldest{};
    if constexpr (!std::is_same_v<V, Unit>) std::memcpy(&oldest, &undo.dropped_value, sizeof(V));
    if constexpr (kSum) {
      V next;
      std::memcpy(&next, &undo.former_value, sizeof(V));
      if (e.size == 0 || e.value(0) != plus(oldest, next)) return;  // more was merged since
      if (!state.make_room(*s.slot, memory)) return;
      e.set(0, next);
    } else if (!state.make_room(*s.slot, memory)) {
      return;
    }
    e.insert(0, undo.dropped_stamp, oldest);
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
