#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "limiter/counter.h"
#include "limiter/series.h"

namespace weir::limiter {

/// The common case of a count, straight on the slot's 16 bytes: a key that is there, with few
/// entries, and one event more at the newest time. Opening and closing a State costs some 60 ns
/// beside it. What does not fit returns false with nothing changed, and takes the general way; both
/// are held to the same model by the tests. Layouts: state.h.
template <class V>
struct Packed {
  /// `undo`, unless it is null, and `r` are as made.
  static bool charge(Slot& slot, const Counter& counter, const Instant& now, const Amount& event,
                     const Ceiling* ceiling, Undo* undo, Reading& r) noexcept {
    if (slot.form != static_cast<unsigned>(Slot::Form::packed) || slot.size == 0 ||
        !counter.rule.plain || event.amount.is_real() || event.amount.integer() != 1) {
      return false;
    }
    if constexpr (std::is_same_v<V, Unit>) {
      return charge_stamps(slot, counter, now, event, ceiling, undo, r);
    } else {
      return charge_ring(slot, counter, now, event, ceiling, undo, r);
    }
  }

 private:
  static bool charge_stamps(Slot& slot, const Counter& counter, const Instant& now,
                            const Amount& event, const Ceiling* ceiling, Undo* undo,
                            Reading& r) noexcept {
    const unsigned n = slot.size;
    const std::uint32_t newest = slot.word[n - 1];
    const std::int64_t age = now.age(newest);
    if (age < 0) return false;
    unsigned dead = 0;
    while (dead < n && !now.live(age + std::int64_t{newest - slot.word[dead]})) ++dead;
    const unsigned live = n - dead;
    if (live >= counter.keep.load(std::memory_order_relaxed)) return false;
    judge(r, slot, counter, live + 1, ceiling);
    if (r.refused) return dead == 0;  // else what is dead goes the general way
    if (live == counter.inline_words) return false;
    for (unsigned i = 0; i < live; ++i) slot.word[i] = slot.word[i + dead];
    slot.word[live] = now.stamp;
    slot.size = (live + 1) & 15U;
    stored(r, slot, now, event, undo);
    return true;
  }

  static bool charge_ring(Slot& slot, const Counter& counter, const Instant& now,
                          const Amount& event, const Ceiling* ceiling, Undo* undo,
                          Reading& r) noexcept {
    const unsigned n = slot.size;
    const std::int64_t age = now.age(slot.word[0]);
    if (age < 0) return false;
    const unsigned count_bits = 16U - counter.delta_bits;
    const std::uint32_t count_max = (1U << count_bits) - 1;
    std::uint16_t entry[6];
    std::memcpy(entry, slot.word + 1, 8);
    if (counter.inline_words == 4) std::memcpy(entry + 4, slot.word + 3, 4);
    unsigned dead = 0;
    while (dead < n && !now.live(age + (entry[dead] >> count_bits))) ++dead;
    std::int64_t total = 0;
    for (unsigned i = dead; i < n; ++i) total += entry[i] & count_max;
    judge(r, slot, counter, total + 1, ceiling);
    if (r.refused) return dead == 0;  // else what is dead goes the general way
    unsigned live = n - dead;
    const bool joins = age == 0 && live != 0;
    if (joins ? (entry[n - 1] & count_max) == count_max : live == 2U * counter.inline_words - 2U) {
      return false;
    }
    if (joins && dead == 0) {  // of a busy key: one entry grows
      ++entry[n - 1];
      std::memcpy(reinterpret_cast<std::byte*>(slot.word + 1) + 2 * (n - 1), entry + (n - 1), 2);
      stored(r, slot, now, event, undo);
      return true;
    }
    std::uint16_t kept[6] = {};
    // A live entry is at most `span` older than now, which is what delta_bits hold.
    const auto step = static_cast<std::uint32_t>(joins ? 0 : age) << count_bits;
    for (unsigned i = 0; i < live; ++i) {
      kept[i] = static_cast<std::uint16_t>(entry[dead + i] + step);
    }
    if (joins) {
      ++kept[live - 1];
    } else {
      kept[live++] = 1;
    }
    slot.word[0] = now.stamp;
    std::memcpy(slot.word + 1, kept, 8);
    if (counter.inline_words == 4) std::memcpy(slot.word + 3, kept + 4, 4);
    slot.size = live & 15U;
    stored(r, slot, now, event, undo);
    return true;
  }

  static void judge(Reading& r, const Slot& slot, const Counter& counter, std::int64_t settled,
                    const Ceiling* ceiling) noexcept {
    r.in_flight = counter.holds_reservations() ? slot.word[3] : 0;
    r.settled = Number(settled);
    r.value = Number(settled + r.in_flight);
    r.refused = ceiling != nullptr && ceiling->broken_by(r.value);
  }

  static void stored(Reading& r, Slot& slot, const Instant& now, const Amount& event,
                     Undo* undo) noexcept {
    r.stored = true;
    if (static_cast<std::int32_t>(now.second - slot.touched) > 0) slot.touched = now.second;
    if (undo == nullptr) return;
    undo->what = Undo::What::charge;
    undo->fresh = true;
    undo->stamp = now.stamp;
    undo->amount = event;
    undo->at = from_ms(now.ms);
  }
};

}  // namespace weir::limiter
