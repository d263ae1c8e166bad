// A counter with a radius: one slot for each cell of a PlaceGrid, whose journal says for every
// event when, how much and where. An add writes the event's own cell; a reading walks that cell and
// those around it, up to eight, and takes what is within the radius. All nine are locked meanwhile,
// so that add-if-below holds across their borders.
//
// Head: nothing but the sizes. A sum at `keep` merges its two oldest at the later's time and place.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "limiter/amounts.h"
#include "limiter/block_ops.h"
#include "limiter/tally.h"

namespace weir::limiter {
namespace {

/// Counts different values in a table that it borrows: a small one here, a larger one of the arena.
/// Where the arena has none the values are gone through several times, each for a part of their
/// hashes.
class Different {
 public:
  Different(Arena& arena, std::size_t at_most) noexcept : arena_(arena), at_most_(at_most) {
    const std::size_t wanted = std::bit_ceil(at_most * 2 + 2);
    if (wanted <= kLocal) {
      slots_ = wanted;
      return;
    }
    order_ = Arena::order_for(wanted * sizeof(std::uint64_t));
    if (order_ <= arena.largest_order()) block_ = arena.allocate(order_);
    if (block_ == 0) return;
    table_ = reinterpret_cast<std::uint64_t*>(arena.at(block_));
    slots_ = wanted;
  }
  ~Different() {
    if (block_ != 0) arena_.free(block_, order_);
  }
  Different(const Different&) = delete;
  Different& operator=(const Different&) = delete;

  /// `each(f)` calls f with every value, as often as it is asked to.
  template <class Each>
  std::int64_t count(Each&& each) noexcept {
    std::size_t passes = std::bit_ceil(at_most_ * 2 / slots_ + 1);
    if (slots_ > at_most_ * 2) passes = 1;
    for (;; passes *= 2) {
      std::int64_t total = 0;
      zero_ = false;
      for (std::size_t pass = 0; pass < passes && total >= 0; ++pass) {
        const std::int64_t some = count_part(each, passes, pass);
        total = some < 0 ? some : total + some;
      }
      if (total >= 0) return total + zero_;
    }
  }

 private:
  static constexpr std::size_t kLocal = 1024;

  static std::uint64_t mixed(std::uint64_t v) noexcept {  // murmur3's end: a bijection, keeps zero
    v = (v ^ (v >> 33)) * 0xFF51'AFD7'ED55'8CCDU;
    v = (v ^ (v >> 33)) * 0xC4CE'B9FE'1A85'EC53U;
    return v ^ (v >> 33);
  }

  /// Negative: they do not fit.
  template <class Each>
  std::int64_t count_part(Each& each, std::size_t passes, std::size_t pass) noexcept {
    std::fill_n(table_, slots_, 0);
    std::size_t filled = 0;
    each([&](std::uint64_t value) {
      const std::uint64_t hash = mixed(value);
      if (hash == 0) {
        zero_ = true;
      } else if ((hash >> 40) % passes == pass && filled < slots_ - 1) {
        std::size_t i = hash & (slots_ - 1);
        while (table_[i] != 0 && table_[i] != hash) i = (i + 1) & (slots_ - 1);
        filled += table_[i] == 0;
        table_[i] = hash;
      }
    });
    return filled < slots_ - 1 ? static_cast<std::int64_t>(filled) : -1;
  }

  Arena& arena_;
  std::size_t at_most_;
  std::array<std::uint64_t, kLocal> local_;
  std::uint64_t* table_ = local_.data();
  std::size_t slots_ = kLocal;
  std::uint32_t block_ = 0;
  unsigned order_ = 0;
  bool zero_ = false;
};

struct NearKind {
  using Journal = PlaceJournal;
  using Entry = Journal::Entry;
  using Head = Journal::Head;

  static bool has_members(const CounterSpec& spec) noexcept {
    return spec.metric == Metric::distinct || spec.metric == Metric::exists;
  }
  static bool valid(const Counter& c, const Amount& event) noexcept {
    if (c.spec.metric == Metric::count) return !event.amount.is_negative();
    return has_members(c.spec) || event.amount.is_finite();
  }
  static std::uint64_t bits(const Counter& c, const Amount& event) noexcept {
    return bits_of(c.spec, event);
  }
  static bool empty(const Journal& journal) noexcept { return journal.size() == 0; }
  static void clear(Journal& journal) noexcept { journal.head().size = journal.head().first = 0; }
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
  static void drop_dead(Journal& journal, const Counter&, const Instant& now) noexcept {
    for (std::uint32_t n = first_within(journal, now, now.kept); n > 0; --n) journal.pop_front();
  }

  // --- readings ---

  /// What lies in the cells of a reading.
  class Scene {
   public:
    Scene(const Subject& s, const Journal& own, const Look& look) noexcept : around_(*s.around) {
      add(own, look.stale ? own.size() : first_within(own, look.now, look.now.span));
      for (const Table::Place& cell : s.around->cells) {
        const Journal journal(s.counter.table->find(cell, s.counter.index), s.arena);
        if (journal.has_block()) add(journal, first_within(journal, look.now, look.now.span));
      }
    }
    std::size_t at_most() const noexcept { return at_most_; }
    template <class F>
    void settled(F&& f) const noexcept {
      for (std::size_t c = 0; c < size_; ++c) {
        const Journal& journal = cells_[c].journal;
        for (std::uint32_t i = cells_[c].first; i < journal.size(); ++i) {
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
          if (within(around_, e)) f(e.bits);
        }
      }
    }

   private:
    struct Seen {
      Journal journal{nullptr};
      std::uint32_t first = 0;
    };
    void add(const Journal& journal, std::uint32_t first) noexcept {
      cells_[size_++] = {journal, first};
      at_most_ += journal.size() - first + journal.reserved();
    }
    const Around& around_;
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
  static std::uint64_t added(const CounterSpec& spec, std::uint64_t a, std::uint64_t b) noexcept {
    if (spec.real)
      return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
    return static_cast<std::uint64_t>(
        saturating_sum(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)));
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
      if (merges) journal.entry(1).bits = added(spec, oldest.bits, journal.entry(1).bits);
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
          journal.entry(0).bits != added(spec, undo.dropped_value, undo.former_value)) {
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

  static void take_out(const Subject&, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    for (std::uint32_t i = first_within(journal, now, now.kept); i < journal.size(); ++i) {
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
  /// What is settled within the radius goes, in all cells.
  static void reset(Subject& s) noexcept {
    forget_near(s, *s.around);
    for (const Table::Place& cell : s.around->cells) {
      Subject other{s.counter, cell, s.ages, s.arena, s.counter.table->find(cell, s.counter.index)};
      forget_near(other, *s.around);
    }
  }

 private:
  static void forget_near(Subject& s, const Around& around) noexcept {
    if (s.slot == nullptr) return;
    Journal journal(s.slot, s.arena);
    Memory memory = memory_of(s);
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < journal.size(); ++i) {
      if (!NearKind::within(around, journal.entry(i))) journal.entry(kept++) = journal.entry(i);
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
