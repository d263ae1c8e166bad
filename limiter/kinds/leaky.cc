// A bucket that loses `drains` every `drain`, without a break while there is anything in it
// (Turner, 1986). The level of counts and integer sums is exact: in units of 1/drain, of which
// `drains` drain each ms; a real sum's is a double.
//
// Head: total[0] the level at `at`; total[1] since when the bucket has not been empty; extra when
// it had become empty before that. An event that is settled late was poured at its own time: the
// part that would have drained while the bucket was empty (extra to total[1]) has drained. If
// it is older than both, some of it may have drained before: then it counts as more, never as less.
// Entries: the members that are in it (distinct).
#include <bit>
#include <cmath>

#include "limiter/kinds/block_ops.h"
#include "limiter/kinds/tally.h"

namespace weir::limiter {
namespace {

/// A level, or a poured amount: units, or (real) a double.
struct Water {
  Wide units = 0;
  double real = 0;
};

struct LeakyKind {
  using Journal = limiter::Journal;
  using Entry = Journal::Entry;
  using Head = Journal::Head;

  static bool valid(const Counter& c, const Amount& event) noexcept {
    return c.spec.metric == Metric::distinct ||
           (event.amount.is_finite() && !event.amount.is_negative());
  }
  static std::uint64_t bits(const Counter& c, const Amount& event) noexcept {
    return bits_of(c.spec, event);
  }
  static bool empty(const Journal& journal) noexcept { return journal.head().total[0] == 0; }
  static void clear(Journal& journal) noexcept {
    Head& h = journal.head();
    h.total[0] = 0;
    h.size = h.first = 0;
    h.extra = static_cast<std::uint64_t>(h.at);  // empty as of the last that is known
  }

  static constexpr Wide kUnitsMax = std::numeric_limits<std::int64_t>::max();

  static Water of(const CounterSpec& spec, std::uint64_t amount) noexcept {
    if (spec.real) return {0, std::bit_cast<double>(amount)};
    const Wide n = spec.metric == Metric::distinct ? 1 : static_cast<std::int64_t>(amount);
    return {n * spec.drain.count(), 0};
  }
  static Water level(const CounterSpec& spec, const Head& h) noexcept {
    if (spec.real) return {0, std::bit_cast<double>(h.total[0])};
    return {static_cast<std::int64_t>(h.total[0]), 0};
  }
  static void set_level(const CounterSpec& spec, Head& h, Water w) noexcept {
    if (spec.real) {
      h.total[0] = std::bit_cast<std::uint64_t>(w.real + 0.0);  // no negative zero: see empty()
    } else {
      h.total[0] = static_cast<std::uint64_t>(static_cast<std::int64_t>(w.units));
    }
  }
  static Water drained(const CounterSpec& spec, Water w, std::int64_t ms) noexcept {
    const std::int64_t passed = std::max<std::int64_t>(0, ms);
    w.units = std::max<Wide>(0, w.units - Wide{passed} * spec.drains);
    w.real = std::max(0.0, w.real - static_cast<double>(passed) * static_cast<double>(spec.drains) /
                                        static_cast<double>(spec.drain.count()));
    return w;
  }
  static Water plus(Water a, Water b) noexcept { return {a.units + b.units, a.real + b.real}; }
  static bool none(const CounterSpec& spec, Water w) noexcept {
    return spec.real ? !(w.real > 0) : w.units == 0;
  }

  static Water capped(const CounterSpec& spec, Water w) noexcept {
    const double capacity = spec.capacity.as_real();
    w.real = std::min(w.real, capacity);
    const Wide most =
        spec.capacity.is_real()
            ? static_cast<Wide>(std::floor(capacity * static_cast<double>(spec.drain.count())))
            : Wide{spec.capacity.integer()} * spec.drain.count();
    w.units = std::min(w.units, most);
    return w;
  }

  /// Whole levels are integers; others are never rounded down, least of all onto an integer.
  static Number number(const CounterSpec& spec, Water w) noexcept {
    if (spec.real) return Number::real(w.real);
    constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
    const Wide drain = spec.drain.count();
    const auto whole = static_cast<std::int64_t>(std::min(w.units / drain, kMax));
    if (w.units % drain == 0 || whole == kMax) return Number(whole);
    const double level = static_cast<double>(w.units) / static_cast<double>(drain);
    if (level > static_cast<double>(whole)) return Number::real(level);
    return Number::real(
        std::nextafter(static_cast<double>(whole), std::numeric_limits<double>::max()));
  }

  static void drop_dead(Journal& journal, const Counter& c, const Instant& now) noexcept {
    Head& h = journal.head();
    if (h.at - now.ms > Instant::kAheadMax) {  // the clock was set back
      h.at = now.ms;
      clear(journal);
      return;
    }
    if (now.ms <= h.at) return;
    if (h.total[0] == 0) {
      h.at = now.ms;
      return;
    }
    const Water before = level(c.spec, h);
    const Water w = drained(c.spec, before, now.ms - h.at);
    if (none(c.spec, w)) {
      const double takes =
          c.spec.real ? before.real * c.spec.ms_of_one()
                      : static_cast<double>(before.units) / static_cast<double>(c.spec.drains);
      const auto empty_at = h.at + static_cast<std::int64_t>(std::ceil(takes));
      h.size = h.first = 0;
      h.extra = static_cast<std::uint64_t>(std::min(empty_at, now.ms));
    }
    set_level(c.spec, h, w);
    h.at = now.ms;
  }

  static bool has(const Journal& journal, std::uint64_t member) noexcept {
    for (std::uint32_t i = 0; i < journal.size(); ++i) {
      if (journal.entry(i).bits == member) return true;
    }
    return false;
  }

  static Reading read(const Subject& s, const Journal& journal, const Look& look) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const bool distinct = spec.metric == Metric::distinct;
    const Head& h = journal.head();
    const bool dead = look.stale || h.at - look.now.ms > Instant::kAheadMax;
    Water settled = dead ? Water{} : drained(spec, level(spec, h), look.now.ms - h.at);
    const bool members = distinct && !none(spec, settled);  // else they are forgotten
    const auto poured = [&](std::uint64_t bits) { return members && has(journal, bits); };
    Water all = settled;
    bool itself_reserved = false;
    for (std::uint32_t i = 0; look.reserved && i < journal.reserved(); ++i) {
      const std::uint64_t bits = journal.reservation(i).bits;
      if (distinct) {
        bool seen = poured(bits);
        for (std::uint32_t k = 0; k < i && !seen; ++k) seen = journal.reservation(k).bits == bits;
        itself_reserved |= look.event != nullptr && bits == look.event->member;
        if (seen) continue;
      }
      all = plus(all, of(spec, bits));
    }
    if (look.event != nullptr) {
      const std::uint64_t bits = bits_of(spec, *look.event);
      const Water own = of(spec, bits);
      const bool there = distinct && poured(bits);
      if (!there) settled = plus(settled, own);
      if (!there && !itself_reserved) all = plus(all, own);
    }
    Reading r;
    r.value = number(spec, all);
    r.settled = number(spec, settled);
    return r;
  }

  static bool add(Subject& s, Journal& journal, Memory& memory, const Instant& now,
                  std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const std::uint64_t amount = bits_of(spec, event);
    const bool fresh = !journal.has_block();
    const bool distinct = spec.metric == Metric::distinct;
    if (!journal.make_room(*s.slot, memory, distinct ? 1 : 0)) return false;
    Head& h = journal.head();
    if (fresh || h.total[0] == 0) h.at = std::max(fresh ? 0 : h.at, now.ms);
    if (event_ms == now.ms) event_ms = h.at;  // a thread behind the others pours at their time
    if (distinct && has(journal, amount)) {
      undo.what = Undo::What::nothing;
      return true;
    }
    const Water before = level(spec, h);
    const auto ran_empty = static_cast<std::int64_t>(h.extra);
    const bool was_empty = none(spec, before);
    const std::int64_t busy_since = was_empty ? h.at : static_cast<std::int64_t>(h.total[1]);
    const std::int64_t from = std::max(event_ms, ran_empty);
    const Water poured = drained(spec, of(spec, amount), busy_since - from);
    if (none(spec, poured)) {
      undo.what = Undo::What::nothing;
      return true;
    }
    const Water full = plus(before, poured);
    const Water after = capped(spec, full);
    if (was_empty || from < busy_since) h.total[1] = static_cast<std::uint64_t>(from);
    set_level(spec, h, after);
    undo.fresh = distinct;
    undo.former_value =
        spec.real
            ? std::bit_cast<std::uint64_t>(after.real - before.real)
            : static_cast<std::uint64_t>(static_cast<std::int64_t>(after.units - before.units));
    undo.spilled = spec.real ? std::bit_cast<std::uint64_t>(full.real - after.real)
                             : static_cast<std::uint64_t>(static_cast<std::int64_t>(
                                   std::min<Wide>(full.units - after.units, kUnitsMax)));
    if (distinct) {
      if (journal.size() >= s.counter.keep.load(std::memory_order_relaxed)) {
        undo.dropped = true;
        undo.dropped_value = journal.entry(0).bits;
        journal.pop_front();
      }
      journal.insert(journal.size(), Entry::of(now.ms, amount));
    }
    return true;
  }

  /// An event is judged by the level before capping. A settled event has no reading of its own.
  static void add_spilled(const Subject& s, const Journal& journal, const Undo& undo,
                          Reading& r) noexcept {
    const CounterSpec& spec = s.counter.spec;
    const Water spilled = spec.real ? Water{0, std::bit_cast<double>(undo.spilled)}
                                    : Water{static_cast<std::int64_t>(undo.spilled), 0};
    if (none(spec, spilled)) return;
    r.value = r.settled = number(spec, plus(level(spec, journal.head()), spilled));
  }

  static void take_back(Subject& s, Journal& journal, Memory&, const Undo& undo) noexcept {
    const CounterSpec& spec = s.counter.spec;
    Head& h = journal.head();
    Water w = level(spec, h);
    if (undo.fresh) {
      const std::uint64_t member = undo.amount.member;
      std::uint32_t i = journal.size();
      while (i > 0 && journal.entry(i - 1).bits != member) --i;
      if (i == 0) return;  // forgotten: the bucket has run empty since
      journal.erase(i - 1);
      if (undo.dropped) journal.insert(0, Entry::of(h.at, undo.dropped_value));
    }
    w.units = std::max<Wide>(0, w.units - static_cast<std::int64_t>(undo.former_value));
    w.real = std::max(0.0, w.real - std::bit_cast<double>(undo.former_value));
    set_level(spec, h, w);
    if (none(spec, w)) {
      h.size = h.first = 0;
      h.extra = std::max(h.extra, h.total[1]);  // the bucket was empty before this event
    }
  }

  static void take_out(const Subject& s, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    const Head& h = journal.head();
    if (h.at - now.ms > Instant::kAheadMax) return;
    if (none(s.counter.spec, drained(s.counter.spec, level(s.counter.spec, h), now.ms - h.at)))
      return;
    const auto busy_since = static_cast<std::int64_t>(h.total[1]);
    out.push_back({std::min(static_cast<std::int64_t>(h.extra), busy_since), 0});
    out.push_back({std::min(busy_since, h.at), 0});
    out.push_back({h.at, h.total[0]});
    for (std::uint32_t i = 0; i < journal.size(); ++i) out.push_back({h.at, journal.entry(i).bits});
  }
  static void put_in(Subject& s, Journal& journal, Memory& memory, const Instant&,
                     std::span<const PlainEntry> entries) noexcept {
    if (entries.size() < 3) return;
    const std::span<const PlainEntry> members = entries.subspan(3);
    if (!journal.make_room(*s.slot, memory, static_cast<std::uint32_t>(members.size()))) return;
    Head& h = journal.head();
    h.extra = static_cast<std::uint64_t>(std::max<std::int64_t>(0, entries[0].ms));
    h.total[1] = static_cast<std::uint64_t>(entries[1].ms);
    h.at = entries[2].ms;
    h.total[0] = entries[2].bits;
    set_level(s.counter.spec, h, capped(s.counter.spec, level(s.counter.spec, h)));
    for (const PlainEntry& e : members) journal.insert(journal.size(), Entry::of(e.ms, e.bits));
  }
};

}  // namespace

const KindOps kLeakyOps = kBlockOps<LeakyKind>;

}  // namespace weir::limiter
