#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "limiter/counters/bank_impl.h"
#include "limiter/counters/history_facts.h"
#include "limiter/counters/plain_entry.h"

/// A counter that is opened again gets the events of the time in between from counters of the same
/// events that were open then.
namespace weir::limiter {
namespace {

constexpr std::size_t kMeanwhileMax = 4;                  // each costs a pass through a table
constexpr std::int64_t kSpanMax = std::int64_t{1} << 50;  // ms: one span for all times

/// Whether the counter reads a window that trails the event. Not `last`: it needs only the newest
/// event, and joining.cc copies that.
bool trails(const Counter& counter) noexcept {
  return counter.spec.metric != Metric::last && is_trailing(counter.spec.window);
}

/// Entries that differ only by their times and amounts; a repeated member is renewed.
bool has_members(const CounterSpec& spec) noexcept { return takes_members(spec.metric); }

std::uint64_t difference(const CounterSpec& spec, std::uint64_t all, std::uint64_t had) noexcept {
  if (spec.real)
    return std::bit_cast<std::uint64_t>(std::bit_cast<double>(all) - std::bit_cast<double>(had));
  return all - had;
}

std::uint64_t total(const CounterSpec& spec, std::uint64_t a, std::uint64_t b) noexcept {
  if (spec.real)
    return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  return a + b;
}

bool is_more(const CounterSpec& spec, std::uint64_t all, std::uint64_t had) noexcept {
  if (spec.real) return std::bit_cast<double>(all) != std::bit_cast<double>(had);
  return static_cast<std::int64_t>(all) != static_cast<std::int64_t>(had);
}

/// When the first of all spans begins that the counter still holds as a whole; ms.
std::int64_t whole_from(const Instant& now) noexcept {
  const std::int64_t quantum = now.rule->quantum;
  return (now.ms / quantum - now.kept) * quantum;
}

/// Whether its window still holds the events of that time.
bool has_since(const Counter& counter, std::int64_t now, std::int64_t ms) noexcept {
  return now - HistoryFacts::of(counter).kept <= ms;
}

/// Keeps the entries of `from` that are not in `own`, in the order of time. Both are in that order.
/// Times are compared in spans of `quantum`, in which both place the same events. If `from` holds
/// only the end of a span (it holds all since `begin`), that end is new as far as it exceeds the
/// whole span of `own`.
void leave_what_is_new(const CounterSpec& spec, std::int64_t quantum, std::int64_t begin,
                       std::vector<PlainEntry>& from, const std::vector<PlainEntry>& own) {
  if (has_members(spec)) return;  // members are renewed
  if (!is_total(spec.metric)) {
    std::vector<PlainEntry> left = own;
    std::erase_if(from, [&](const PlainEntry& entry) {
      const auto same = std::find_if(left.begin(), left.end(), [&](const PlainEntry& other) {
        return other.ms == entry.ms && other.bits == entry.bits;
      });
      if (same == left.end()) return false;
      left.erase(same);
      return true;
    });
    return;
  }
  std::vector<PlainEntry> out;
  auto mine = own.begin();
  for (auto at = from.begin(); at != from.end();) {
    const std::int64_t span = at->ms / quantum;
    PlainEntry all{at->ms, 0};
    for (; at != from.end() && at->ms / quantum == span; ++at) {
      all.ms = at->ms;
      all.bits = total(spec, all.bits, at->bits);
    }
    while (mine != own.end() && mine->ms / quantum < span) ++mine;
    std::uint64_t had = 0;
    const bool is_torn = span * quantum < begin && mine != own.end() && mine->ms / quantum == span;
    for (; mine != own.end() && mine->ms / quantum == span; ++mine)
      had = total(spec, had, mine->bits);
    if (!is_more(spec, all.bits, had)) continue;
    all.bits = difference(spec, all.bits, had);
    const bool negative =
        spec.real ? std::bit_cast<double>(all.bits) < 0 : static_cast<std::int64_t>(all.bits) < 0;
    if (negative && (is_torn || spec.metric == Metric::count))
      continue;  // the counter did not exist during the whole span, or has forgotten its begin
    out.push_back(all);
  }
  from.swap(out);
}

}  // namespace

// A copy is at the end of the part in which its source has the event. So the copies of one
// event agree in spans of whole parts of every counter through which they may have
// passed.
std::int64_t Bank::HistoryCopier::common_span(const Held& again) const {
  std::int64_t span = again.counter.rule.quantum;
  for (const Held* const held : bank_.by_what.at(again.counter.spec.what)) {
    const CounterSpec& theirs = held->counter.spec;
    if (!trails(held->counter) || theirs.metric != again.counter.spec.metric) continue;
    const std::int64_t times =
        held->counter.rule.quantum / std::gcd(span, held->counter.rule.quantum);
    span = span > kSpanMax / times ? kSpanMax : span * times;
  }
  return span;
}

/// The counters that together cover the time from its closing until now, oldest first.
std::vector<Bank::Held*> Bank::HistoryCopier::open_meanwhile(const Held& again) const {
  const CounterSpec& spec = again.counter.spec;
  std::vector<Held*> out;
  if (spec.what == Hash128{} || !trails(again.counter) || spec.late || again.counter.grid)
    return out;
  const auto closed_in = [this](const Held& held) {
    return held.closed ? held.closed_in : bank_.opening;
  };
  std::uint64_t covered = again.closed_in;
  const std::int64_t now = bank_.latest_ms();
  const std::int64_t reads_from = now - HistoryFacts::of(again.counter).kept;
  std::int64_t lacks_from = std::max(again.closed_ms[Ages::kNow], reads_from);
  while (covered < bank_.opening && out.size() < kMeanwhileMax) {
    Held* best = nullptr;
    const auto is_better = [&](const Held& a, const Held& b) {
      const bool a_gap = a.covers_from > covered, b_gap = b.covers_from > covered;
      if (a_gap != b_gap) return b_gap;
      if (a_gap && a.covers_from != b.covers_from) return a.covers_from < b.covers_from;
      // The other one may come next, for the later events.
      const bool a_has_it = has_since(a.counter, now, lacks_from);
      if (a_has_it != has_since(b.counter, now, lacks_from)) return a_has_it;
      if (closed_in(a) != closed_in(b)) return closed_in(a) > closed_in(b);
      return a.counter.rule.quantum < b.counter.rule.quantum;
    };
    for (Held* const held : bank_.by_what.at(spec.what)) {
      const CounterSpec& theirs = held->counter.spec;
      const bool same = theirs.metric == spec.metric && theirs.real == spec.real && !theirs.late;
      if (held == &again || !same || !trails(held->counter) || waits(*held)) continue;
      if (closed_in(*held) <= covered) continue;
      if (best == nullptr || is_better(*held, *best)) best = held;
    }
    if (best == nullptr) break;
    out.push_back(best);
    covered = closed_in(*best);
    lacks_from = std::max(best->closed_ms[Ages::kNow], reads_from);
  }
  return out;
}

void Bank::HistoryCopier::catch_up(Held& again) {
  const TimePoint now = from_ms(bank_.latest_ms());
  const std::vector<Held*> sources = open_meanwhile(again);
  std::uint64_t covered = again.closed_in;
  std::vector<PlainEntry> entries, own;
  entries.reserve(kKeepMax + kBucketsMax);
  own.reserve(kKeepMax + kBucketsMax);
  std::int64_t told_until = 0;  // ms: earlier sources may have given the events before it
  const std::int64_t span = sources.empty() ? 0 : common_span(again);  // ms
  for (const Held* const source : sources) {
    // Both were open at one time: the other has the events of that time, too.
    const bool overlaps = source->covers_from < again.closed_in;
    again.covers_from = source->covers_from > covered ? source->covers_from : again.covers_from;
    covered = source->closed ? source->closed_in : bank_.opening;
    const Counter& from = source->counter;
    take_cut(again.counter, from);
    const Instant then(from.rule, now), at(again.counter.rule, now);
    // A count of a coarser part gets the age of the part, so no event leaves its window too early.
    const std::int64_t later =
        from.rule.quantum > again.counter.rule.quantum ? from.rule.quantum - 1 : 0;
    std::vector<const Counter*> wanted(kCountersMax);
    wanted[from.index] = &from;
    bank_.each_slot_of(*from.table, wanted, [&](const Counter&, Table::Region& region, Slot& slot) {
      entries.clear();
      std::uint64_t tag = 0;
      {
        const std::scoped_lock hold(region.lock);
        if (slot.tag == 0 || slot.counter != from.index) return;
        tag = slot.tag;
        const Subject subject{
            from, {&region, nullptr, nullptr, 0, 0, tag}, bank_.ages, bank_.arena, &slot};
        from.ops->take_out(subject, then, entries);
      }
      if (entries.empty()) return;
      bank_.with(
          &again.counter, again.counter.table->place(tag, again.counter.salt), [&](Subject& s) {
            own.clear();
            if (s.slot != nullptr) again.counter.ops->take_out(s, at, own);
            // Entries later than all copies, and not counted by both, are new.
            const std::int64_t new_from = std::max(source->copies_until, told_until);
            const auto fresh = std::find_if(
                entries.begin(), entries.end(),
                [&](const PlainEntry& entry) { return !overlaps && entry.ms >= new_from; });
            const std::vector<PlainEntry> all_new(fresh, entries.end());
            entries.erase(fresh, entries.end());
            // `own` has dropped earlier events: it cannot show that it had them.
            const std::int64_t kept_from = whole_from(at);
            std::erase_if(entries, [&](const PlainEntry& entry) { return entry.ms < kept_from; });
            leave_what_is_new(again.counter.spec, span, whole_from(then), entries, own);
            entries.insert(entries.end(), all_new.begin(), all_new.end());
            for (const PlainEntry& entry : entries) {
              const std::int64_t ms = std::min(entry.ms + later, std::max(entry.ms, to_ms(now)));
              again.counter.ops->settle(s, at, ms, amount_in(again.counter.spec, entry.bits),
                                        Undo{}, true);
              s.slot = again.counter.table->find(s.place, again.counter.index);
            }
          });
    });
    told_until = source->closed_ms[Ages::kNow] + 1000;
  }
  // Also its own earlier events: a counter that is reopened later may have been open then.
  again.copies_until = to_ms(now) + 1000;
  if (covered < bank_.opening) {  // no counter was open: later events are missing
    again.covers_from = bank_.opening;
    again.since = to_ms(now);
  } else if (again.covers_from > again.closed_in) {
    again.since = to_ms(now);
  }
}

}  // namespace weir::limiter
