#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "limiter/kinds/amounts.h"
#include "limiter/kinds/counter.h"
#include "limiter/kinds/state.h"

namespace weir::limiter {

/// The common case of a count, straight on the slot's 16 bytes or the key's block: a key's first
/// event, one event more at the newest time, or a look at it; of members: the first one, and one
/// more in a block. Opening and closing a State costs some 60 ns beside it. In all other cases it
/// returns false with nothing changed, and the caller takes the general way; the tests hold both to
/// the same model. Layouts: state.h.
template <class V>
struct Packed {
  /// `undo`, unless it is null, and `r` are as made.
  [[gnu::always_inline]] static bool charge(Slot& slot, const Counter& counter, const Arena& arena,
                                            const Instant& now, const Amount& event,
                                            const Ceiling* ceiling, Undo* undo,
                                            Reading& r) noexcept {
    if (!counter.rule.plain || !is_one(event)) return false;
    bool done = false;
    std::uint32_t stamp = now.stamp;  // of the entry
    if constexpr (kMembers) {
      return slot.form == static_cast<unsigned>(Slot::Form::block) &&
             charge_members(slot, counter, arena, now, event, ceiling, undo, r);
    } else if constexpr (std::is_same_v<V, Unit>) {
      done = slot.form == static_cast<unsigned>(Slot::Form::packed) && slot.size != 0 &&
             charge_stamps(slot, counter, now, ceiling, r);
    } else if (slot.form == static_cast<unsigned>(Slot::Form::block)) {
      done = charge_block(slot, counter, arena, now, ceiling, r);
    } else if (slot.size == 0) {
      return false;
    } else if (slot.form == static_cast<unsigned>(Slot::Form::packed)) {
      done = charge_ring(slot, counter, now, ceiling, stamp, r);
    } else {
      done = charge_pairs(slot, counter, now, ceiling, r);
    }
    if (done && !r.refused) stored(r, slot, now, stamp, event, undo);
    return done;
  }

  /// Whether begin() can write the first event of a key.
  static bool may_begin(const Counter& counter, const Amount& event) noexcept {
    return counter.rule.plain && !counter.rule.own_time && counter.delta_bits < 16 && is_one(event);
  }
  /// The first event of a key, whose slot has just been claimed.
  static void begin(Slot& slot, const Instant& now, const Amount& event, Undo* undo,
                    Reading& r) noexcept {
    if constexpr (kMembers) {
      std::memcpy(slot.word, &event.member, sizeof event.member);
      slot.word[2] = now.stamp;
    } else {
      slot.word[0] = now.stamp;
      if constexpr (!std::is_same_v<V, Unit>) slot.word[1] = 1;  // no quantum before it, one event
    }
    slot.size = 1;
    slot.touched = now.second;
    stored(r, slot, now, now.stamp, event, undo);
  }

  /// `r` is as made.
  static bool peek(const Slot& slot, const Counter& counter, const Arena& arena, const Instant& now,
                   const Amount* event, Reading& r) noexcept {
    if (!counter.rule.plain) return false;
    std::int64_t settled = event != nullptr ? count_of(*event) : 0;
    const bool in_block = slot.form == static_cast<unsigned>(Slot::Form::block);
    if constexpr (std::is_same_v<V, Unit>) {
      if (in_block || slot.size == 0) return false;
      const std::int64_t age = now.age(slot.word[slot.size - 1U]);
      if (age < 0) return false;
      settled += slot.size - dead_stamps(slot, now, age);
      settled = std::min<std::int64_t>(settled, counter.keep.load(std::memory_order_relaxed));
    } else if (in_block) {
      const Block block(slot, arena);
      const std::int64_t age = now.age(block.newest());
      if (age < 0) return false;
      settled += static_cast<std::int64_t>(block.total - block.dead(now, age).total);
    } else {
      if (slot.form != static_cast<unsigned>(Slot::Form::packed) || slot.size == 0) return false;
      const std::int64_t age = now.age(slot.word[0]);
      if (age < 0) return false;
      const Ring ring(slot, counter, now, age);
      settled += ring.total;
    }
    judge(r, slot, counter, settled, nullptr);
    return true;
  }

  /// The same for a sum of which the slot holds all, without an event.
  static bool peek_sum(const Slot& slot, const Counter& counter, const Instant& now,
                       V& sum) noexcept {
    if (!counter.rule.plain || slot.size != 1 ||
        slot.form != static_cast<unsigned>(Slot::Form::packed))
      return false;
    const std::int64_t age = now.age(slot.word[2]);
    if (age < 0) return false;
    sum = 0;
    if (now.live(age)) std::memcpy(&sum, slot.word, sizeof sum);
    return true;
  }

 private:
  static constexpr bool kMembers = std::is_same_v<V, std::uint64_t>;
  static bool is_one(const Amount& event) noexcept {
    return kMembers || (!event.amount.is_real() && event.amount.integer() == 1);
  }

  /// How many of a slot's stamps have left the window; `age`: of the newest.
  static unsigned dead_stamps(const Slot& slot, const Instant& now, std::int64_t age) noexcept {
    const std::uint32_t newest = slot.word[slot.size - 1U];
    unsigned dead = 0;
    while (dead < slot.size && !now.live(age + std::int64_t{newest - slot.word[dead]})) ++dead;
    return dead;
  }

  static bool charge_stamps(Slot& slot, const Counter& counter, const Instant& now,
                            const Ceiling* ceiling, Reading& r) noexcept {
    const std::int64_t age = now.age(slot.word[slot.size - 1U]);
    if (age < 0) return false;
    const unsigned dead = dead_stamps(slot, now, age);
    const unsigned live = slot.size - dead;
    if (live >= counter.keep.load(std::memory_order_relaxed)) return false;
    judge(r, slot, counter, live + 1, ceiling);
    if (r.refused) return dead == 0;  // otherwise the general way removes dead entries
    if (live == counter.inline_words) return false;
    for (unsigned i = 0; i < live; ++i) slot.word[i] = slot.word[i + dead];
    slot.word[live] = now.stamp;
    slot.size = (live + 1) & 15U;
    return true;
  }

  /// The entries of a packed ring, and the part of them in the window; `age`: of the newest.
  struct Ring {
    Ring(const Slot& slot, const Counter& counter, const Instant& now, std::int64_t age) noexcept
        : count_bits(16U - counter.delta_bits), count_max((1U << count_bits) - 1), size(slot.size) {
      std::memcpy(entry, slot.word + 1, 8);
      if (counter.inline_words == 4) std::memcpy(entry + 4, slot.word + 3, 4);
      while (dead < size && !now.live(age + (entry[dead] >> count_bits))) ++dead;
      for (unsigned i = dead; i < size; ++i) total += entry[i] & count_max;
    }
    unsigned count_bits;
    std::uint32_t count_max;
    unsigned size, dead = 0;
    std::int64_t total = 0;
    std::uint16_t entry[6];
  };

  [[gnu::always_inline]] static bool charge_ring(Slot& slot, const Counter& counter,
                                                 const Instant& now, const Ceiling* ceiling,
                                                 std::uint32_t& stamp, Reading& r) noexcept {
    const std::int64_t age = now.age(slot.word[0]);
    if (age < 0) return false;
    Ring ring(slot, counter, now, age);
    judge(r, slot, counter, ring.total + 1, ceiling);
    if (r.refused) return ring.dead == 0;  // otherwise the general way removes dead entries
    const unsigned n = ring.size;
    unsigned live = n - ring.dead;
    // A calendar's quanta are seconds, and all events of its window are one entry.
    const bool joins = live != 0 && (age == 0 || counter.rule.merge == Rule::Merge::newest);
    if (joins) stamp = slot.word[0];
    if (joins ? (ring.entry[n - 1] & ring.count_max) == ring.count_max
              : live == 2U * counter.inline_words - 2U) {
      return false;
    }
    if (joins && ring.dead == 0) {  // of a busy key: one entry grows
      ++ring.entry[n - 1];
      std::memcpy(reinterpret_cast<std::byte*>(slot.word + 1) + 2 * (n - 1), ring.entry + (n - 1),
                  2);
      return true;
    }
    std::uint16_t kept[6] = {};
    // A live entry is at most `span` older than now, which delta_bits can hold.
    const auto step = static_cast<std::uint32_t>(joins ? 0 : age) << ring.count_bits;
    for (unsigned i = 0; i < live; ++i) {
      kept[i] = static_cast<std::uint16_t>(ring.entry[ring.dead + i] + step);
    }
    if (joins) {
      ++kept[live - 1];
    } else {
      kept[live++] = 1;
    }
    slot.word[0] = stamp;
    std::memcpy(slot.word + 1, kept, 8);
    if (counter.inline_words == 4) std::memcpy(slot.word + 3, kept + 4, 4);
    slot.size = live & 15U;
    return true;
  }

  /// Many events in few quanta: the newest entry grows.
  static bool charge_pairs(Slot& slot, const Counter& counter, const Instant& now,
                           const Ceiling* ceiling, Reading& r) noexcept {
    const unsigned newest = 2 * (slot.size - 1U);
    if (now.age(slot.word[newest]) != 0) return false;
    std::int64_t total = 0;
    for (unsigned i = 0; i <= newest; i += 2) {
      if (!now.live(std::int64_t{slot.word[newest] - slot.word[i]})) return false;
      total += slot.word[i + 1];
    }
    judge(r, slot, counter, total + 1, ceiling);
    if (r.refused) return true;
    if (slot.word[newest + 1] == std::numeric_limits<std::uint32_t>::max()) return false;
    ++slot.word[newest + 1];
    return true;
  }

  /// A ring with more entries than fit into a slot.
  struct Block {
    Block(const Slot& slot, const Arena& arena) noexcept
        : bytes(arena.at(slot.word[2])), at(bytes, slot.order) {
      std::memcpy(&head, bytes, sizeof head);
      std::memcpy(&size, bytes + 4, sizeof size);
      std::memcpy(&total, bytes + 8, sizeof total);
    }
    void write() const noexcept {
      std::memcpy(bytes, &head, sizeof head);
      std::memcpy(bytes + 4, &size, sizeof size);
      std::memcpy(bytes + 8, &total, sizeof total);
    }
    std::uint32_t newest() const noexcept { return at.times[head + size - 1]; }

    struct Dead {
      std::uint32_t entries = 0;
      std::uint64_t total = 0;
    };
    /// The entries that have left the window; `age`: of the newest.
    Dead dead(const Instant& now, std::int64_t age) const noexcept {
      Dead out;
      while (out.entries < size &&
             !now.live(age + std::int64_t{newest() - at.times[head + out.entries]})) {
        out.total += at.values[head + out.entries++];
      }
      return out;
    }

    std::byte* bytes;
    BlockLayout<std::uint32_t> at;
    std::uint32_t head, size;
    std::uint64_t total;
  };

  [[gnu::always_inline]] static bool charge_block(Slot& slot, const Counter& counter,
                                                  const Arena& arena, const Instant& now,
                                                  const Ceiling* ceiling, Reading& r) noexcept {
    Block block(slot, arena);
    const std::int64_t age = now.age(block.newest());
    if (age < 0) return false;
    const auto dead = block.dead(now, age);
    const std::uint32_t live = block.size - dead.entries;
    // Entries that might fit into a smaller block, or into the slot, go the general way:
    // State::commit.
    if (live < counter.inline_words || (slot.order > 0 && live <= block.at.all / 8)) return false;
    block.total -= dead.total;
    judge(r, slot, counter, static_cast<std::int64_t>(block.total) + 1, ceiling);
    if (r.refused) return dead.entries == 0;  // as above
    const std::uint32_t end = block.head + block.size;
    if (age == 0) {
      if (block.at.values[end - 1] == std::numeric_limits<std::uint32_t>::max()) return false;
      ++block.at.values[end - 1];
    } else {
      if (end == block.at.all) return false;
      block.at.times[end] = now.stamp;
      block.at.values[end] = 1;
      ++block.size;
    }
    block.head += dead.entries;
    block.size -= dead.entries;
    ++block.total;
    block.write();
    return true;
  }

  /// A member that joins those of a block, none of which has left the window or is reserved. As
  /// WindowEntries::insert().
  static bool charge_members(Slot& slot, const Counter& counter, const Arena& arena,
                             const Instant& now, const Amount& event, const Ceiling* ceiling,
                             Undo* undo, Reading& r) noexcept {
    std::byte* const bytes = arena.at(slot.word[2]);
    const BlockLayout<std::uint64_t> at(bytes, slot.order);
    std::uint32_t bounds[2];  // where the members begin, and how many there are
    std::memcpy(bounds, bytes, sizeof bounds);
    const auto [head, size] = bounds;
    if (size == 0 || slot.word[0] != 0 || slot.held != 0 || counter.rule.own_time) return false;
    const std::uint32_t newest = at.times[head + size - 1];
    const std::int64_t age = now.age(newest);
    if (age < 0 || !now.live(age + std::int64_t{newest - at.times[head]})) return false;
    // A state that might fit into a smaller block goes the general way: State::commit.
    if (slot.order > 0 && size <= at.all / 8) return false;
    const std::uint64_t* const members = at.values + head;
    const auto i =
        static_cast<std::uint32_t>(std::find(members, members + size, event.member) - members);
    const bool fresh = i == size;
    const std::uint32_t end = head + size;
    const bool full = size >= counter.keep.load(std::memory_order_relaxed) || end == at.all;
    if (fresh && full) return false;
    judge(r, slot, counter, size + (fresh ? 1 : 0), ceiling);
    if (r.refused) return true;
    const std::uint32_t former = fresh ? 0 : at.times[head + i];
    std::uint32_t stamp = now.stamp;
    if (fresh) {
      at.values[end] = event.member;
      at.times[end] = stamp;
      bounds[1] = size + 1;
      std::memcpy(bytes, bounds, sizeof bounds);
    } else if (!counter.rule.aligned && former != stamp) {  // it becomes the newest
      std::copy(at.values + head + i + 1, at.values + end, at.values + head + i);
      std::copy(at.times + head + i + 1, at.times + end, at.times + head + i);
      at.values[end - 1] = event.member;
      at.times[end - 1] = stamp;
    } else {
      stamp = former;  // nothing has changed
      r.stored = true;
      if (undo != nullptr)
        *undo = {.what = Undo::What::charge,
                 .stamp = stamp,
                 .former = former,
                 .amount = event,
                 .at = from_ms(now.ms)};
      return true;
    }
    stored(r, slot, now, stamp, event, undo);
    if (undo == nullptr) return true;
    undo->fresh = fresh;
    undo->former = former;
    return true;
  }

  static void judge(Reading& r, const Slot& slot, const Counter& counter, std::int64_t settled,
                    const Ceiling* ceiling) noexcept {
    r.in_flight = counter.holds_reservations() ? slot.word[3] : 0;
    r.settled = Number(settled);
    r.value = Number(settled + r.in_flight);
    r.refused = ceiling != nullptr && ceiling->broken_by(r.value);
  }

  static void stored(Reading& r, Slot& slot, const Instant& now, std::uint32_t stamp,
                     const Amount& event, Undo* undo) noexcept {
    r.stored = true;
    if (static_cast<std::int32_t>(now.second - slot.touched) > 0) slot.touched = now.second;
    if (undo == nullptr) return;
    undo->what = Undo::What::charge;
    undo->fresh = true;
    undo->stamp = stamp;
    undo->amount = event;
    undo->at = from_ms(now.ms);
  }
};

}  // namespace weir::limiter
