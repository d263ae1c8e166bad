// Entries: an event each, its amount or member. Head: total is the sum of integers; extra is the
// extreme while `at` is 1, and for members how many entries are marked. A member's mark is on its
// newest entry, so that the marks among the newest k entries count the different members of them.
#include <bit>

#include "limiter/kinds/block_ops.h"
#include "limiter/kinds/tally.h"

namespace weir::limiter {
namespace {

struct ListKind {
  using Journal = limiter::Journal;
  using Entry = Journal::Entry;
  using Head = Journal::Head;

  static bool has_members(const CounterSpec& spec) noexcept { return takes_members(spec.metric); }
  static bool is_extreme(const CounterSpec& spec) noexcept {
    return Tally::is_extreme(spec.metric);
  }
  static bool is_integer_sum(const CounterSpec& spec) noexcept {
    return Tally::adds_up(spec.metric) && !spec.real;
  }

  static bool valid(const Counter& c, const Amount& event) noexcept {
    if (c.spec.metric == Metric::count) return !event.amount.is_negative();
    return has_members(c.spec) || event.amount.is_finite();
  }
  static std::uint64_t bits(const Counter& c, const Amount& event) noexcept {
    return bits_of(c.spec, event);
  }
  static bool empty(const Journal& journal) noexcept { return journal.size() == 0; }
  static void clear(Journal& journal) noexcept {
    Head& h = journal.head();
    h.size = h.first = 0;
    h.set_wide(0);
    h.at = 0;
    h.extra = 0;
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

  static void pop(Journal& journal, const CounterSpec& spec) noexcept {
    forget(journal, spec, journal.entry(0));
    journal.pop_front();
  }
  static void drop_dead(Journal& journal, const Counter& c, const Instant& now) noexcept {
    const std::uint32_t dead = first_within(journal, now, now.kept);
    if (dead != 0 && dead == journal.size()) {
      clear(journal);
      return;
    }
    for (std::uint32_t i = 0; i < dead; ++i) pop(journal, c.spec);
    find_extreme(journal, c.spec);
  }

  // --- what the head remembers of the entries ---

  static void remember(Journal& journal, const CounterSpec& spec, std::uint64_t bits) noexcept {
    Head& h = journal.head();
    if (is_integer_sum(spec)) h.set_wide(h.wide() + static_cast<std::int64_t>(bits));
    if (!is_extreme(spec)) return;
    if (journal.size() == 0) {
      h.at = 1;
      h.extra = bits;
    } else if (h.at == 1 && Tally::beyond(spec, bits, h.extra)) {
      h.extra = bits;
    }
  }
  static void forget(Journal& journal, const CounterSpec& spec, const Entry& entry) noexcept {
    Head& h = journal.head();
    if (is_integer_sum(spec)) h.set_wide(h.wide() - static_cast<std::int64_t>(entry.bits));
    if (is_extreme(spec) && h.extra == entry.bits) h.at = 0;  // find_extreme
    if (has_members(spec)) h.extra -= entry.marked();
  }
  static void find_extreme(Journal& journal, const CounterSpec& spec) noexcept {
    Head& h = journal.head();
    if (!is_extreme(spec) || h.at == 1 || h.size == 0) return;
    h.extra = journal.entry(0).bits;
    for (std::uint32_t i = 1; i < h.size; ++i) {
      if (Tally::beyond(spec, journal.entry(i).bits, h.extra)) h.extra = journal.entry(i).bits;
    }
    h.at = 1;
  }
  /// Moves the mark of a member to its newest entry.
  static void mark_newest(Journal& journal, std::uint64_t member) noexcept {
    Head& h = journal.head();
    bool newest = true;
    for (std::uint32_t i = journal.size(); i-- > 0;) {
      Entry& e = journal.entry(i);
      if (e.bits != member) continue;
      if (e.marked() && !newest) {
        e.mark(false);
        --h.extra;
        return;
      }
      if (newest && e.marked()) return;
      if (newest) {
        e.mark(true);
        ++h.extra;
        newest = false;
      }
    }
  }

  // --- readings ---

  static void add_settled(Tally& tally, const CounterSpec& spec, const Journal& journal,
                          std::uint32_t first) noexcept {
    const std::uint32_t size = journal.size();
    if (first == size) return;
    const Head& h = journal.head();
    if (is_integer_sum(spec)) {
      Wide sum = h.wide();
      for (std::uint32_t i = 0; i < first; ++i)
        sum -= static_cast<std::int64_t>(journal.entry(i).bits);
      tally.add_totals(size - first, sum, 0, 0);
    } else if (is_extreme(spec) && first == 0 && h.at == 1) {
      tally.add_totals(size, 0, 0, h.extra);
    } else {
      for (std::uint32_t i = first; i < size; ++i) tally.add(journal.entry(i).bits);
    }
  }

  static bool contains(const Journal& journal, std::uint32_t first, std::uint64_t member) noexcept {
    for (std::uint32_t i = journal.size(); i-- > first;) {
      if (journal.entry(i).bits == member) return true;
    }
    return false;
  }
  static bool reserved_has(const Journal& journal, std::uint32_t from, std::uint32_t to,
                           std::uint64_t member) noexcept {
    for (std::uint32_t i = from; i < to; ++i) {
      if (journal.reservation(i).bits == member) return true;
    }
    return false;
  }

  /// The reading of the newest entries from `first` on, of the newest reservations from `from` on,
  /// and of the event.
  static Number measure(const CounterSpec& spec, const Journal& journal, std::uint32_t first,
                        std::uint32_t from, const Amount* event, bool& has_value) noexcept {
    const std::uint32_t reserved = journal.reserved();
    if (!has_members(spec)) {
      Tally tally(spec);
      add_settled(tally, spec, journal, first);
      for (std::uint32_t i = from; i < reserved; ++i) tally.add(journal.reservation(i).bits);
      if (event != nullptr) tally.add(bits_of(spec, *event));
      has_value = tally.has_value();
      return tally.value();
    }
    has_value = true;
    if (spec.metric == Metric::exists) {
      const bool had = event != nullptr && (contains(journal, first, event->member) ||
                                            reserved_has(journal, from, reserved, event->member));
      return Number(std::int64_t{had});
    }
    std::int64_t members = 0;
    if (first < journal.size()) {
      members = static_cast<std::int64_t>(journal.head().extra);
      for (std::uint32_t i = 0; i < first; ++i) members -= journal.entry(i).marked();
    }
    for (std::uint32_t i = from; i < reserved; ++i) {
      const std::uint64_t member = journal.reservation(i).bits;
      members += !contains(journal, first, member) && !reserved_has(journal, from, i, member);
    }
    if (event != nullptr) {
      members += !contains(journal, first, event->member) &&
                 !reserved_has(journal, from, reserved, event->member);
    }
    return Number(members);
  }

  static Reading read(const Subject& s, const Journal& journal, const Look& look) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const std::uint32_t size = journal.size();
    const std::uint32_t live =
        look.stale ? 0 : size - first_within(journal, look.now, look.now.span);
    const bool counts_itself = look.event != nullptr && spec.metric != Metric::exists;
    const std::uint32_t room = spec.window == Window::events
                                   ? spec.events - counts_itself
                                   : std::numeric_limits<std::uint32_t>::max();
    const std::uint32_t reserved = look.reserved ? std::min(journal.reserved(), room) : 0;
    Reading r;
    bool settled_has_value = false;
    r.settled = measure(spec, journal, size - std::min(live, room), journal.reserved(), look.event,
                        settled_has_value);
    r.value = r.settled;
    r.has_value = settled_has_value;
    if (reserved != 0) {
      r.value = measure(spec, journal, size - std::min(live, room - reserved),
                        journal.reserved() - reserved, look.event, r.has_value);
    }
    return r;
  }

  // --- entries ---

  static std::uint32_t most(const Counter& c) noexcept {
    return c.spec.window == Window::events ? c.spec.events : c.keep.load(std::memory_order_relaxed);
  }

  static void place(Journal& journal, const CounterSpec& spec, std::uint32_t at,
                    Entry entry) noexcept {
    remember(journal, spec, entry.bits);
    journal.insert(at, entry);
    if (has_members(spec)) mark_newest(journal, entry.bits);
  }

  static bool add(Subject& s, Journal& journal, Memory& memory, const Instant&,
                  std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const Entry entry = Entry::of(event_ms, bits_of(spec, event));
    undo.former_value = static_cast<std::uint64_t>(event_ms);
    while (journal.size() > 0 &&
           (journal.size() >= most(s.counter) || !journal.make_room(*s.slot, memory, 1))) {
      const Entry oldest = journal.entry(0);
      if (event_ms < oldest.ms()) {  // older than all there is room for
        undo.what = Undo::What::nothing;
        return true;
      }
      if (!undo.dropped) {
        undo.dropped = true;
        undo.former = static_cast<std::uint32_t>(oldest.ms() >> 32);
        undo.dropped_stamp = static_cast<std::uint32_t>(oldest.ms());
        undo.dropped_value = oldest.bits;
      }
      pop(journal, spec);
    }
    if (!journal.make_room(*s.slot, memory, 1)) return false;
    place(journal, spec, journal.place_of(event_ms), entry);
    find_extreme(journal, spec);
    return true;
  }

  static void take_back(Subject& s, Journal& journal, Memory& memory, const Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const std::uint64_t bits = bits_of(spec, undo.amount);
    const auto ms = static_cast<std::int64_t>(undo.former_value);
    for (std::uint32_t i = journal.size(); i-- > 0 && journal.entry(i).ms() >= ms;) {
      if (journal.entry(i).ms() != ms || journal.entry(i).bits != bits) continue;
      const bool marked = journal.entry(i).marked();
      forget(journal, spec, journal.entry(i));
      journal.erase(i);
      if (marked) mark_newest(journal, bits);
      if (undo.dropped && journal.size() < most(s.counter) &&
          journal.make_room(*s.slot, memory, 1)) {
        const auto dropped_ms =
            static_cast<std::int64_t>(std::uint64_t{undo.former} << 32 | undo.dropped_stamp);
        place(journal, spec, 0, Entry::of(dropped_ms, undo.dropped_value));
      }
      find_extreme(journal, spec);
      return;
    }
  }

  static void take_out(const Subject&, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    for (std::uint32_t i = first_within(journal, now, now.kept); i < journal.size(); ++i)
      out.push_back({journal.entry(i).ms(), journal.entry(i).bits});
  }
  static void put_in(Subject& s, Journal& journal, Memory& memory, const Instant&,
                     std::span<const PlainEntry> entries) noexcept {
    const std::size_t n = std::min<std::size_t>(entries.size(), most(s.counter));
    for (const PlainEntry& e : entries.last(n)) {
      if (!journal.make_room(*s.slot, memory, 1)) return;
      place(journal, s.counter.spec, journal.size(), Entry::of(e.ms, e.bits));
    }
  }
};

}  // namespace

const KindOps kListOps = kBlockOps<ListKind>;

}  // namespace weir::limiter
