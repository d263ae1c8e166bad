#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "limiter/kinds/block_ops.h"
#include "limiter/kinds/event_time.h"
#include "limiter/kinds/place_grid.h"

/// The range of a log: which of its entries a reading looks at.
///
///   InTime    one journal: the last W, the last n or, where events bring their own times
///             (event_time.h), the window of the event in hand
///   InRadius  the last W within the radius of the event in hand: the journals of its cell of a
///             PlaceGrid and of up to eight around it
namespace weir::limiter {

/// The entries [first, end) of a journal.
struct Part {
  std::uint32_t first = 0, end = 0;
  std::uint32_t size() const noexcept { return end - first; }
  Part newest(std::uint32_t n) const noexcept { return {end - std::min(n, size()), end}; }
};

/// The first entry that is at most `span` old; size() if the clock was set back behind them all.
template <class Journal>
std::uint32_t first_within(const Journal& journal, const Instant& now, std::int64_t span) noexcept {
  const std::uint32_t size = journal.size();
  if (size == 0 || journal.entry(size - 1).ms() - now.ms > Instant::kAheadMax) return size;
  return first_from(journal, now.ms - span);
}

/// The first entry that an event from now on may read.
template <class Journal>
std::uint32_t first_kept(const Counter& c, const Journal& journal, const Instant& now) noexcept {
  return c.rule.own_time ? first_from(journal, kept_from(c, now))
                         : first_within(journal, now, now.kept);
}

/// The part of a log that one reading looks at.
template <class J>
class LogRange {
 public:
  using Journal = J;
  using Entry = typename Journal::Entry;
  static constexpr bool kHasPlaces = std::is_same_v<Entry, PlaceEntry>;

  LogRange(const Subject& s, const Journal& own, const Look& look) noexcept
      : counter_(s.counter), now_(look.now), around_(s.around) {
    if (counter_.rule.own_time) reach_ = reach(counter_, now_.ms);
    add(own, look.stale);
    if constexpr (kHasPlaces) {
      for (const Table::Place& cell : s.around->cells) {
        const Journal journal(s.counter.table->find(cell, s.counter.index), s.arena);
        if (journal.has_block()) add(journal, false);
      }
    }
    each_reservation([&](std::uint64_t) {
      ++reservations_;
      return false;
    });
  }

  /// Without places: the journal, and the part of it that is read.
  const Journal& journal() const noexcept { return seen_[0].journal; }
  Part newest(std::uint32_t most) const noexcept { return seen_[0].part.newest(most); }

  std::uint32_t reservations() const noexcept { return reservations_; }
  /// Events at most, whether here or not.
  std::size_t at_most() const noexcept {
    std::size_t n = 0;
    for (std::size_t c = 0; c < size_; ++c) n += seen_[c].part.size() + seen_[c].journal.reserved();
    return n;
  }

  /// Calls f with the bits of the newest `most` entries of a journal, oldest first, until f returns
  /// true; returns whether f did.
  template <class F>
  bool settled(std::uint32_t most, F&& f) const noexcept {
    for (std::size_t c = 0; c < size_; ++c) {
      const Part part = seen_[c].part.newest(most);
      for (std::uint32_t i = part.first; i < part.end; ++i) {
        const Entry& entry = seen_[c].journal.entry(i);
        if (is_here(entry) && f(entry.bits)) return true;
      }
    }
    return false;
  }
  /// The same of the newest `most` reservations.
  template <class F>
  bool reserved(std::uint32_t most, F&& f) const noexcept {
    std::uint32_t older = reservations_ - std::min(most, reservations_);
    return each_reservation([&](std::uint64_t bits) {
      if (older == 0) return f(bits);
      --older;
      return false;
    });
  }

  static bool is_near(const Around& around, const PlaceEntry& entry) noexcept {
    return around.at.chord_squared(entry.at) <= around.reach;
  }

 private:
  struct Seen {
    Journal journal{nullptr};
    Part part;
  };

  void add(const Journal& journal, bool is_stale) noexcept {
    Seen& seen = seen_[size_++];
    seen.journal = journal;
    if (!is_stale) seen.part = part_of(journal);
  }
  /// The entries that are in the window.
  Part part_of(const Journal& journal) const noexcept {
    if (!counter_.rule.own_time) return {first_within(journal, now_, now_.span), journal.size()};
    return {first_from(journal, reach_.from), first_from(journal, reach_.to + 1)};
  }
  bool is_here([[maybe_unused]] const Entry& entry) const noexcept {
    if constexpr (kHasPlaces) return is_near(*around_, entry);
    return true;
  }
  template <class F>
  bool each_reservation(F&& f) const noexcept {
    for (std::size_t c = 0; c < size_; ++c) {
      const Journal& journal = seen_[c].journal;
      for (std::uint32_t i = 0; i < journal.reserved(); ++i) {
        const Entry& entry = journal.reservation(i);
        if (counter_.rule.own_time && !reach_.has(entry.ms())) continue;
        if (is_here(entry) && f(entry.bits)) return true;
      }
    }
    return false;
  }

  const Counter& counter_;
  const Instant& now_;
  const Around* around_;
  Reach reach_;  // of own_time
  std::array<Seen, kHasPlaces ? PlaceGrid::kCells : 1> seen_;
  std::size_t size_ = 0;
  std::uint32_t reservations_ = 0;
};

using InTime = LogRange<Journal>;
using InRadius = LogRange<PlaceJournal>;

}  // namespace weir::limiter
