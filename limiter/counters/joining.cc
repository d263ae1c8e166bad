#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "limiter/counters/bank_impl.h"
#include "limiter/counters/history_facts.h"
#include "limiter/counters/plain_entry.h"

/// Transfers history from other counters of the same events to a counter without a trailing window:
/// a reopened counter gets the events that came while it was closed, and a new bucket gets the
/// level of the existing buckets.
namespace weir::limiter {
namespace {

constexpr std::size_t kJoinedMax = 4;  // each costs a pass through a table

bool is_fixed(Window window) noexcept {
  return window == Window::every || window == Window::every_first || window == Window::calendar;
}

/// When the window that is open at that time began; of windows that begin alike for all keys.
std::int64_t begin_of(const Counter& counter, std::int64_t ms) noexcept {
  const CounterSpec& spec = counter.spec;
  return spec.window == Window::every ? ms - ms % spec.length.count()
                                      : counter.rule.calendar->begin(ms);
}

/// The amount to pour into `level` so that it is not below `other`; without fractions if the
/// counter has integers.
Number lacking(const CounterSpec& spec, Number level, Number other) noexcept {
  if (!(other > level)) return 0;
  const double much = (other - level).as_real();
  return spec.real ? Number::real(much) : Number(static_cast<std::int64_t>(std::ceil(much)));
}

}  // namespace

Joining joining(Metric metric, Window to, Window from) noexcept {
  if (metric == Metric::in_flight || to == Window::none || from == Window::none)
    return Joining::none;
  if (metric == Metric::last) return Joining::newest;
  const bool leaks = to == Window::leaky;
  if (leaks || from == Window::leaky) {
    return leaks && from == Window::leaky && metric != Metric::distinct ? Joining::level
                                                                        : Joining::none;
  }
  if (from == Window::events) return Joining::none;  // others may have been among its last n
  if (takes_members(metric) && to != Window::events && (is_fixed(to) || is_fixed(from)))
    return Joining::renew;
  if (is_trailing(from))
    return is_trailing(to)                               ? Joining::gaps
           : is_fixed(to)                                ? Joining::times
           : to == Window::events && from == Window::log ? Joining::times
                                                         : Joining::none;
  return is_total(metric) && (to == Window::every || to == Window::calendar) ? Joining::totals
                                                                             : Joining::none;
}

std::vector<const Bank::Held*> Bank::HistoryCopier::to_join(const Held& to) const {
  std::vector<const Held*> out;
  const CounterSpec& spec = to.counter.spec;
  if (spec.what == Hash128{} || spec.late || to.counter.grid) return out;
  for (const Held* const held : bank_.by_what.at(spec.what)) {
    const CounterSpec& theirs = held->counter.spec;
    const bool same = theirs.metric == spec.metric && theirs.real == spec.real && !theirs.late;
    if (held == &to || !same || held->counter.grid || waits(*held)) continue;
    const Joining how = joining(spec.metric, spec.window, theirs.window);
    if (how == Joining::none || how == Joining::gaps) continue;
    if (to.waits_for_history ? how != Joining::level
                             : held->closed && held->closed_in <= to.closed_in)
      continue;
    out.push_back(held);
  }
  // The counters that were open last have the most.
  std::stable_sort(out.begin(), out.end(), [](const Held* a, const Held* b) {
    return a->closed != b->closed ? b->closed : a->closed_in > b->closed_in;
  });
  if (out.size() > kJoinedMax) out.resize(kJoinedMax);
  return out;
}

void Bank::HistoryCopier::join(Held& to) {
  for (const Held* const source : to_join(to)) join_from(to, *source);
}

void Bank::HistoryCopier::join_from(Held& to, const Held& source) {
  const Counter& from = source.counter;
  take_cut(to.counter, from);
  std::vector<PlainEntry> entries;
  entries.reserve(kKeepMax + kBucketsMax);  // no allocation under a lock
  std::vector<const Counter*> wanted(kCountersMax);
  wanted[from.index] = &from;
  bank_.each_slot_of(*from.table, wanted, [&](const Counter&, Table::Region& region, Slot& slot) {
    join_key(to, source, region, slot, entries);
  });
}

void Bank::HistoryCopier::join_key(Held& to, const Held& source, Table::Region& region, Slot& slot,
                                   std::vector<PlainEntry>& entries) {
  const Counter& from = source.counter;
  Counter& counter = to.counter;
  const auto times = bank_.latest();
  const std::int64_t now = times[counter.clock];
  const Instant then(from.rule, from_ms(times[from.clock])), at(counter.rule, from_ms(now));
  const Joining how = joining(counter.spec.metric, counter.spec.window, from.spec.window);
  entries.clear();
  std::uint64_t tag = 0;
  Reading theirs;
  Datum datum;
  std::string text;
  if (how == Joining::newest) text.reserve(Datum::kTextMax);  // no allocation under a lock
  {
    const std::scoped_lock hold(region.lock);
    if (slot.tag == 0 || slot.counter != from.index) return;  // now another key's
    tag = slot.tag;
    const Subject subject{
        from, {&region, nullptr, nullptr, 0, 0, tag}, bank_.ages, bank_.arena, &slot};
    from.ops->take_out(subject, then, entries);
    theirs = from.ops->peek(subject, then, nullptr);
    if (theirs.datum != nullptr) {
      datum = *theirs.datum;
      text.assign(datum.text);
      datum.text = text;
    }
  }
  if (entries.empty()) return;
  // Both were open at one time: it has the events of that time.
  const bool overlaps = source.covers_from < to.closed_in;
  // The second in which it was closed belongs to both: it has those events, or the other has.
  const std::int64_t from_ms_on = overlaps          ? to.closed_ms[from.clock] + 1000
                                  : source.reopened ? source.opened_ms[from.clock] + 1000
                                                    : source.copies_until;
  bank_.with(&counter, counter.table->place(tag, counter.salt), [&](Subject& s) {
    const auto settle = [&](std::int64_t ms, const Amount& event) {
      counter.ops->settle(s, at, ms, event, Undo{}, true);
      s.slot = counter.table->find(s.place, counter.index);
    };
    switch (how) {
      case Joining::times:
        for (const PlainEntry& entry : entries) {
          if (entry.ms < from_ms_on || (is_fixed(counter.spec.window) && counter.rule.aligned &&
                                        entry.ms < begin_of(counter, now)))
            continue;
          settle(entry.ms, amount_in(counter.spec, entry.bits));
        }
        break;
      case Joining::renew:
        for (const PlainEntry& entry : entries)
          settle(entry.ms, amount_in(counter.spec, entry.bits));
        break;
      case Joining::totals: {
        const bool all_new = !overlaps && !source.reopened && source.copies_until == 0;
        if (!all_new || source.opened_ms[counter.clock] < begin_of(counter, now)) break;
        for (const PlainEntry& entry : entries) settle(now, amount_in(counter.spec, entry.bits));
        break;
      }
      case Joining::level: {
        Amount poured;
        poured.amount =
            lacking(counter.spec, counter.ops->peek(s, at, nullptr).settled, theirs.settled);
        if (!poured.amount.is_zero()) settle(now, poured);
        break;
      }
      case Joining::newest: {
        std::vector<PlainEntry>& own = entries;
        const std::int64_t newest = entries.back().ms;
        own.clear();
        if (s.slot != nullptr) counter.ops->take_out(s, at, own);
        if (theirs.datum == nullptr || (!own.empty() && own.back().ms >= newest)) break;
        Amount event;
        event.datum = &datum;
        settle(newest, event);
        break;
      }
      case Joining::none:
      case Joining::gaps:
        break;
    }
  });
}

}  // namespace weir::limiter
