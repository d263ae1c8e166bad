#include "limiter/heritage.h"

#include <algorithm>

#include "limiter/bank_impl.h"

namespace weir::limiter {

Heritage Heritage::of(const Counter& c) noexcept {
  const bool ring = c.spec.window == Window::ring;
  const std::int64_t kept = std::max(c.rule.span, c.rule.kept);
  return {c.spec.late ? Hash128{} : c.spec.what, c.spec.metric,  c.spec.window,
          c.spec.real, c.rule.quantum, ring ? kept * c.rule.quantum : kept + 1};
}

bool Heritage::fits(const Counter& heir) const noexcept {
  const auto trails = [](Window w) { return w == Window::log || w == Window::ring; };
  // Times that events bring are not those that ours are kept by.
  if (heir.spec.late || what == Hash128{} || what != heir.spec.what || metric != heir.spec.metric ||
      real != heir.spec.real || !trails(window) || !trails(heir.spec.window)) {
    return false;
  }
  return kept >= heir.rule.length && heir.rule.quantum % quantum == 0;
}

/// Who has the longest history comes first; others fill in keys that it does not hold. Counters that
/// are closed come last: what has happened since, they lack.
void Bank::Impl::inherit(Held& heir) {
  Counter& to = heir.counter;
  const std::int64_t now = latest_ms();
  heir.since = now;
  struct Source {
    bool open;
    std::int64_t history;
    const Held* held;
  };
  std::vector<Source> sources;
  for (const auto& [identity, held] : by_identity) {
    const Heritage left = Heritage::of(held->counter);
    if (held != &heir && left.fits(to))
      sources.push_back({!held->closed, std::min(left.kept, now - held->since), held});
  }
  std::stable_sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return a.open != b.open ? a.open : a.history > b.history;
  });
  for (const Source& from : sources) {
    copy(from.held->counter, to);
    if (from.open) heir.since = std::min(heir.since, from.held->since);
  }
}

void Bank::Impl::copy(const Counter& from, Counter& to) const {
  // The latest second that anybody has seen: events may be ahead of it by less than one, and none
  // that still counts is taken for too old.
  const TimePoint now = from_ms(latest_ms());
  const Instant then(from.rule, now), at(to.rule, now);
  std::vector<PlainEntry> entries;
  entries.reserve(kKeepMax + kBucketsMax);  // nothing is allocated under a lock
  Table& table = *from.table;
  for (std::size_t r = 0; r < table.regions(); ++r) {
    Table::Region& region = table.region(r);
    if (region.taken.load(std::memory_order_relaxed) == 0) continue;  // nor touch its memory
    for (std::size_t b = 0; b < table.buckets(); ++b) {
      Slot* const slots = table.bucket(r, b);
      for (std::size_t i = 0; i < Table::kWays; ++i) {
        entries.clear();
        std::uint64_t tag;
        {
          const std::scoped_lock hold(region.lock);
          if (slots[i].tag == 0 || slots[i].counter != from.index) continue;
          tag = slots[i].tag;
          const Table::Place place{&region, nullptr, nullptr, 0, 0, tag};
          const Subject subject{from, place, ages, arena, &slots[i]};
          from.ops->take_out(subject, then, entries);
        }
        if (entries.empty() || !at.covers(entries.back().ms)) continue;
        with(&to, to.table->place(tag, to.salt), [&](Subject& s) {
          if (s.slot == nullptr) to.ops->put_in(s, at, entries);
        });
      }
    }
  }
}

}  // namespace weir::limiter
