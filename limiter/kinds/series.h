#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "limiter/kinds/windows.h"

namespace weir::limiter {

/// An entry that is one event and nothing more.
struct Unit {};

__extension__ using Wide = __int128;  // no sum of 2^16 64-bit integers overflows it

/// The total of a series of V. Integers keep a running total. Doubles are summed again each time,
/// in order, so that no drift builds up. Members are counted.
template <class V>
struct TotalOf {
  struct type {};
};
template <>
struct TotalOf<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct TotalOf<std::int64_t> {
  using type = Wide;
};
template <class V>
inline constexpr bool kHasTotal =
    std::is_same_v<V, std::uint32_t> || std::is_same_v<V, std::int64_t>;

template <class V>
inline constexpr std::size_t kValueBytes = std::is_same_v<V, Unit> ? 0 : sizeof(V);
template <class V>
inline constexpr std::size_t kEntryBytes = 4 + kValueBytes<V>;

/// Entries of one key, oldest first, in arrays that the caller owns: `size` of them from `head`,
/// stamps and values apart. One structure serves ring, log and fixed windows: they differ in the
/// Rule alone. Stamps may wrap: only differences to the newest count, and those fit, for a window
/// is shorter than 2^32 ms.
template <class V>
struct Series {
  std::uint32_t* times = nullptr;
  V* values = nullptr;  // Unit: null
  std::uint32_t capacity = 0;
  std::uint32_t head = 0;
  std::uint32_t size = 0;
  typename TotalOf<V>::type total{};

  std::uint32_t time(std::uint32_t i) const noexcept { return times[head + i]; }
  V value(std::uint32_t i) const noexcept {
    if constexpr (std::is_same_v<V, Unit>) {
      return {};
    } else {
      return values[head + i];
    }
  }
  std::uint32_t newest() const noexcept { return times[head + size - 1]; }
  bool has_room() const noexcept { return size < capacity; }

  void set(std::uint32_t i, V v) noexcept {
    if constexpr (kHasTotal<V>) {
      total -= static_cast<typename TotalOf<V>::type>(values[head + i]);
      total += static_cast<typename TotalOf<V>::type>(v);
    }
    if constexpr (!std::is_same_v<V, Unit>) values[head + i] = v;
  }

  void pop_front() noexcept {
    if constexpr (kHasTotal<V>) total -= static_cast<typename TotalOf<V>::type>(values[head]);
    ++head;
    --size;
  }

  void clear() noexcept {
    head = 0;
    size = 0;
    total = {};
  }

  /// The place for an entry `behind` quanta older than the newest (negative: younger):
  /// after all entries that are as old or older.
  std::uint32_t place_of(std::int64_t behind) const noexcept {
    std::uint32_t i = size;
    while (i > 0 && behind > std::int64_t{newest() - time(i - 1)}) --i;
    return i;
  }

  /// Needs room. `i` may be `size`.
  void insert(std::uint32_t i, std::uint32_t stamp, V v) noexcept {
    if (i == 0 && head > 0 && size > 0) {
      --head;
    } else {
      if (head + size == capacity) compact();
      move(head + i + 1, head + i, size - i);
    }
    times[head + i] = stamp;
    if constexpr (!std::is_same_v<V, Unit>) values[head + i] = v;
    if constexpr (kHasTotal<V>) total += static_cast<typename TotalOf<V>::type>(v);
    ++size;
  }

  void erase(std::uint32_t i) noexcept {
    if (i == 0) {
      pop_front();
      return;
    }
    if constexpr (kHasTotal<V>) total -= static_cast<typename TotalOf<V>::type>(values[head + i]);
    move(head + i, head + i + 1, size - i - 1);
    --size;
  }

  void compact() noexcept {
    if (head == 0) return;
    move(0, head, size);
    head = 0;
  }

  /// The last entry of this stamp, or `size`.
  std::uint32_t find_stamp(std::uint32_t stamp) const noexcept {
    for (std::uint32_t i = size; i-- > 0;) {
      if (time(i) == stamp) return i;
    }
    return size;
  }

  std::uint32_t find_value(V v) const noexcept {
    const V* begin = values + head;
    return static_cast<std::uint32_t>(std::find(begin, begin + size, v) - begin);
  }

  /// Drops the entries that have left the window; calls `dropped(value)` for each.
  template <class F>
  void prune(const Instant& now, F&& dropped) noexcept {
    if (size == 0) return;
    const std::int64_t newest_age = now.age(newest());
    const std::uint32_t newest_stamp = newest();
    const auto age_of = [&](std::uint32_t i) {
      return newest_age + std::int64_t{newest_stamp - time(i)};
    };
    const bool none = newest_age == Instant::kDead ||
                      (now.rule->from_oldest ? !now.live(age_of(0)) : !now.kept_at(newest_age));
    if (none) {
      for (std::uint32_t i = 0; i < size; ++i) dropped(value(i));
      clear();
      return;
    }
    if (now.rule->from_oldest) return;
    while (!now.kept_at(age_of(0))) {
      dropped(value(0));
      pop_front();
    }
  }

 private:
  void move(std::uint32_t to, std::uint32_t from, std::uint32_t n) noexcept {
    if (n == 0) return;
    std::memmove(times + to, times + from, n * sizeof(std::uint32_t));
    if constexpr (!std::is_same_v<V, Unit>) std::memmove(values + to, values + from, n * sizeof(V));
  }
};

}  // namespace weir::limiter
