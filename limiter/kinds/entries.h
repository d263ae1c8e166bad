#pragma once

#include "limiter/kinds/amounts.h"
#include "limiter/kinds/kinds.h"
#include "limiter/kinds/state.h"

namespace weir::limiter {

/// How an event becomes an entry of a window and how it is taken out again: the half of WindowOps
/// (ops.h) that changes the series. V is the type of an entry: Unit (count in a log), uint32 (count
/// where events merge), int64 and double (sum), uint64 (members).
template <class V>
class WindowEntries {
 protected:
  static constexpr bool kMembers = std::is_same_v<V, std::uint64_t>;
  static constexpr bool kReal = std::is_same_v<V, double>;
  static constexpr bool kSum = kReal || std::is_same_v<V, std::int64_t>;
  static constexpr bool kCount = !kMembers && !kSum;
  static constexpr std::uint32_t kAlsoSettled = 0x8000'0000U;  // of a reserved member's times

  static std::uint32_t keep_of(const Subject& s) noexcept {
    return s.counter.keep.load(std::memory_order_relaxed);
  }
  static std::uint32_t stamp_of(const Subject& s, std::int64_t ms) noexcept {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(0, ms) / s.counter.rule.quantum);
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
      return integer_of(event.amount);
  }

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

  /// Adds an event whose stamp is live. Records the change in `undo`.
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
            !rule.aligned && !rule.from_oldest && now.age(undo.stamp) < age_of(e, at, now);
        if (renew) {
          e.erase(at);
          place(e, now, undo.stamp, event.member);
        } else {
          undo.stamp = undo.former;
          return;  // `touched` must stay the newest entry's: beyond it stamps may wrap unseen
        }
      } else if (e.size >= keep_of(s) && (rule.aligned || rule.from_oldest)) {
        undo.what = Undo::What::nothing;  // the window's first members suffice
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
    } else if constexpr (std::is_same_v<V, std::int64_t>) {
      return saturating_sum(a, b);
    } else {
      V out;
      return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<V>::max() : out;
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
      if (e.value(i) == V{} && (kCount || undo.fresh)) e.erase(i);
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
};

}  // namespace weir::limiter
