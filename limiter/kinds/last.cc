// Entries: each datum is a row of them, all of its event's time: first its type and length, then
// its bytes, eight to an entry. The latest few are kept, so that events can be taken back in the
// order in which threads do that. Head: `at` is when the key's window began (every_first).
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "limiter/kinds/block_ops.h"
#include "limiter/kinds/event_time.h"
#include "limiter/kinds/tally.h"

namespace weir::limiter {
namespace {

constexpr std::uint32_t kKept = 4;
constexpr std::size_t kChunks = (Datum::kTextMax + 7) / 8;

/// A datum as entries hold it.
struct Coded {
  std::uint64_t head = 0;  // type << 8 | bytes
  std::array<std::uint64_t, kChunks> chunk{};

  Datum::Type type() const noexcept { return static_cast<Datum::Type>(head >> 8 & 0xff); }
  std::uint32_t bytes() const noexcept { return head & 0xff; }
  static std::uint32_t chunks(std::uint64_t head) noexcept {
    return static_cast<std::uint32_t>(((head & 0xff) + 7) / 8);
  }
};

Coded coded(const Datum* datum) noexcept {
  Coded out;
  if (datum == nullptr) return out;
  auto type = datum->type;
  std::size_t bytes = 0;
  if (type == Datum::Type::boolean) {
    bytes = 1;
    out.chunk[0] = datum->boolean;
  } else if (type == Datum::Type::number) {
    bytes = datum->number.is_real() ? 16 : 8;
    out.chunk[0] = datum->number.is_real() ? std::bit_cast<std::uint64_t>(datum->number.as_real())
                                           : static_cast<std::uint64_t>(datum->number.integer());
  } else if (type == Datum::Type::text) {
    bytes = datum->text.size();
    if (bytes <= Datum::kTextMax) {
      std::memcpy(out.chunk.data(), datum->text.data(), bytes);
    } else {
      type = Datum::Type::none;
      bytes = 0;
    }
  }
  out.head = std::uint64_t{static_cast<std::uint8_t>(type)} << 8 | bytes;
  return out;
}

std::uint32_t stamp_of(const Coded& c) noexcept {
  std::uint64_t h = c.head;
  for (const std::uint64_t chunk : c.chunk) h = std::rotl((h ^ chunk) * 0x9E37'79B9'7F4A'7C15U, 29);
  return static_cast<std::uint32_t>(h ^ h >> 32);
}

/// The text that a reading points to: the thread's own, until its next operation.
struct Spoken {
  Datum datum;
  Coded coded;
};
thread_local Spoken spoken;

const Datum* speak(const Coded& c) noexcept {
  spoken.coded = c;
  Datum& d = spoken.datum;
  d = Datum{};
  d.type = c.type();
  if (d.type == Datum::Type::boolean) d.boolean = c.chunk[0] != 0;
  if (d.type == Datum::Type::number) {
    d.number = c.bytes() == 16 ? Number::real(std::bit_cast<double>(c.chunk[0]))
                               : Number(static_cast<std::int64_t>(c.chunk[0]));
  }
  if (d.type == Datum::Type::text)
    d.text = {reinterpret_cast<const char*>(spoken.coded.chunk.data()), c.bytes()};
  return &d;
}

struct LastKind {
  using Journal = limiter::Journal;
  using Entry = Journal::Entry;
  using Head = Journal::Head;

  static bool valid(const Counter&, const Amount&) noexcept { return true; }
  static std::uint64_t bits(const Counter&, const Amount&) noexcept { return 0; }
  static bool empty(const Journal& journal) noexcept { return journal.size() == 0; }
  static void clear(Journal& journal) noexcept {
    Head& h = journal.head();
    h.size = h.first = 0;
    h.at = 0;
  }

  static std::uint32_t rows_of(const Journal& journal, std::uint32_t at) noexcept {
    return 1 + Coded::chunks(journal.entry(at).bits);
  }
  static Coded decode(const Journal& journal, std::uint32_t at) noexcept {
    Coded c;
    c.head = journal.entry(at).bits;
    for (std::uint32_t i = 0; i < Coded::chunks(c.head); ++i)
      c.chunk[i] = journal.entry(at + 1 + i).bits;
    return c;
  }
  /// Where each datum begins, oldest first.
  struct Rows {
    std::array<std::uint32_t, kKept + 1> at{};
    std::uint32_t n = 0;
  };
  static Rows rows(const Journal& journal) noexcept {
    Rows out;
    for (std::uint32_t i = 0; i < journal.size() && out.n < out.at.size();
         i += rows_of(journal, i)) {
      out.at[out.n++] = i;
    }
    return out;
  }

  static std::uint32_t count_rows(const Journal& journal) noexcept {
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < journal.size(); i += rows_of(journal, i)) ++n;
    return n;
  }

  static bool live(const Journal& journal, const Counter& c, const Instant& now, std::int64_t ms,
                   std::int64_t span) noexcept {
    const bool first = c.spec.window == Window::every_first;
    const std::int64_t from = first ? journal.head().at : ms;
    return from - now.ms <= Instant::kAheadMax && now.ms - from <= span;
  }
  static void drop_dead(Journal& journal, const Counter& c, const Instant& now) noexcept {
    if (now.rule->own_time) {
      // No later event reads entries before the last one that precedes all possible events.
      const std::int64_t sure = earliest(c, now);
      clear_until(journal, c, kept_from(c, now) - 1);
      while (has_two(journal) && journal.entry(rows_of(journal, 0)).ms() <= sure) pop(journal);
      return;
    }
    while (journal.size() != 0 && !live(journal, c, now, journal.entry(0).ms(), now.kept))
      pop(journal);
  }
  static bool has_two(const Journal& journal) noexcept {
    return journal.size() != 0 && rows_of(journal, 0) < journal.size();
  }
  /// Removes everything up to that time.
  static void clear_until(Journal& journal, const Counter&, std::int64_t ms) noexcept {
    while (journal.size() != 0 && journal.entry(0).ms() <= ms) pop(journal);
  }
  static void pop(Journal& journal) noexcept {
    for (std::uint32_t n = rows_of(journal, 0); n > 0; --n) journal.pop_front();
  }

  /// The last datum before the current event, within its window.
  static std::optional<std::uint32_t> newest_of(const Counter& c, const Journal& journal,
                                                const Instant& now) noexcept {
    if (!now.rule->own_time) {
      const Rows all = rows(journal);
      if (all.n == 0) return std::nullopt;
      const std::uint32_t newest = all.at[all.n - 1];
      if (!live(journal, c, now, journal.entry(newest).ms(), now.span)) return std::nullopt;
      return newest;
    }
    const Reach in = reach(c, now.ms);
    std::optional<std::uint32_t> newest;
    for (std::uint32_t i = 0; i < journal.size() && journal.entry(i).ms() <= in.to;
         i += rows_of(journal, i)) {
      if (journal.entry(i).ms() >= in.from) newest = i;
    }
    return newest;
  }

  static Reading read(const Subject& s, const Journal& journal, const Look& look) noexcept {
    Reading r;
    r.has_value = false;
    const auto newest = look.stale ? std::nullopt : newest_of(s.counter, journal, look.now);
    if (!newest) return r;
    const Datum* const datum = speak(decode(journal, *newest));
    if (datum->type == Datum::Type::none) return r;
    r.has_value = true;
    r.datum = datum;
    if (datum->type == Datum::Type::number) r.value = r.settled = datum->number;
    return r;
  }

  static bool add(Subject& s, Journal& journal, Memory& memory, const Instant&,
                  std::int64_t event_ms, const Amount& event, Undo& undo) noexcept {
    const Coded c = coded(event.datum);
    const std::uint32_t chunks = Coded::chunks(c.head);
    if (!journal.make_room(*s.slot, memory, 1 + chunks)) return false;
    if (journal.size() == 0) journal.head().at = event_ms;
    // A window that has begun does not begin earlier for a late settlement.
    if (s.counter.spec.window == Window::every_first)
      event_ms = std::max(event_ms, journal.head().at);
    undo.former_value = static_cast<std::uint64_t>(event_ms);
    undo.stamp = stamp_of(c);
    std::uint32_t at = journal.place_of(event_ms);
    journal.insert(at++, Entry::of(event_ms, c.head));
    for (std::uint32_t i = 0; i < chunks; ++i)
      journal.insert(at++, Entry::of(event_ms, c.chunk[i]));
    if (s.counter.rule.own_time) {
      const std::uint32_t keep = s.counter.keep.load(std::memory_order_relaxed);
      for (std::uint32_t n = count_rows(journal); n > keep; --n) pop(journal);
    } else if (rows(journal).n > kKept) {
      pop(journal);
    }
    return true;
  }

  static void take_back(Subject&, Journal& journal, Memory&, const Undo& undo) noexcept {
    std::optional<std::uint32_t> last;  // of equal ones
    for (std::uint32_t at = 0; at < journal.size(); at += rows_of(journal, at)) {
      if (journal.entry(at).ms() == static_cast<std::int64_t>(undo.former_value) &&
          stamp_of(decode(journal, at)) == undo.stamp) {
        last = at;
      }
    }
    if (!last) return;
    for (std::uint32_t n = rows_of(journal, *last); n > 0; --n) journal.erase(*last);
  }

  static void take_out(const Subject& s, const Journal& journal, const Instant& now,
                       std::vector<PlainEntry>& out) {
    if (journal.size() == 0 ||
        (!now.rule->own_time &&
         !live(journal, s.counter, now, journal.entry(journal.size() - 1).ms(), now.kept))) {
      return;
    }
    out.push_back({std::min(journal.head().at, journal.entry(0).ms()), 0});
    for (std::uint32_t i = 0; i < journal.size(); ++i)
      out.push_back({journal.entry(i).ms(), journal.entry(i).bits});
  }
  static void put_in(Subject& s, Journal& journal, Memory& memory, const Instant&,
                     std::span<const PlainEntry> entries) noexcept {
    const std::span<const PlainEntry> data = entries.subspan(1);
    std::size_t i = 0;
    std::uint32_t n = 0;
    const std::uint32_t most =
        s.counter.rule.own_time ? s.counter.keep.load(std::memory_order_relaxed) : kKept;
    for (; i < data.size() && n <= most; ++n) {  // rows must be whole
      if ((data[i].bits & 0xff) > Datum::kTextMax) return;
      i += 1 + Coded::chunks(data[i].bits);
    }
    if (i != data.size() || n == 0 || n > most) return;
    if (!journal.make_room(*s.slot, memory, static_cast<std::uint32_t>(data.size()))) return;
    journal.head().at = entries[0].ms;
    for (const PlainEntry& e : data) journal.insert(journal.size(), Entry::of(e.ms, e.bits));
  }
};

}  // namespace

const KindOps kLastOps = kBlockOps<LastKind>;

}  // namespace weir::limiter
