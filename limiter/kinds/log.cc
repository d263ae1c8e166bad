#include "limiter/kinds/log.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "limiter/kinds/block_ops.h"
#include "limiter/kinds/log_fold.h"
#include "limiter/kinds/log_range.h"

namespace weir::limiter {
namespace {

template <class Range, class F>
struct Log {
  using Journal = typename Range::Journal;
  using Entry = typename Journal::Entry;
  static constexpr bool kHasPlaces = Range::kHasPlaces;

  static bool valid(const Counter& c, const Amount& event) noexcept { return F::valid(c, event); }
  static std::uint64_t bits(const Counter& c, const Amount& event) noexcept {
    return bits_of(c.spec, event);
  }
  static bool empty(const Journal& journal) noexcept { return journal.size() == 0; }
  static void clear(Journal& journal) noexcept {
    JournalHead& h = journal.head();
    h.size = h.first = 0;
    h.set_wide(0);
    h.at = 0;
    h.extra = 0;
  }
  /// Removes everything up to that time.
  static void clear_until(Journal& journal, const Counter& c, std::int64_t ms) noexcept {
    while (journal.size() != 0 && journal.entry(0).ms() <= ms) pop(journal, c);
    mend(journal, c);
  }
  static void drop_dead(Journal& journal, const Counter& c, const Instant& now) noexcept {
    std::uint32_t dead = first_kept(c, journal, now);
    if (c.rule.own_time && c.spec.window == Window::events) {
      // An entry that has n later entries, all older than the lateness bound, can never be among
      // the last n of a reading.
      const std::uint32_t sure = first_from(journal, earliest(c, now) + 1);
      dead = std::max(dead, sure - std::min(sure, c.spec.events));
    }
    if (dead != 0 && dead == journal.size()) return clear(journal);
    for (; dead > 0; --dead) pop(journal, c);
    mend(journal, c);
  }

  static Reading read(const Subject& s, const Journal& journal, const Look& look) noexcept {
    const Range range(s, journal, look);
    const bool counts_itself = look.event != nullptr && F::kCountsItself;
    const std::uint32_t room = s.counter.spec.window == Window::events
                                   ? s.counter.spec.events - counts_itself
                                   : std::numeric_limits<std::uint32_t>::max();
    const std::uint32_t reserved = look.reserved ? std::min(range.reservations(), room) : 0;
    Reading r;
    Fold::Value value = F::value(s, range, room, 0, look.event);
    r.settled = value.number;
    if (reserved != 0) value = F::value(s, range, room - reserved, reserved, look.event);
    r.value = value.number;
    r.has_value = value.is_there;
    r.in_flight = range.reservations();
    return r;
  }

  static bool add(Subject& s, Journal& journal, Memory& memory, const Instant&,
                  std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    const Counter& c = s.counter;
    const Entry entry = entry_of(s, stamp_of(c, event_ms), bits_of(c.spec, event));
    const bool sums = F::adds_up(c);
    std::uint32_t at = joins_at(journal, c, entry.ms());
    while (at == journal.size() && journal.size() > sums &&
           (journal.size() >= most_entries<F>(c) || !journal.make_room(*s.slot, memory, 1))) {
      const Entry oldest = journal.entry(0);
      if (entry.ms() < oldest.ms()) {  // older than all there is room for
        if (!sums) {
          undo.what = Undo::What::nothing;
          return true;
        }
        if (!kHasPlaces) {
          at = 0;
          break;
        }
      }
      const std::uint64_t next = sums ? journal.entry(1).bits : 0;
      if (!undo.dropped) note_dropped(undo, oldest, next);
      if (sums) set(journal, c, 1, sum_of(c.spec, oldest.bits, next));
      pop(journal, c);
      at = journal.size();
    }
    if (at < journal.size()) {
      undo.former_value = journal.entry(at).bits;
      set(journal, c, at, sum_of(c.spec, undo.former_value, entry.bits));
      return true;
    }
    if (!journal.make_room(*s.slot, memory, 1)) return false;
    undo.fresh = true;
    place(journal, c, journal.place_of(entry.ms()), entry);
    mend(journal, c);
    return true;
  }

  static void take_back(Subject& s, Journal& journal, Memory& memory, const Undo& undo) noexcept {
    const Counter& c = s.counter;
    const std::int64_t stamp = stamp_of(c, to_ms(undo.at));
    const std::uint64_t bits = bits_of(c.spec, undo.amount);
    if (!undo.fresh || F::joins(c.spec)) {
      take_off(journal, c, stamp, bits, undo);
    } else {
      const Entry gone = entry_of(s, stamp, bits);
      std::uint32_t i = first_from(journal, stamp + 1);
      while (i > 0 && !journal.entry(i - 1).same(gone)) --i;
      if (i == 0) return;
      forget(journal, c, journal.entry(i - 1));
      journal.erase(i - 1);
      changed(journal, c, bits);
    }
    if (undo.dropped) put_back_dropped(s, journal, memory, undo);
    mend(journal, c);
  }

  static void take_out(const Subject& s, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    for (std::uint32_t i = first_kept(s.counter, journal, now); i < journal.size(); ++i) {
      const Entry& entry = journal.entry(i);
      out.push_back({entry.ms(), entry.bits});
      if constexpr (kHasPlaces) {
        for (const double part : {entry.at.x, entry.at.y, entry.at.z})
          out.push_back({entry.ms(), std::bit_cast<std::uint64_t>(part)});
      }
    }
  }
  static void put_in(Subject& s, Journal& journal, Memory& memory, const Instant&,
                     std::span<const PlainEntry> words) noexcept {
    constexpr std::size_t kWords = kHasPlaces ? 4 : 1;
    if (words.size() % kWords != 0) return;
    const std::size_t n = std::min<std::size_t>(words.size() / kWords, most_entries<F>(s.counter));
    words = words.last(n * kWords);
    for (; !words.empty(); words = words.subspan(kWords)) {
      if (!journal.make_room(*s.slot, memory, 1)) return;
      Entry entry;
      if constexpr (kHasPlaces) {
        entry =
            Entry::of(words[0].ms, words[0].bits,
                      {std::bit_cast<double>(words[1].bits), std::bit_cast<double>(words[2].bits),
                       std::bit_cast<double>(words[3].bits)});
      } else {
        entry = Entry::of(words[0].ms, words[0].bits);
      }
      place(journal, s.counter, journal.size(), entry);
    }
  }

 private:
  static Entry entry_of(const Subject& s, std::int64_t ms, std::uint64_t bits) noexcept {
    if constexpr (kHasPlaces) {
      return Entry::of(ms, bits, s.around->at);
    } else {
      return Entry::of(ms, bits);
    }
  }
  static std::int64_t stamp_of(const Counter& c, std::int64_t ms) noexcept {
    if (!F::joins(c.spec)) return ms;
    return c.spec.window == Window::ring ? ms - ms % c.rule.quantum : reach(c, ms).from;
  }
  /// The entry that an event of this stamp joins, or size().
  static std::uint32_t joins_at(const Journal& journal, const Counter& c,
                                std::int64_t stamp) noexcept {
    if (!F::joins(c.spec)) return journal.size();
    const std::uint32_t at = first_from(journal, stamp);
    return at < journal.size() && journal.entry(at).ms() == stamp ? at : journal.size();
  }

  // --- entries; of a journal without places the fold remembers something of them ---

  static void remember(Journal& journal, const Counter& c, std::uint64_t bits) noexcept {
    if constexpr (!kHasPlaces) F::remember(journal, c, bits);
  }
  static void forget(Journal& journal, const Counter& c, const Entry& entry) noexcept {
    if constexpr (!kHasPlaces) F::forget(journal, c, entry);
  }
  static void changed(Journal& journal, const Counter& c, std::uint64_t bits) noexcept {
    if constexpr (!kHasPlaces) F::changed(journal, c, bits);
  }
  static void mend(Journal& journal, const Counter& c) noexcept {
    if constexpr (!kHasPlaces) F::mend(journal, c);
  }
  static void place(Journal& journal, const Counter& c, std::uint32_t at, Entry entry) noexcept {
    remember(journal, c, entry.bits);
    journal.insert(at, entry);
    changed(journal, c, entry.bits);
  }
  static void pop(Journal& journal, const Counter& c) noexcept {
    forget(journal, c, journal.entry(0));
    journal.pop_front();
  }
  static void set(Journal& journal, const Counter& c, std::uint32_t at,
                  std::uint64_t bits) noexcept {
    forget(journal, c, journal.entry(at));
    remember(journal, c, bits);
    journal.entry(at).bits = bits;
  }

  // --- taking back ---

  static void note_dropped(Undo& undo, const Entry& oldest, std::uint64_t next) noexcept {
    undo.dropped = true;
    undo.former_value = next;
    undo.former = static_cast<std::uint32_t>(oldest.ms() >> 32);
    undo.dropped_stamp = static_cast<std::uint32_t>(oldest.ms());
    undo.dropped_value = oldest.bits;
    if constexpr (kHasPlaces) {
      undo.dropped_at[0] = oldest.at.x;
      undo.dropped_at[1] = oldest.at.y;
      undo.dropped_at[2] = oldest.at.z;
    }
  }
  static Entry dropped(const Undo& undo) noexcept {
    const auto ms =
        static_cast<std::int64_t>(std::uint64_t{undo.former} << 32 | undo.dropped_stamp);
    if constexpr (kHasPlaces) {
      return Entry::of(ms, undo.dropped_value,
                       {undo.dropped_at[0], undo.dropped_at[1], undo.dropped_at[2]});
    } else {
      return Entry::of(ms, undo.dropped_value);
    }
  }
  /// Off an entry that others may have joined since, or that was joined itself.
  static void take_off(Journal& journal, const Counter& c, std::int64_t stamp, std::uint64_t bits,
                       const Undo& undo) noexcept {
    std::uint32_t at = joins_at(journal, c, stamp);
    if (at == journal.size() && journal.size() != 0 && stamp < journal.entry(0).ms()) at = 0;
    if (at == journal.size()) return;
    const std::uint64_t with = journal.entry(at).bits;
    if (Amounts::lost_count(c.spec, with)) return;
    const std::uint64_t former = undo.fresh ? 0 : undo.former_value;  // no bits: zero of any kind
    std::uint64_t without = former;
    if (with != sum_of(c.spec, former, bits)) {
      without = c.spec.real ? std::bit_cast<std::uint64_t>(std::bit_cast<double>(with) -
                                                           std::bit_cast<double>(bits))
                            : with - bits;
    }
    set(journal, c, at, without);
    if (without != 0) return;
    for (; at > 0; --at) journal.entry(at) = journal.entry(at - 1);
    journal.pop_front();
  }
  static void put_back_dropped(Subject& s, Journal& journal, Memory& memory,
                               const Undo& undo) noexcept {
    const Counter& c = s.counter;
    if (journal.size() >= most_entries<F>(c)) return;
    const bool joined = F::adds_up(c);
    if (joined &&
        (journal.size() == 0 ||
         journal.entry(0).bits != sum_of(c.spec, undo.dropped_value, undo.former_value))) {
      return;  // more was merged since
    }
    if (!journal.make_room(*s.slot, memory, 1)) return;
    if (joined) set(journal, c, 0, undo.former_value);
    place(journal, c, 0, dropped(undo));
  }
};

template <class F>
struct RadiusOps : BlockOps<Log<InRadius, F>> {
  using Base = BlockOps<Log<InRadius, F>>;

  /// Removes the settled events within the radius, in all cells.
  static void reset(Subject& s, const Instant& now) noexcept {
    const std::int64_t until =
        now.rule->own_time ? now.ms : std::numeric_limits<std::int64_t>::max();
    forget_near(s, *s.around, until);
    for (const Table::Place& cell : s.around->cells) {
      Subject other{s.counter, cell, s.ages, s.arena, s.counter.table->find(cell, s.counter.index)};
      forget_near(other, *s.around, until);
    }
  }

 private:
  static void forget_near(Subject& s, const Around& around, std::int64_t until) noexcept {
    if (s.slot == nullptr) return;
    PlaceJournal journal(s.slot, s.arena);
    Memory memory = Base::memory_of(s);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < journal.size(); ++i) {
      const PlaceEntry& entry = journal.entry(i);
      if (entry.ms() > until || !InRadius::is_near(around, entry)) journal.entry(kept++) = entry;
    }
    if (journal.has_block()) journal.head().size = kept;
    s.slot->pinned = 0;
    Base::finish(s, journal, memory);
  }
};

}  // namespace

const KindOps kLogOfAmounts = kBlockOps<Log<InTime, Amounts>>;
const KindOps kLogOfMembers = kBlockOps<Log<InTime, Members>>;
const KindOps kLogOfPresence = kBlockOps<Log<InTime, Presence>>;
const KindOps kNearAmounts = kOpsOf<RadiusOps<Amounts>>;
const KindOps kNearMembers = kOpsOf<RadiusOps<Members>>;
const KindOps kNearPresence = kOpsOf<RadiusOps<Presence>>;

}  // namespace weir::limiter
