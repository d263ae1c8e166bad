#pragma once

#include <array>
#include <bit>
#include <cstring>

#include "limiter/kinds/amounts.h"
#include "limiter/kinds/counter.h"
#include "limiter/kinds/series.h"

namespace weir::limiter {

/// Where a key's state lives, and where more memory comes from. The region's lock is held.
struct Memory {
  Table& table;
  Table::Region& region;
  const Ages& ages;
  Arena& arena;

  /// Evicts a few idle keys if there is no other way. 0: no room.
  std::uint32_t allocate(unsigned order, const Slot* keep) noexcept {
    std::uint32_t block = arena.allocate(order);
    for (int tries = 0; block == 0 && tries < 3 && order <= arena.largest_order(); ++tries) {
      if (!table.make_room(region, order, keep, ages, arena)) break;
      block = arena.allocate(order);
    }
    return block;
  }
};

/// Layout of a block of the arena with entries of V: head, size, total, values[all], stamps[all].
template <class V>
struct BlockLayout {
  static constexpr std::size_t kHead = 8 + (kHasTotal<V> ? (sizeof(V) == 8 ? 16 : 8) : 0);
  static std::uint32_t capacity_of(unsigned order) noexcept {
    return static_cast<std::uint32_t>((Arena::bytes_of(order) - kHead) / kEntryBytes<V>);
  }

  BlockLayout(std::byte* block, unsigned order) noexcept
      : all(capacity_of(order)),
        times(reinterpret_cast<std::uint32_t*>(block + kHead + all * kValueBytes<V>)) {
    if constexpr (!std::is_same_v<V, Unit>) values = reinterpret_cast<V*>(block + kHead);
  }
  std::uint32_t all;
  std::uint32_t* times;
  V* values = nullptr;  // Unit: null
};

/// A key's entries, opened from its slot: few entries are packed into the slot's 16 bytes, more
/// are in a block of the arena.
///
///   packed   count, log:  up to 4 stamps of 32 bits
///            count, ring: the newest stamp, then up to 6 x 16 bits {quanta before it, events}
///            else:        one value of 64 bits and its stamp
///   pairs    count, ring: up to 2 x {stamp, events}: many events in few buckets
///   block    head, size, total, values[capacity], stamps[capacity]; reservations of sums and
///            members are at the far end of the same arrays (stamps[] then counts them)
///
/// A counter with outcomes keeps the last of the four words for the number of its reservations.
template <class V>
class State {
 public:
  State(const Counter& counter, const Slot* slot, const Arena& arena) noexcept;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Series<V> series;

  /// Makes room for one entry more. False: no memory (then shed() first).
  bool make_room(Slot& slot, Memory& memory) noexcept;
  /// Writes all back; entries that do not fit, for lack of memory, are shed.
  void commit(Slot& slot, Memory& memory) noexcept;
  /// The oldest entry goes (stamps, members) or joins the next, at the later time, so that sums and
  /// rings never undercount.
  void shed() noexcept;

  // Reservations of sums and members: values with how often each is reserved.
  std::uint32_t reserved() const noexcept { return reserved_; }
  V reserved_value(std::uint32_t i) const noexcept { return series.values[last_ - i]; }
  std::uint32_t& reserved_times(std::uint32_t i) noexcept { return series.times[last_ - i]; }
  std::uint32_t reserved_times(std::uint32_t i) const noexcept { return series.times[last_ - i]; }
  bool add_reserved(Slot& slot, Memory& memory, V value, std::uint32_t times) noexcept;
  void erase_reserved(std::uint32_t i) noexcept;

 private:
  static constexpr std::uint32_t kLocal = 8;

  static std::uint32_t capacity_of(unsigned order) noexcept {
    return BlockLayout<V>::capacity_of(order);
  }
  static unsigned order_of(std::uint32_t entries) noexcept {
    return Arena::order_for(BlockLayout<V>::kHead + entries * kEntryBytes<V>);
  }
  bool in_block() const noexcept { return block_ != nullptr; }
  void attach(std::byte* block, unsigned order) noexcept;
  bool move_to_block(Slot& slot, Memory& memory, unsigned order) noexcept;
  void write_head() const noexcept;
  bool pack(Slot& slot) const noexcept;
  std::uint32_t packed_max() const noexcept;
  void unpack(const Slot& slot) noexcept;

  const Counter* counter_;
  std::byte* block_ = nullptr;
  std::uint32_t reserved_ = 0;
  std::uint32_t last_ = 0;  // index of the last entry of the arrays
  std::array<std::uint32_t, kLocal> times_;
  std::array<std::conditional_t<std::is_same_v<V, Unit>, std::uint8_t, V>, kLocal> values_;
};

template <class V>
State<V>::State(const Counter& counter, const Slot* slot, const Arena& arena) noexcept
    : counter_(&counter) {
  series.times = times_.data();
  if constexpr (!std::is_same_v<V, Unit>) series.values = values_.data();
  series.capacity = kLocal;
  if (slot == nullptr) return;
  if (slot->form != static_cast<unsigned>(Slot::Form::block)) {
    unpack(*slot);
    return;
  }
  if constexpr (!std::is_same_v<V, Unit> && !std::is_same_v<V, std::uint32_t>) {
    reserved_ = slot->word[0];
  }
  attach(arena.at(slot->word[2]), slot->order);
  std::uint32_t head[2];
  std::memcpy(head, block_, sizeof(head));
  series.head = head[0];
  series.size = head[1];
  if constexpr (kHasTotal<V>) std::memcpy(&series.total, block_ + 8, sizeof(series.total));
}

template <class V>
void State<V>::attach(std::byte* block, unsigned order) noexcept {
  block_ = block;
  const BlockLayout<V> layout(block, order);
  last_ = layout.all - 1;
  series.values = layout.values;
  series.times = layout.times;
  series.capacity = layout.all - reserved_;
}

template <class V>
void State<V>::write_head() const noexcept {
  const std::uint32_t head[2] = {series.head, series.size};
  std::memcpy(block_, head, sizeof(head));
  if constexpr (kHasTotal<V>) std::memcpy(block_ + 8, &series.total, sizeof(series.total));
}

template <class V>
std::uint32_t State<V>::packed_max() const noexcept {
  if constexpr (std::is_same_v<V, Unit>) return counter_->inline_words;
  if constexpr (std::is_same_v<V, std::uint32_t>) return 2U * counter_->inline_words - 2U;
  return 1;
}

template <class V>
void State<V>::unpack(const Slot& slot) noexcept {
  series.size = slot.size;
  if constexpr (std::is_same_v<V, Unit>) {
    std::memcpy(times_.data(), slot.word, sizeof(slot.word));
  } else if constexpr (std::is_same_v<V, std::uint32_t>) {
    if (slot.form == static_cast<unsigned>(Slot::Form::pairs)) {
      for (std::uint32_t i = 0; i < series.size; ++i) {
        times_[i] = slot.word[2 * i];
        values_[i] = slot.word[2 * i + 1];
      }
    } else {
      const unsigned count_bits = 16U - counter_->delta_bits;
      for (std::uint32_t i = 0; i < series.size; ++i) {
        const std::uint32_t entry = slot.word[1 + i / 2] >> (i % 2 * 16) & 0xffffU;
        times_[i] = slot.word[0] - (entry >> count_bits);
        values_[i] = entry & ((1U << count_bits) - 1);
      }
    }
    for (std::uint32_t i = 0; i < series.size; ++i) series.total += values_[i];
  } else if (series.size != 0) {
    std::memcpy(values_.data(), slot.word, sizeof(V));
    times_[0] = slot.word[2];
    if constexpr (kHasTotal<V>) series.total = values_[0];
  }
}

template <class V>
bool State<V>::pack(Slot& slot) const noexcept {
  const std::uint32_t n = series.size;
  std::uint32_t word[4] = {};
  auto form = Slot::Form::packed;
  if (n <= packed_max()) {
    if constexpr (std::is_same_v<V, Unit>) {
      for (std::uint32_t i = 0; i < n; ++i) word[i] = series.time(i);
    } else if constexpr (std::is_same_v<V, std::uint32_t>) {
      const unsigned count_bits = 16U - counter_->delta_bits;
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t delta = series.newest() - series.time(i);
        if (delta >> counter_->delta_bits != 0 || series.value(i) >> count_bits != 0) {
          form = Slot::Form::pairs;
          break;
        }
        word[1 + i / 2] |= (delta << count_bits | series.value(i)) << (i % 2 * 16);
      }
      if (n != 0) word[0] = series.newest();
    } else if (n != 0) {
      const V v = series.value(0);
      std::memcpy(word, &v, sizeof(V));
      word[2] = series.time(0);
    }
  } else {
    form = Slot::Form::pairs;
  }
  if (form == Slot::Form::pairs) {
    if constexpr (std::is_same_v<V, std::uint32_t>) {
      if (n > counter_->inline_words / 2U) return false;
      std::memset(word, 0, sizeof(word));
      for (std::uint32_t i = 0; i < n; ++i) {
        word[2 * i] = series.time(i);
        word[2 * i + 1] = series.value(i);
      }
    } else {
      return false;
    }
  }
  // Two constant sizes, not a call of memcpy.
  if (counter_->inline_words == 4) {
    std::memcpy(slot.word, word, 16);
  } else {
    std::memcpy(slot.word, word, 12);
  }
  slot.form = static_cast<std::uint16_t>(form) & 3U;
  slot.size = n & 15U;
  slot.order = 0;
  return true;
}

template <class V>
bool State<V>::move_to_block(Slot& slot, Memory& memory, unsigned order) noexcept {
  const std::uint32_t block = memory.allocate(order, &slot);
  if (block == 0) return false;
  const Series<V> old = series;
  const std::uint32_t old_last = last_;
  const bool had_block = in_block();
  const std::uint32_t old_block = slot.word[2];
  const unsigned old_order = slot.order;
  attach(memory.arena.at(block), order);
  series.head = 0;
  std::memcpy(series.times, old.times + old.head, old.size * sizeof(std::uint32_t));
  if constexpr (!std::is_same_v<V, Unit>) {
    std::memcpy(series.values, old.values + old.head, old.size * sizeof(V));
    for (std::uint32_t i = 0; i < reserved_; ++i) {
      series.values[last_ - i] = old.values[old_last - i];
      series.times[last_ - i] = old.times[old_last - i];
    }
  }
  if (had_block) memory.arena.free(old_block, old_order);
  slot.word[0] = reserved_;
  slot.word[2] = block;
  slot.form = static_cast<unsigned>(Slot::Form::block);
  slot.order = order & 15U;
  slot.size = 0;
  return true;
}

template <class V>
bool State<V>::make_room(Slot& slot, Memory& memory) noexcept {
  if (series.has_room()) return true;
  const std::uint32_t all = series.size + reserved_;
  return move_to_block(slot, memory, order_of(all + 1));
}

template <class V>
void State<V>::shed() noexcept {
  if (series.size == 0) return;
  if constexpr (std::is_same_v<V, Unit> || std::is_same_v<V, std::uint64_t>) {
    series.pop_front();
  } else {
    if (series.size < 2) return;
    V sum;
    if constexpr (std::is_same_v<V, double>) {
      sum = series.value(0) + series.value(1);
    } else if constexpr (std::is_same_v<V, std::int64_t>) {
      sum = saturating_sum(series.value(0), series.value(1));
    } else if (__builtin_add_overflow(series.value(0), series.value(1), &sum)) {
      sum = std::numeric_limits<V>::max();
    }
    series.set(1, sum);
    series.pop_front();
  }
}

template <class V>
void State<V>::commit(Slot& slot, Memory& memory) noexcept {
  if (in_block()) {
    write_head();
    slot.word[0] = reserved_;
    if (reserved_ != 0) return;
    // Back into the slot only if half of it stays free, so that an attacker cannot make the key
    // move again and again.
    if (series.size * 2 <= packed_max() || series.size == 0) {
      const std::uint32_t block = slot.word[2];
      const unsigned order = slot.order;
      if (pack(slot)) memory.arena.free(block, order);
      return;
    }
    if (slot.order > 0 && series.size <= capacity_of(slot.order) / 8) {
      if (move_to_block(slot, memory, order_of(series.size * 2))) write_head();
    }
    return;
  }
  if (pack(slot)) return;
  if (move_to_block(slot, memory, order_of(series.size))) {
    write_head();
    return;
  }
  while (!pack(slot)) shed();
}

template <class V>
bool State<V>::add_reserved(Slot& slot, Memory& memory, V value, std::uint32_t times) noexcept {
  if (!in_block() || !series.has_room()) {
    if (!move_to_block(slot, memory, order_of(series.size + reserved_ + 1))) return false;
  }
  series.compact();  // the arrays' far end must be free
  ++reserved_;
  --series.capacity;
  series.values[last_ - (reserved_ - 1)] = value;
  series.times[last_ - (reserved_ - 1)] = times;
  return true;
}

template <class V>
void State<V>::erase_reserved(std::uint32_t i) noexcept {
  series.values[last_ - i] = series.values[last_ - (reserved_ - 1)];
  series.times[last_ - i] = series.times[last_ - (reserved_ - 1)];
  --reserved_;
  ++series.capacity;
}

}  // namespace weir::limiter
