// Counters whose events bring their own times (event_time.h): a list of events, oldest first, kept
// for a window and `late` more. Events that count alike share one entry: count and sum of a bucket
// (ring) or of a whole window (every, calendar), stamped with its beginning.
//
// Head: total is the sum of all entries, of counts and integer sums. Most events are the newest of
// their key: their window is the whole list except a few old entries, which are subtracted from
// that sum.
#include <algorithm>
#include <bit>
#include <limits>

#include "limiter/kinds/block_ops.h"
#include "limiter/kinds/different.h"
#include "limiter/kinds/event_time.h"
#include "limiter/kinds/tally.h"

namespace weir::limiter {

Reach reach(const Counter& c, std::int64_t ms) noexcept {
  const Rule& rule = c.rule;
  Reach out;
  switch (c.spec.window) {
    case Window::ring: {
      const std::int64_t bucket = ms / rule.quantum;
      out = {(bucket - rule.span) * rule.quantum, (bucket + 1) * rule.quantum - 1};
      break;
    }
    case Window::every:
      out.from = ms - ms % rule.length;
      out.to = out.from + rule.length - 1;
      break;
    case Window::calendar: {
      const CalendarSpan::Edges edges = rule.calendar->edges(ms);
      out = {edges.begin, edges.end - 1};
      break;
    }
    default:
      out = {rule.length == 0 ? 0 : ms - rule.length + 1, ms};
  }
  if (c.spec.metric == Metric::exists || c.spec.metric == Metric::last) out.to = ms;
  return out;
}

std::int64_t kept_from(const Counter& c, const Instant& now) noexcept {
  return reach(c, earliest(c, now)).from;
}

namespace {

struct TimelineKind {
  using Journal = limiter::Journal;
  using Entry = Journal::Entry;
  using Head = Journal::Head;

  static bool has_members(const CounterSpec& spec) noexcept { return takes_members(spec.metric); }
  static bool is_sum(const CounterSpec& spec) noexcept {
    return spec.metric == Metric::count || spec.metric == Metric::sum;
  }
  static bool is_integer_sum(const CounterSpec& spec) noexcept {
    return is_sum(spec) && !spec.real;
  }
  /// Whether the events of a bucket, or of a window, are one entry.
  static bool merges(const CounterSpec& spec) noexcept {
    return is_sum(spec) && (spec.window == Window::ring || spec.window == Window::every ||
                            spec.window == Window::calendar);
  }

  /// Whether one entry can replace two: at `keep` the two oldest are merged, at the later time.
  static bool adds_up(const CounterSpec& spec) noexcept {
    return spec.metric == Metric::sum || merges(spec);
  }

  /// A bucket at the top has lost count (saturating_sum) and stays there.
  static constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();
  static bool lost_count(const CounterSpec& spec, std::uint64_t bits) noexcept {
    return merges(spec) && !spec.real && static_cast<std::int64_t>(bits) == kTop;
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
  }
  /// Removes everything up to that time.
  static void clear_until(Journal& journal, const Counter& c, std::int64_t ms) noexcept {
    while (journal.size() != 0 && journal.entry(0).ms() <= ms) pop(journal, c.spec);
  }

  static void weigh(Journal& journal, const CounterSpec& spec, std::uint64_t bits,
                    int sign) noexcept {
    if (!is_integer_sum(spec)) return;
    Head& h = journal.head();
    h.set_wide(h.wide() + sign * Wide{static_cast<std::int64_t>(bits)});
  }
  static void pop(Journal& journal, const CounterSpec& spec) noexcept {
    weigh(journal, spec, journal.entry(0).bits, -1);
    journal.pop_front();
  }
  static void place(Journal& journal, const CounterSpec& spec, std::uint32_t at,
                    Entry entry) noexcept {
    weigh(journal, spec, entry.bits, 1);
    journal.insert(at, entry);
  }
  static void set(Journal& journal, const CounterSpec& spec, std::uint32_t at,
                  std::uint64_t bits) noexcept {
    weigh(journal, spec, journal.entry(at).bits, -1);
    weigh(journal, spec, bits, 1);
    journal.entry(at).bits = bits;
  }

  static void drop_dead(Journal& journal, const Counter& c, const Instant& now) noexcept {
    const std::int64_t from = kept_from(c, now);
    while (journal.size() != 0 && journal.entry(0).ms() < from) pop(journal, c.spec);
    if (c.spec.window != Window::events) return;
    // An entry that has n later entries, all older than the lateness bound, can never be among the
    // last n of a reading.
    std::uint32_t sure = first_from(journal, earliest(c, now) + 1);
    for (; sure > c.spec.events; --sure) pop(journal, c.spec);
  }

  // --- readings ---

  struct Part {
    std::uint32_t first = 0, end = 0;  // entries
    std::uint32_t size() const noexcept { return end - first; }
    Part newest(std::uint32_t n) const noexcept { return {end - std::min(n, size()), end}; }
  };

  static void add_entries(Tally& tally, const CounterSpec& spec, const Journal& journal,
                          Part part) noexcept {
    const std::uint32_t outside = journal.size() - part.size();
    if (!is_integer_sum(spec) || outside > part.size()) {
      for (std::uint32_t i = part.first; i < part.end; ++i) tally.add(journal.entry(i).bits);
      return;
    }
    Wide sum = journal.head().wide();
    const auto take_off = [&](std::uint32_t i) {
      sum -= static_cast<std::int64_t>(journal.entry(i).bits);
    };
    for (std::uint32_t i = 0; i < part.first; ++i) take_off(i);
    for (std::uint32_t i = part.end; i < journal.size(); ++i) take_off(i);
    tally.add_totals(part.size(), sum, 0, 0);
  }

  /// Calls f with the bits of the newest `most` reservations within reach.
  template <class F>
  static void for_reserved(const Journal& journal, const Reach& in, std::uint32_t most,
                           F&& f) noexcept {
    for (std::uint32_t i = journal.reserved(); i-- > 0 && most > 0;) {
      if (!in.has(journal.reservation(i).ms())) continue;
      f(journal.reservation(i).bits);
      --most;
    }
  }

  /// The reading of these entries, so many reservations, and the event.
  static Number measure(const Subject& s, const Journal& journal, Part part, const Reach& in,
                        std::uint32_t reserved, const Amount* event, bool& has_value) noexcept {
    const CounterSpec& spec = s.counter.spec;
    has_value = true;
    if (spec.metric == Metric::exists) {
      bool had = false;
      const auto look = [&](std::uint64_t bits) {
        had = had || (event != nullptr && bits == event->member);
      };
      for (std::uint32_t i = part.first; i < part.end; ++i) look(journal.entry(i).bits);
      for_reserved(journal, in, reserved, look);
      return Number(std::int64_t{had});
    }
    if (spec.metric == Metric::distinct) {
      Different members(s.arena, std::size_t{part.size()} + reserved + 1);
      const std::int64_t different = members.count([&](auto&& f) {
        for (std::uint32_t i = part.first; i < part.end; ++i) f(journal.entry(i).bits);
        for_reserved(journal, in, reserved, f);
        if (event != nullptr) f(event->member);
      });
      return at_most_kept(s.counter, Number(different));
    }
    Tally tally(spec);
    add_entries(tally, spec, journal, part);
    for_reserved(journal, in, reserved, [&](std::uint64_t bits) { tally.add(bits); });
    if (event != nullptr) tally.add(bits_of(spec, *event));
    has_value = tally.has_value();
    const Number value = tally.value();
    if (spec.metric == Metric::count) return at_most_kept(s.counter, value);
    if (spec.metric == Metric::sum && !spec.real && value > Number(kTop / 2)) {
      for (std::uint32_t i = part.first; i < part.end; ++i)
        if (lost_count(spec, journal.entry(i).bits)) return Number(kTop);
    }
    return value;
  }
  /// A list that keeps single events reads no more than `keep`, the current event included.
  static Number at_most_kept(const Counter& c, Number value) noexcept {
    if (merges(c.spec) || c.spec.window == Window::events) return value;
    return std::min(value, Number(std::int64_t{most(c)}));
  }

  static Reading read(const Subject& s, const Journal& journal, const Look& look) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const Reach in = reach(s.counter, look.now.ms);
    Part part;
    if (!look.stale) part = {first_from(journal, in.from), first_from(journal, in.to + 1)};
    const bool counts_itself = look.event != nullptr && spec.metric != Metric::exists;
    const std::uint32_t room = spec.window == Window::events
                                   ? spec.events - counts_itself
                                   : std::numeric_limits<std::uint32_t>::max();
    std::uint32_t reserved = 0;
    if (look.reserved) for_reserved(journal, in, room, [&](std::uint64_t) { ++reserved; });
    Reading r;
    r.settled = measure(s, journal, part.newest(room), in, 0, look.event, r.has_value);
    r.value = r.settled;
    if (reserved != 0) {
      r.value =
          measure(s, journal, part.newest(room - reserved), in, reserved, look.event, r.has_value);
    }
    return r;
  }

  // --- entries ---

  static std::uint32_t most(const Counter& c) noexcept {
    const std::uint32_t keep = c.keep.load(std::memory_order_relaxed);
    if (c.spec.window == Window::events) return c.spec.events + keep;
    return merges(c.spec) ? static_cast<std::uint32_t>(kKeepMax) : keep;
  }
  static std::int64_t stamp_of(const Counter& c, std::int64_t ms) noexcept {
    if (!merges(c.spec)) return ms;
    return c.spec.window == Window::ring ? ms - ms % c.rule.quantum : reach(c, ms).from;
  }
  /// The entry that an event of this stamp joins, or size().
  static std::uint32_t joins(const Journal& journal, const Counter& c,
                             std::int64_t stamp) noexcept {
    if (!merges(c.spec)) return journal.size();
    const std::uint32_t at = first_from(journal, stamp);
    return at < journal.size() && journal.entry(at).ms() == stamp ? at : journal.size();
  }

  static bool add(Subject& s, Journal& journal, Memory& memory, const Instant&,
                  std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const Entry entry = Entry::of(stamp_of(s.counter, event_ms), bits_of(spec, event));
    std::uint32_t at = joins(journal, s.counter, entry.ms());
    const bool sums = adds_up(spec);
    while (at == journal.size() && journal.size() > sums &&
           (journal.size() >= most(s.counter) || !journal.make_room(*s.slot, memory, 1))) {
      const Entry oldest = journal.entry(0);
      if (entry.ms() < oldest.ms()) {  // older than all there is room for
        if (!sums) {
          undo.what = Undo::What::nothing;
          return true;
        }
        at = 0;
        break;
      }
      if (!undo.dropped) {
        undo.dropped = true;
        undo.former = static_cast<std::uint32_t>(oldest.ms() >> 32);
        undo.dropped_stamp = static_cast<std::uint32_t>(oldest.ms());
        undo.dropped_value = oldest.bits;
        if (sums) undo.former_value = journal.entry(1).bits;
      }
      if (sums) set(journal, spec, 1, sum_of(spec, oldest.bits, journal.entry(1).bits));
      pop(journal, spec);
      at = journal.size();
    }
    if (at < journal.size()) {
      undo.former_value = journal.entry(at).bits;
      set(journal, spec, at, sum_of(spec, undo.former_value, entry.bits));
      return true;
    }
    if (!journal.make_room(*s.slot, memory, 1)) return false;
    undo.fresh = true;
    place(journal, spec, journal.place_of(entry.ms()), entry);
    return true;
  }

  static void take_back(Subject& s, Journal& journal, Memory& memory, const Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const std::int64_t stamp = stamp_of(s.counter, to_ms(undo.at));
    const std::uint64_t bits = bits_of(spec, undo.amount);
    if (!undo.fresh || merges(spec)) {
      take_off(journal, s.counter, stamp, bits, undo);
    } else {
      std::uint32_t i = first_from(journal, stamp + 1);
      while (i > 0 && !journal.entry(i - 1).same(Entry::of(stamp, bits))) --i;
      if (i == 0) return;
      weigh(journal, spec, bits, -1);
      journal.erase(i - 1);
    }
    if (undo.dropped) put_back_dropped(s, journal, memory, undo);
  }
  /// Off an entry that others may have joined since, or that was joined itself.
  static void take_off(Journal& journal, const Counter& c, std::int64_t stamp, std::uint64_t bits,
                       const Undo& undo) noexcept {
    std::uint32_t at = joins(journal, c, stamp);
    if (at == journal.size() && journal.size() != 0 && stamp < journal.entry(0).ms()) at = 0;
    if (at == journal.size()) return;
    const std::uint64_t with = journal.entry(at).bits;
    if (lost_count(c.spec, with)) return;
    const std::uint64_t former = undo.fresh ? 0 : undo.former_value;  // no bits: zero of any kind
    std::uint64_t without = former;
    if (with != sum_of(c.spec, former, bits)) {
      without = c.spec.real ? std::bit_cast<std::uint64_t>(std::bit_cast<double>(with) -
                                                           std::bit_cast<double>(bits))
                            : with - bits;
    }
    set(journal, c.spec, at, without);
    if (without != 0) return;
    for (; at > 0; --at) journal.entry(at) = journal.entry(at - 1);
    journal.pop_front();
  }
  static void put_back_dropped(Subject& s, Journal& journal, Memory& memory,
                               const Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    if (journal.size() >= most(s.counter)) return;
    const bool joined = adds_up(spec);
    if (joined && (journal.size() == 0 ||
                   journal.entry(0).bits != sum_of(spec, undo.dropped_value, undo.former_value))) {
      return;  // more was merged since
    }
    if (!journal.make_room(*s.slot, memory, 1)) return;
    if (joined) set(journal, spec, 0, undo.former_value);
    const auto ms =
        static_cast<std::int64_t>(std::uint64_t{undo.former} << 32 | undo.dropped_stamp);
    place(journal, spec, 0, Entry::of(ms, undo.dropped_value));
  }

  static void take_out(const Subject& s, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    for (std::uint32_t i = first_from(journal, kept_from(s.counter, now)); i < journal.size(); ++i)
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

const KindOps kTimelineOps = kBlockOps<TimelineKind>;

}  // namespace weir::limiter
