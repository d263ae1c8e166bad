#include "limiter/counters/history_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "limiter/counters/bank_impl.h"
#include "limiter/counters/plain_entry.h"

namespace weir::limiter {

HistoryFacts HistoryFacts::of(const CounterSpec& spec, const Rule& rule) noexcept {
  const std::int64_t kept = std::max(rule.span, rule.kept);
  return {spec.late ? Hash128{} : spec.what,
          spec.metric,
          spec.window,
          spec.real,
          rule.quantum,
          spec.window == Window::ring ? kept * rule.quantum : kept + 1};
}

bool drops(const CounterSpec& spec) noexcept {
  if (spec.window == Window::events || spec.window == Window::leaky) return false;
  return takes_members(spec.metric) ||
         (spec.metric == Metric::count && (spec.window == Window::log || spec.late));
}

bool HistoryFacts::fits(const Counter& receiver) const noexcept {
  // Times that events bring are not those that ours are kept by.
  if (receiver.spec.late || what == Hash128{} || what != receiver.spec.what ||
      metric != receiver.spec.metric || real != receiver.spec.real || !is_trailing(window) ||
      !is_trailing(receiver.spec.window)) {
    return false;
  }
  return kept >= receiver.rule.length && receiver.rule.quantum % quantum == 0;
}

namespace {

/// The most counters whose history one counter takes over. Each costs a pass through the tables,
/// for all receivers together.
constexpr std::size_t kSourcesMax = 4;

}  // namespace

void Bank::HistoryCopier::add_receiver(Held& held) {
  receivers_.push_back(&held);
  held.waits_for_history = true;
  held.covers_from = bank_.opening;
  held.opened_ms = bank_.latest();
}

void Bank::HistoryCopier::add_reopened(Held& held) {
  reopened_.push_back(&held);
  held.closed = false;
  held.closed_at = {};
  held.reopened = true;
  held.opened_ms = bank_.latest();
}

/// Whether its history is still to come: it has nothing for others then.
bool Bank::HistoryCopier::waits(const Held& held) const noexcept {
  return held.waits_for_history ||
         std::find(reopened_.begin(), reopened_.end(), &held) != reopened_.end();
}

void Bank::HistoryCopier::note_cut(Counter& to, std::uint32_t held) const noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const std::int64_t now =
      to.clock == Ages::kOwnTime ? to.newest.load(kRelaxed) : bank_.latest()[to.clock];
  if (to.cut_until.load(kRelaxed) > now) held = std::min(held, to.cut_from.load(kRelaxed));
  // With a radius it reads parts of its cells.
  to.cut_from.store(to.grid ? 0 : held, kRelaxed);
  const std::int64_t length = to.rule.own_time ? to.rule.kept : to.rule.length;
  to.cut_until.store(now + length + 1000, kRelaxed);  // latest() is a second behind
}

/// The same if it gets the events of another one.
void Bank::HistoryCopier::take_cut(Counter& to, const Counter& from) const noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const std::uint32_t kept = from.keep.load(kRelaxed);
  if (drops(from.spec) && (!drops(to.spec) || kept < to.keep.load(kRelaxed))) note_cut(to, kept);
  if (from.cut_until.load(kRelaxed) > bank_.latest()[Ages::kNow])
    note_cut(to, from.cut_from.load(kRelaxed));
}

/// The history of one counter, and its receivers.
struct Bank::HistoryCopier::CopyJob {
  const Counter* from;
  Instant then;
  struct Heir {
    Counter* to;
    Instant at;
  };
  std::vector<Heir> receivers;
};

/// The counter with the longest history comes first; others add keys that it does not hold. Closed
/// counters come last: they lack the events since their closing.
std::vector<const Bank::Held*> Bank::HistoryCopier::sources_of(const Held& receiver) const {
  const std::int64_t now = bank_.latest_ms();
  struct Source {
    bool open;
    std::int64_t history;
    const Held* held;
  };
  std::vector<Source> sources;
  const Hash128& what = receiver.counter.spec.what;
  if (what == Hash128{}) return {};
  for (const Held* const held : bank_.by_what.at(what)) {
    const HistoryFacts left = HistoryFacts::of(held->counter);
    if (!held->waits_for_history && left.fits(receiver.counter))
      sources.push_back({!held->closed, std::min(left.kept, now - held->since), held});
  }
  std::stable_sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return a.open != b.open ? a.open : a.history > b.history;
  });
  std::vector<const Held*> out;
  for (const Source& source : sources) {
    if (out.size() < kSourcesMax) out.push_back(source.held);
  }
  return out;
}

/// The n-th source of every receiver in the n-th pass.
void Bank::HistoryCopier::run() {
  // The latest second of any thread: events may be ahead of it by less than one, and none that
  // still counts is taken for too old.
  const TimePoint now = from_ms(bank_.latest_ms());
  for (Held* const again : reopened_) catch_up(*again);
  for (Held* const again : reopened_) join(*again);
  reopened_.clear();
  for (Held* const receiver : receivers_) join(*receiver);
  std::array<std::map<const Counter*, CopyJob>, kSourcesMax> passes;
  for (Held* const receiver : receivers_) {
    const std::vector<const Held*> sources = sources_of(*receiver);
    receiver->since = to_ms(now);
    if (!sources.empty()) receiver->copies_until = to_ms(now) + 1000;
    for (std::size_t n = 0; n < sources.size(); ++n) {
      const Counter& from = sources[n]->counter;
      take_cut(receiver->counter, from);
      const auto at =
          passes[n].try_emplace(&from, CopyJob{&from, Instant(from.rule, now), {}}).first;
      at->second.receivers.push_back({&receiver->counter, Instant(receiver->counter.rule, now)});
      if (sources[n]->closed) continue;
      receiver->since = std::min(receiver->since, sources[n]->since);
      receiver->covers_from = std::min(receiver->covers_from, sources[n]->covers_from);
    }
  }
  for (Held* const receiver : receivers_) receiver->waits_for_history = false;
  receivers_.clear();
  for (auto& pass : passes) {
    std::vector<CopyJob> bequests;
    for (auto& [from, bequest] : pass) bequests.push_back(std::move(bequest));
    if (!bequests.empty()) copy_all(bequests);
  }
}

void Bank::HistoryCopier::copy_all(const std::vector<CopyJob>& bequests) const {
  std::vector<const CopyJob*> by_counter(kCountersMax);
  std::vector<Table*> of;
  for (const CopyJob& bequest : bequests) {
    by_counter[bequest.from->index] = &bequest;
    if (std::find(of.begin(), of.end(), bequest.from->table) == of.end())
      of.push_back(bequest.from->table);
  }
  std::vector<PlainEntry> entries;
  entries.reserve(kKeepMax + kBucketsMax);  // no allocation under a lock
  for (Table* const table : of) {
    bank_.each_slot_of(*table, by_counter,
                       [&](const CopyJob& found, Table::Region& region, Slot& slot) {
                         if (found.from->table == table) copy_key(found, region, slot, entries);
                       });
  }
}

void Bank::HistoryCopier::copy_key(const CopyJob& bequest, Table::Region& region, Slot& slot,
                                   std::vector<PlainEntry>& entries) const {
  entries.clear();
  std::uint64_t tag = 0;
  {
    const std::scoped_lock hold(region.lock);
    if (slot.tag == 0 || slot.counter != bequest.from->index) return;  // now another key's
    tag = slot.tag;
    const Table::Place place{&region, nullptr, nullptr, 0, 0, tag};
    const Subject subject{*bequest.from, place, bank_.ages, bank_.arena, &slot};
    bequest.from->ops->take_out(subject, bequest.then, entries);
  }
  if (entries.empty()) return;
  for (const CopyJob::Heir& receiver : bequest.receivers) {
    if (!receiver.at.covers(entries.back().ms)) continue;
    bank_.with(receiver.to, receiver.to->table->place(tag, receiver.to->salt), [&](Subject& s) {
      if (s.slot == nullptr) receiver.to->ops->put_in(s, receiver.at, entries);
    });
  }
}

}  // namespace weir::limiter
