#pragma once

#include <algorithm>
#include <bit>

#include "limiter/kinds/journal.h"

namespace weir::limiter {

/// The operations of every kind whose keys are journals. K defines the parts that differ between
/// kinds:
///
///   valid(counter, event)                  whether this event can be counted at all
///   drop_dead(journal, counter, now)       removes entries outside the window
///   read(subject, journal, look)           value, settled, has_value, datum; changes nothing
///   add(subject, journal, memory, now, ms, event, undo)   false: no memory
///   take_back(subject, journal, memory, undo)
///   clear(journal), empty(journal)         of the settled entries
///   clear_until(journal, counter, ms)      of kinds for events with times of their own
///   add_spilled(subject, journal, undo, reading)   of kinds that keep less than was added
///   bits(counter, event)                   how a reservation remembers the event
///   Journal                                Journal or PlaceJournal
///   take_out, put_in                       as in KindOps
///
/// A reservation counts as if it were the latest event.
struct Look {
  const Instant& now;
  const Amount* event;  ///< the current event, or null
  bool stale;           ///< the key is older than its window: nothing settled counts
  bool reserved;        ///< `value` includes events in flight
};

template <class K>
struct BlockOps {
  using Journal = typename K::Journal;
  using Entry = typename Journal::Entry;
  static constexpr bool kPlaces = std::is_same_v<Entry, PlaceEntry>;

  static Reading charge(Subject& s, const Instant& now, const Amount& event, const Ceiling* ceiling,
                        Undo* undo) noexcept {
    return judge(s, now, event, ceiling, undo, [&](Journal& journal, Memory& memory, Undo& u) {
      u.what = Undo::What::charge;
      return K::add(s, journal, memory, now, now.ms, event, u);
    });
  }

  static Reading reserve(Subject& s, const Instant& now, const Amount& event,
                         const Ceiling* ceiling, Undo* undo) noexcept {
    return judge(s, now, event, ceiling, undo, [&](Journal& journal, Memory& memory, Undo& u) {
      if (!journal.make_reserve_room(*s.slot, memory)) return false;
      journal.add_reservation(entry_of(s, now.ms, event));
      s.slot->held = 1;
      u.what = Undo::What::reservation;
      return true;
    });
  }

  static Reading peek(const Subject& s, const Instant& now, const Amount* event) noexcept {
    return read(s, Journal(s.slot, s.arena), now, event);
  }

  static void uncharge(Subject& s, const Undo& undo) noexcept {
    if (s.slot == nullptr) return;
    Journal journal(s.slot, s.arena);
    Memory memory = memory_of(s);
    if (journal.has_block()) {
      if (undo.what == Undo::What::reservation) drop_reservation(s, journal, undo);
      if (undo.what == Undo::What::charge) K::take_back(s, journal, memory, undo);
    }
    finish(s, journal, memory);
  }

  static Reading settle(Subject& s, const Instant& now, std::int64_t event_ms, const Amount& event,
                        const Undo& undo, bool matched) noexcept {
    const bool counts = matched && K::valid(s.counter, event) && now.covers(event_ms);
    Table::Claim claim;
    bool full = false;
    if (counts && s.slot == nullptr) {
      claim = s.counter.table->claim(s.place, s.counter.index, s.ages, s.arena);
      s.slot = claim.slot;
      full = s.slot == nullptr;
      if (!full) s.slot->touched = now.second;
    }
    Journal journal = open(s, now);
    Memory memory = memory_of(s);
    bool stored = false;
    Undo counted;
    if (s.slot != nullptr) {
      if (undo.what == Undo::What::reservation && journal.has_block())
        drop_reservation(s, journal, undo);
      if (counts) {
        stored = K::add(s, journal, memory, now, event_ms, event, counted);
        full = !stored;
        if (stored) touch(*s.slot, static_cast<std::uint32_t>(event_ms / 1000));
      }
    }
    Reading r = read(s, journal, now, full ? &event : nullptr, false);
    if constexpr (requires { K::add_spilled(s, journal, counted, r); }) {
      if (stored) K::add_spilled(s, journal, counted, r);
    }
    finish(s, journal, memory);
    r.stored = stored;
    r.displaced = claim.displaced;
    r.full = full;
    return r;
  }

  static void reset(Subject& s, const Instant& now) noexcept {
    if (s.slot == nullptr) return;
    Journal journal(s.slot, s.arena);
    Memory memory = memory_of(s);
    if (journal.has_block()) clear_until(s, journal, now);
    s.slot->pinned = 0;
    finish(s, journal, memory);
  }

  static void take_out(const Subject& s, const Instant& now, std::vector<PlainEntry>& out) {
    const Journal journal(s.slot, s.arena);
    if (journal.has_block() && !stale(s, now)) K::take_out(s, journal, now, out);
  }

  static void put_in(Subject& s, const Instant& now, std::span<const PlainEntry> entries) noexcept {
    const Table::Claim claim = s.counter.table->claim(s.place, s.counter.index, s.ages, s.arena);
    s.slot = claim.slot;
    if (s.slot == nullptr) return;
    s.slot->touched = static_cast<std::uint32_t>(entries.back().ms / 1000);
    Journal journal(s.slot, s.arena);
    Memory memory = memory_of(s);
    K::put_in(s, journal, memory, now, entries);
    if (journal.has_block()) drop_dead(s, journal, now);
    finish(s, journal, memory);
  }

 protected:
  static Entry entry_of(const Subject& s, std::int64_t ms, const Amount& event) noexcept {
    if constexpr (kPlaces) {
      return Entry::of(ms, K::bits(s.counter, event), s.around->at);
    } else {
      return Entry::of(ms, K::bits(s.counter, event));
    }
  }

  static Memory memory_of(const Subject& s) noexcept {
    return {*s.counter.table, *s.place.region, s.ages, s.arena};
  }

  static bool stale(const Subject& s, const Instant& now) noexcept {
    const auto since = static_cast<std::int32_t>(now.second - s.slot->touched);
    return since > static_cast<std::int64_t>(s.counter.idle_seconds) || since < -61;
  }

  static void drop_dead(const Subject& s, Journal& journal, const Instant& now) noexcept {
    if (stale(s, now)) K::clear(journal);
    K::drop_dead(journal, s.counter, now);
  }

  static Journal open(Subject& s, const Instant& now) noexcept {
    Journal journal(s.slot, s.arena);
    if (s.slot == nullptr) return journal;
    if (s.slot->pinned != 0 && stale(s, now)) s.slot->pinned = 0;
    if (journal.has_block()) drop_dead(s, journal, now);
    return journal;
  }

  static void clear_until(const Subject& s, Journal& journal, const Instant& now) noexcept {
    if constexpr (requires { K::clear_until(journal, s.counter, now.ms); }) {
      if (now.rule->own_time) return K::clear_until(journal, s.counter, now.ms);
    }
    K::clear(journal);
  }

  static void touch(Slot& slot, std::uint32_t second) noexcept {
    if (static_cast<std::int32_t>(second - slot.touched) > 0) slot.touched = second;
  }

  static Reading read(const Subject& s, const Journal& journal, const Instant& now,
                      const Amount* event, bool reserved = true) noexcept {
    const bool dead = s.slot == nullptr || stale(s, now);
    Reading r = K::read(s, journal, Look{now, event, dead, reserved});
    if constexpr (!kPlaces) r.in_flight = journal.reserved();
    return r;
  }

  template <class Add>
  [[gnu::always_inline]] static inline Reading judge(Subject& s, const Instant& now,
                                                     const Amount& event, const Ceiling* ceiling,
                                                     Undo* undo, Add&& add) noexcept {
    if (undo != nullptr) *undo = Undo{};
    Journal journal = open(s, now);
    Reading r = read(s, journal, now, &event);
    r.refused = !K::valid(s.counter, event) ||
                (ceiling != nullptr && r.has_value && ceiling->broken_by(r.value));
    Memory memory = memory_of(s);
    if (!r.refused && s.slot == nullptr) claim_slot(s, now, r);
    if (s.slot == nullptr) return r;
    if (!r.refused) {
      Undo u;
      u.amount = event;
      u.amount.datum = nullptr;  // the caller's; gone by the time it is undone
      u.at = from_ms(now.ms);
      r.stored = add(journal, memory, u);
      r.full = !r.stored;
      if (undo != nullptr && r.stored) *undo = u;
      if (r.stored && u.what == Undo::What::charge) touch(*s.slot, now.second);
    }
    finish(s, journal, memory);
    return r;
  }

  static void drop_reservation(Subject& s, Journal& journal, const Undo& undo) noexcept {
    const Entry gone = entry_of(s, to_ms(undo.at), undo.amount);
    for (std::uint32_t i = journal.reserved(); i-- > 0;) {
      if (!journal.reservation(i).same(gone)) continue;
      journal.erase_reservation(i);
      break;
    }
    s.slot->held = journal.reserved() != 0;
  }

  /// A key that holds nothing gives its slot back.
  static void finish(Subject& s, Journal& journal, Memory& memory) noexcept {
    if (s.slot == nullptr) return;
    if (s.slot->held == 0 && (!journal.has_block() || K::empty(journal))) {
      memory.table.release(memory.region, *s.slot, memory.arena);
      s.slot = nullptr;
    } else {
      journal.fit(*s.slot, memory);
    }
  }
};

template <class K>
constexpr KindOps kBlockOps = kOpsOf<BlockOps<K>>;

}  // namespace weir::limiter
