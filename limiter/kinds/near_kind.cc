// A counter with a radius: one slot for each cell of a PlaceGrid. The journal of a cell holds the
// time, amount and place of every event. An add writes the event's own cell. A reading looks at
// that cell and up to eight around it, and counts the events within the radius. All nine cells are
// locked for that time, so that add-if-below holds across their borders.
//
// Head: only the sizes. A sum at `keep` merges its two oldest entries at the time and place of the
// later one.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "limiter/kinds/block_ops.h"
#include "limiter/kinds/different.h"
#include "limiter/kinds/event_time.h"
#include "limiter/kinds/tally.h"

namespace weir::limiter {
namespace {

struct NearKind {
  using Journal = PlaceJournal;
  using Entry = Journal::Entry;
  using Head = Journal::Head;

  static bool has_members(const CounterSpec& spec) noexcept { return takes_members(spec.metric); }
  static bool valid(const Counter& c, const Amount& event) noexcept {
    if (c.spec.metric == Metric::count) return !event.amount.is_negative();
    return has_members(c.spec) || event.amount.is_finite();
  }
  static std::uint64_t bits(const Counter& c, const Amount& event) noexcept {
    return bits_of(c.spec, event);
  }
  static bool empty(const Journal& journal) noexcept { return journal.size() == 0; }
  static void clear(Journal& journal) noexcept { journal.head().size = journal.head().first = 0; }
  /// Removes everything up to that time.
  static void clear_until(Journal& journal, const Counter&, std::int64_t ms) noexcept {
    while (journal.size() != 0 && journal.entry(0).ms() <= ms) journal.pop_front();
  }
  static bool within(const Around& around, const Entry& entry) noexcept {
    return around.at.chord_squared(entry.at) <= around.reach;
  }

  /// The first entry that is at most `span` old; size() if the clock was set back behind them all.
  static std::uint32_t first_within(const Journal& journal, const Instant& now,
                                    std::int64_t span) noexcept {
    const std::uint32_t size = journal.size();
    if (size == 0 || journal.entry(size - 1).ms() - now.ms > Instant::kAheadMax) return size;
    std::uint32_t low = 0, high = size;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (now.ms - journal.entry(middle).ms() <= span) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  static void drop_dead(Journal& journal, const Counter& c, const Instant& now) noexcept {
    if (now.rule->own_time) {
      clear_until(journal, c, kept_from(c, now) - 1);
      return;
    }
    for (std::uint32_t n = first_within(journal, now, now.kept); n > 0; --n) journal.pop_front();
  }

  // --- readings ---

  /// The events in the cells of a reading.
  class Scene {
   public:
    Scene(const Subject& s, const Journal& own, const Look& look) noexcept
        : around_(*s.around), counter_(s.counter), now_(look.now) {
      add(own, look.stale);
      for (const Table::Place& cell : s.around->cells) {
        const Journal journal(s.counter.table->find(cell, s.counter.index), s.arena);
        if (journal.has_block()) add(journal, false);
      }
    }
    std::size_t at_most() const noexcept { return at_most_; }
    template <class F>
    void settled(F&& f) const noexcept {
      for (std::size_t c = 0; c < size_; ++c) {
        const Journal& journal = cells_[c].journal;
        for (std::uint32_t i = cells_[c].first; i < cells_[c].end; ++i) {
          const Entry& e = journal.entry(i);
          if (within(around_, e)) f(e.bits);
        }
      }
    }
    template <class F>
    void reserved(F&& f) const noexcept {
      for (std::size_t c = 0; c < size_; ++c) {
        const Journal& journal = cells_[c].journal;
        for (std::uint32_t i = 0; i < journal.reserved(); ++i) {
          const Entry& e = journal.reservation(i);
          if (now_.rule->own_time && !reach(counter_, now_.ms).has(e.ms())) continue;
          if (within(around_, e)) f(e.bits);
        }
      }
    }

   private:
    struct Seen {
      Journal journal{nullptr};
      std::uint32_t first = 0, end = 0;
    };
    void add(const Journal& journal, bool stale) noexcept {
      Seen seen{journal, journal.size(), journal.size()};
      if (!stale && now_.rule->own_time) {
        const Reach in = reach(counter_, now_.ms);
        seen.first = first_from(journal, in.from);
        seen.end = first_from(journal, in.to + 1);
      } else if (!stale) {
        seen.first = first_within(journal, now_, now_.span);
      }
      cells_[size_++] = seen;
      at_most_ += seen.end - seen.first + journal.reserved();
    }
    const Around& around_;
    const Counter& counter_;
    const Instant& now_;
    std::array<Seen, PlaceGrid::kCells> cells_;
    std::size_t size_ = 0, at_most_ = 0;
  };

  static Reading read(const Subject& s, const Journal& journal, const Look& look) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const Scene scene(s, journal, look);
    Reading r;
    scene.reserved([&](std::uint64_t) { ++r.in_flight; });
    const bool also_reserved = look.reserved && r.in_flight != 0;
    if (spec.metric == Metric::exists) {
      bool settled = false, reserved = false;
      if (look.event != nullptr) {
        const std::uint64_t member = look.event->member;
        scene.settled([&](std::uint64_t bits) { settled = settled || bits == member; });
        scene.reserved([&](std::uint64_t bits) { reserved = reserved || bits == member; });
      }
      r.settled = Number(std::int64_t{settled});
      r.value = Number(std::int64_t{settled || (look.reserved && reserved)});
    } else if (spec.metric == Metric::distinct) {
      Different members(s.arena, scene.at_most() + 1);
      const auto different = [&](bool with_reserved) {
        return Number(members.count([&](auto&& f) {
          scene.settled(f);
          if (with_reserved) scene.reserved(f);
          if (look.event != nullptr) f(look.event->member);
        }));
      };
      r.settled = different(false);
      r.value = also_reserved ? different(true) : r.settled;
    } else {
      Tally tally(spec);
      scene.settled([&](std::uint64_t bits) { tally.add(bits); });
      Tally all = tally;
      if (also_reserved) scene.reserved([&](std::uint64_t bits) { all.add(bits); });
      if (look.event != nullptr) {
        tally.add(bits_of(spec, *look.event));
        all.add(bits_of(spec, *look.event));
      }
      r.settled = tally.value();
      r.value = all.value();
      r.has_value = all.has_value();
    }
    return r;
  }

  // --- entries ---

  static std::uint32_t most(const Counter& c) noexcept {
    return c.keep.load(std::memory_order_relaxed);
  }
  static bool add(Subject& s, Journal& journal, Memory& memory, const Instant&,
                  std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const Entry entry = Entry::of(event_ms, bits_of(spec, event), s.around->at);
    const bool merges = spec.metric == Metric::sum;
    while (journal.size() > merges &&
           (journal.size() >= most(s.counter) || !journal.make_room(*s.slot, memory, 1))) {
      const Entry oldest = journal.entry(0);
      if (!merges && event_ms < oldest.ms()) {  // older than all there is room for
        undo.what = Undo::What::nothing;
        return true;
      }
      if (!undo.dropped) {
        undo.dropped = true;
        undo.former = static_cast<std::uint32_t>(oldest.ms() >> 32);
        undo.dropped_stamp = static_cast<std::uint32_t>(oldest.ms());
        undo.dropped_value = oldest.bits;
        undo.dropped_at[0] = oldest.at.x;
        undo.dropped_at[1] = oldest.at.y;
        undo.dropped_at[2] = oldest.at.z;
        if (merges) undo.former_value = journal.entry(1).bits;
      }
      if (merges) journal.entry(1).bits = sum_of(spec, oldest.bits, journal.entry(1).bits);
      journal.pop_front();
    }
    if (!journal.make_room(*s.slot, memory, 1)) return false;
    journal.insert(journal.place_of(event_ms), entry);
    return true;
  }

  static void take_back(Subject& s, Journal& journal, Memory& memory, const Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const Entry gone = Entry::of(to_ms(undo.at), bits_of(spec, undo.amount), s.around->at);
    std::uint32_t i = journal.size();
    while (i > 0 && !journal.entry(i - 1).same(gone)) --i;
    if (i == 0) return;
    journal.erase(i - 1);
    if (!undo.dropped || journal.size() >= most(s.counter)) return;
    if (spec.metric == Metric::sum) {
      if (journal.size() == 0 ||
          journal.entry(0).bits != sum_of(spec, undo.dropped_value, undo.former_value)) {
        return;  // more was merged since
      }
    }
    if (!journal.make_room(*s.slot, memory, 1)) return;
    if (spec.metric == Metric::sum) journal.entry(0).bits = undo.former_value;
    const auto ms =
        static_cast<std::int64_t>(std::uint64_t{undo.former} << 32 | undo.dropped_stamp);
    const UnitVector at{undo.dropped_at[0], undo.dropped_at[1], undo.dropped_at[2]};
    journal.insert(0, Entry::of(ms, undo.dropped_value, at));
  }

  // --- snapshots: four words of one time for each event ---

  static void take_out(const Subject& s, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    const std::uint32_t first = now.rule->own_time ? first_from(journal, kept_from(s.counter, now))
                                                   : first_within(journal, now, now.kept);
    for (std::uint32_t i = first; i < journal.size(); ++i) {
      const Entry& e = journal.entry(i);
      for (const std::uint64_t word :
           {e.bits, std::bit_cast<std::uint64_t>(e.at.x), std::bit_cast<std::uint64_t>(e.at.y),
            std::bit_cast<std::uint64_t>(e.at.z)}) {
        out.push_back({e.ms(), word});
      }
    }
  }
  static void put_in(Subject& s, Journal& journal, Memory& memory, const Instant&,
                     std::span<const PlainEntry> words) noexcept {
    const std::size_t events = words.size() / 4;
    if (words.size() % 4 != 0) return;
    words = words.last(std::min<std::size_t>(events, most(s.counter)) * 4);
    for (; !words.empty(); words = words.subspan(4)) {
      if (!journal.make_room(*s.slot, memory, 1)) return;
      const UnitVector at{std::bit_cast<double>(words[1].bits),
                          std::bit_cast<double>(words[2].bits),
                          std::bit_cast<double>(words[3].bits)};
      journal.insert(journal.size(), Entry::of(words[0].ms, words[0].bits, at));
    }
  }
};

struct NearOps : BlockOps<NearKind> {
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
    Journal journal(s.slot, s.arena);
    Memory memory = memory_of(s);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < journal.size(); ++i) {
      const auto& entry = journal.entry(i);
      if (entry.ms() > until || !NearKind::within(around, entry))
        journal.entry(kept++) = journal.entry(i);
    }
    if (journal.has_block()) journal.head().size = kept;
    s.slot->pinned = 0;
    finish(s, journal, memory);
  }
};

}  // namespace

const KindOps kNearOps{NearOps::charge, NearOps::uncharge, NearOps::peek,     NearOps::reserve,
                       NearOps::settle, NearOps::reset,    NearOps::take_out, NearOps::put_in};

}  // namespace weir::limiter
