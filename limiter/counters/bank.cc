#include "limiter/counters/bank.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "limiter/counters/bank_impl.h"
#include "limiter/counters/history_facts.h"

// An operation is a few dozen instructions: a call of a closure, with all that it captures by
// reference, costs as much again. GCC leaves it out of line, for counters with a radius run it too.
#define WEIR_IN_PLACE __attribute__((always_inline))

namespace weir::limiter {
namespace {

std::uint32_t keep_of(const CounterSpec& spec) noexcept {
  // A sum that keeps one entry could not distinguish the old from the new.
  const std::size_t least = spec.metric == Metric::sum ? 2 : 1;
  return static_cast<std::uint32_t>(std::max(least, spec.keep));
}

std::uint32_t idle_seconds(const CounterSpec& spec, const Rule& rule, std::int64_t kept) noexcept {
  constexpr std::int64_t kNever = std::numeric_limits<std::int32_t>::max();
  std::int64_t longest = rule.length;
  if (spec.window == Window::ring) longest = (kept + 1) * rule.quantum;
  if (spec.window == Window::log) longest = kept + 1;
  if (spec.window == Window::events && longest == 0) return kNever;
  if (spec.late) longest = rule.kept;
  if (spec.window == Window::leaky) {  // until a full bucket is empty
    const double ms = spec.capacity.as_real() * spec.ms_of_one();
    longest = static_cast<std::int64_t>(std::min(ms, static_cast<double>(kNever) * 1000)) + 1;
  }
  return static_cast<std::uint32_t>(std::min((longest + 999) / 1000 + 1, kNever));
}

void resolve(Counter& c, const Hash128& identity, const CounterSpec& spec, const Kind* kind) {
  c.identity = identity;
  c.spec = spec;
  c.kind = kind;
  c.ops = spec.late ? kind->own_time : kind->ops;
  c.rule = Rule::of(spec);
  c.salt = identity.lo ^ std::rotl(identity.hi, 17);
  c.keep = keep_of(spec);
  if (spec.radius != 0) c.grid.emplace(spec.radius);
  const bool wall = spec.window == Window::every || spec.window == Window::every_first ||
                    spec.window == Window::calendar;
  c.clock = spec.late ? Ages::kOwnTime : wall ? Ages::kWall : Ages::kNow;
  c.inline_words = spec.outcome || spec.metric == Metric::in_flight ? 3 : 4;
  // A ring's entries are at most `span` apart; in a fixed window there is one entry.
  const bool ring = spec.window == Window::ring;
  const std::int64_t kept = std::max(c.rule.span, c.rule.kept);
  c.idle_seconds = idle_seconds(spec, c.rule, kept);
  // Longer spans use whole stamps (Slot::Form::pairs).
  const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(kept)));
  c.delta_bits = ring ? static_cast<std::uint8_t>(std::min(15U, bits)) : 0;
}

}  // namespace

std::size_t Bank::Impl::bytes_of(std::size_t keys) noexcept {
  const std::size_t slots = Table::slots_for(keys);
  const std::size_t regions = slots / (Table::kWays * Table::kBucketsMax) + 1;
  return slots * sizeof(Slot) + regions * sizeof(Table::Region);
}

std::size_t Bank::Impl::common_keys(const BankLimits& limits) noexcept {
  // At most three quarters for slots: a key of many entries needs a block.
  const std::size_t most = limits.memory / 4 * 3 / sizeof(Slot) / 5 * 4;
  return std::clamp<std::size_t>(limits.keys, 1, std::max<std::size_t>(most, 1));
}

Bank::Impl::Impl(const BankLimits& l)
    : limits(l),
      common(common_keys(l)),
      arena(l.memory - std::min(l.memory, bytes_of(common_keys(l)) + sizeof(Impl))) {}

Bank::Held& Bank::Impl::add(const Hash128& identity, const CounterSpec& spec, const Kind& kind,
                            std::size_t keys) {
  Held& held = all.emplace_back();
  Counter& c = held.counter;
  resolve(c, identity, spec, &kind);
  if (keys != 0) {
    held.own = std::make_unique<Table>(keys);
    held.own_keys = keys;
    held.own_bytes = bytes_of(keys);
  }
  c.table = held.own != nullptr ? held.own.get() : &common;
  if (free_indices.empty()) {
    c.index = next_index++;
  } else {
    c.index = free_indices.back();
    free_indices.pop_back();
  }
  std::uint16_t& generation = generations[c.index];
  if (++generation == 0) generation = 1;
  c.generation = generation;
  Idleness& idle = ages.counters[c.index];
  idle.seconds = c.idle_seconds;
  idle.clock = c.clock;
  idle.closed = 0;
  idle.latest = 0;
  by_index[c.index].store(&c, std::memory_order_release);
  by_identity[identity] = &held;
  by_what[spec.what].push_back(&held);
  return held;
}

std::vector<Table*> Bank::Impl::tables() const {
  std::vector<Table*> out;
  for_each_table([&](const Table& table) { out.push_back(const_cast<Table*>(&table)); });
  return out;
}

Bank::Bank(const BankLimits& limits) : impl_(std::make_unique<Impl>(limits)) {
  if (limits.huge_pages) impl_->advise_huge();
}
Bank::~Bank() = default;

std::uint64_t Bank::table_bytes(std::size_t keys) noexcept { return Impl::bytes_of(keys); }

Result<CounterId> Bank::open(const Hash128& identity, const CounterSpec& as_asked,
                             std::size_t keys) {
  const CounterSpec spec = in_whole_parts(as_asked);
  const Kind* kind = find_kind(spec);
  if (kind == nullptr) return Error::unsupported;
  const std::scoped_lock hold(impl_->control);
  if (impl_->openings == 0) ++impl_->opening;
  const auto it = impl_->by_identity.find(identity);
  if (it != impl_->by_identity.end() && same_kind(it->second->counter.spec, spec)) {
    Held& held = *it->second;
    Counter& c = held.counter;
    if (keep_of(spec) > c.keep) {
      if (drops(c.spec)) impl_->inheritance.note_cut(c, c.keep);
      c.keep = keep_of(spec);
    }
    if (held.closed) impl_->inheritance.add_reopened(held);
    impl_->ages.counters[c.index].closed = 0;
    if (impl_->openings == 0) impl_->inheritance.run();
    return CounterId{c.index, c.generation};
  }
  if (it != impl_->by_identity.end()) {
    if (!it->second->closed) return Error::unsupported;
    impl_->retirement.give_up(
        *it->second);  // of another build, to which this identity meant something else
  }
  if (!impl_->retirement.find_index()) return Error::full;
  const std::size_t own_bytes = keys == 0 ? 0 : Impl::bytes_of(keys);
  if (own_bytes != 0 && !impl_->retirement.find_memory(own_bytes)) return Error::too_large;

  Held& held = impl_->add(identity, spec, *kind, keys);
  impl_->inheritance.add_receiver(held);
  const CounterId id{held.counter.index, held.counter.generation};
  if (impl_->openings == 0) impl_->inheritance.run();
  return id;
}

Bank::Opening::Opening(Bank& bank) : bank_(bank) {
  const std::scoped_lock hold(bank_.impl_->control);
  if (bank_.impl_->openings++ == 0) ++bank_.impl_->opening;
}

Bank::Opening::~Opening() {
  const std::scoped_lock hold(bank_.impl_->control);
  if (--bank_.impl_->openings == 0) bank_.impl_->inheritance.run();
}

void Bank::Impl::close(Held& held) {
  held.closed = true;
  held.closed_at = {};
  held.closed_in = opening;
  held.closed_ms = latest();
  held.closing = ++closings;
  ages.counters[held.counter.index].closed = 1;
}

void Bank::close_unused(std::span<const CounterId> used) {
  std::vector<std::uint16_t> generations(kCountersMax);  // 0: not in use
  for (const CounterId id : used) {
    if (id.index < kCountersMax) generations[id.index] = id.generation;
  }
  const std::scoped_lock hold(impl_->control);
  for (auto& [identity, held] : impl_->by_identity) {
    const Counter& c = held->counter;
    if (held->closed || generations[c.index] == c.generation) continue;
    impl_->close(*held);
  }
}

std::vector<Hash128> Bank::closed() const {
  std::vector<Hash128> out;
  const std::scoped_lock hold(impl_->control);
  for (const auto& [identity, held] : impl_->by_identity) {
    if (held->closed) out.push_back(identity);
  }
  return out;
}

void Bank::prefetch(CounterId id, const CounterKey& key) const noexcept {
  const Counter* c = impl_->counter(id);
  // A counter with a radius has many cells: to find them takes longer than to wait for one.
  if (c != nullptr && !c->grid) c->table->prefetch(c->table->place(key, c->salt));
}

/// Under the key's lock: a thread that has stored an event there has updated `newest` before.
Instant Bank::Impl::own_instant(Counter& c, const Moment& now, bool tells) const noexcept {
  const std::int64_t known = c.newest.load(std::memory_order_relaxed);
  const std::int64_t ms = now.has_own_time ? to_ms(now.at) : std::max(to_ms(now.at), known);
  const Instant at(c.rule, from_ms(ms), from_ms(tells ? c.observe(ms) : known));
  if (tells) ages.advance(c.index, c.clock, at.second);
  return at;
}

bool Bank::may_lack(CounterId id, Moment now, Number reading) const noexcept {
  const Counter* const c = impl_->counter(id);
  return c != nullptr && to_ms(now.at) < c->cut_until.load(std::memory_order_relaxed) &&
         reading >= Number(c->cut_from.load(std::memory_order_relaxed));
}

bool Bank::observe(CounterId id, Moment event) noexcept {
  Counter* c = impl_->counter(id);
  if (c == nullptr || !c->rule.own_time) return true;
  const std::int64_t ms = to_ms(event.at);
  return c->observe(ms) - ms <= c->rule.late || !event.has_own_time;
}

bool Bank::in_time(CounterId id, Moment event) const noexcept {
  const Counter* c = impl_->counter(id);
  if (c == nullptr || !c->rule.own_time || !event.has_own_time) return true;
  return c->newest.load(std::memory_order_relaxed) - to_ms(event.at) <= c->rule.late;
}

Reading Bank::charge(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                     const Ceiling* ceiling, Undo* undo) noexcept {
  if (undo != nullptr) *undo = Undo{};
  Counter* const c = impl_->counter(id);
  if (c == nullptr) return Impl::itself_alone(&event);
  return impl_->read(c, key, &event, [&](Subject& s) WEIR_IN_PLACE {
    return c->ops->charge(s, impl_->instant(*c, now, true), event, ceiling, undo);
  });
}

void Bank::uncharge(CounterId id, const CounterKey& key, const Undo& undo) noexcept {
  if (undo.what == Undo::What::nothing) return;
  if (Counter* c = impl_->counter(id); c != nullptr) {
    impl_->with(c, key, [&](Subject& s) { c->ops->uncharge(s, undo); });
  }
}

Reading Bank::peek(CounterId id, const CounterKey& key, Moment now,
                   const Amount* event) const noexcept {
  Counter* const c = impl_->counter(id);
  if (c == nullptr) return Impl::itself_alone(event);
  return impl_->read(c, key, event, [&](Subject& s) WEIR_IN_PLACE {
    return c->ops->peek(s, impl_->instant(*c, now, false), event);
  });
}

Reading Bank::reserve(CounterId id, const CounterKey& key, Moment now, const Amount& event,
                      const Ceiling* ceiling, Undo* undo) noexcept {
  if (undo != nullptr) *undo = Undo{};
  Counter* const c = impl_->counter(id);
  if (c == nullptr) return Impl::itself_alone(&event);
  return impl_->read(c, key, &event, [&](Subject& s) WEIR_IN_PLACE {
    return c->ops->reserve(s, impl_->instant(*c, now, true), event, ceiling, undo);
  });
}

Reading Bank::settle(CounterId id, const CounterKey& key, TimePoint event_time, Moment now,
                     const Amount& event, const Undo& undo, bool matched) noexcept {
  const Amount* const counted = matched ? &event : nullptr;
  Counter* const c = impl_->counter(id);
  if (c == nullptr) return Impl::itself_alone(counted);
  const bool reserved = c->rule.own_time && undo.what == Undo::What::reservation;
  const std::int64_t event_ms = to_ms(reserved ? undo.at : event_time);
  return impl_->read(c, key, counted, [&](Subject& s) WEIR_IN_PLACE {
    return c->ops->settle(s, impl_->instant(*c, now, true), event_ms, event, undo, matched);
  });
}

void Bank::leave(CounterId id, const CounterKey& key, Number amount) noexcept {
  Undo undo;
  undo.what = Undo::What::charge;
  undo.amount.amount = amount;
  if (const Counter* c = impl_->counter(id); c != nullptr && c->spec.metric == Metric::in_flight) {
    uncharge(id, key, undo);
  }
}

void Bank::reset(CounterId id, const CounterKey& key, Moment now) noexcept {
  if (Counter* c = impl_->counter(id); c != nullptr) {
    impl_->with(c, key, [&](Subject& s) { c->ops->reset(s, impl_->instant(*c, now, false)); });
  }
}

void Bank::pin(CounterId id, const CounterKey& key, bool pinned) noexcept {
  if (Counter* c = impl_->counter(id); c != nullptr) {
    const auto set = [&](Slot* slot) {
      if (slot == nullptr) return;
      if (pinned) {
        c->table->pin(*slot, impl_->ages);
      } else {
        slot->pinned = 0;
      }
    };
    impl_->with(c, key, [&](Subject& s) {
      set(s.slot);
      if (s.around == nullptr) return;
      for (const Table::Place& cell : s.around->cells) set(c->table->find(cell, c->index));
    });
  }
}

void Bank::maintain(TimePoint now, TimePoint wall) {
  const std::scoped_lock hold(impl_->control);
  impl_->maintained = {now, wall};
  impl_->retirement.maintain(now, wall);
  if (impl_->huge) return;
  std::uint64_t taken = 0;
  for (std::size_t r = 0; r < impl_->common.regions(); ++r) taken += impl_->common.region(r).taken;
  if (taken > impl_->common.capacity() / 4) impl_->advise_huge();
}

BankStats Bank::stats() const noexcept {
  const std::scoped_lock hold(impl_->control);
  BankStats stats;
  stats.memory_limit = impl_->limits.memory;
  impl_->for_each_table([&](const Table& table) {
    for (std::size_t r = 0; r < table.regions(); ++r) {
      const Table::Region& region = table.region(r);
      stats.keys += region.taken.load(std::memory_order_relaxed);
      stats.evicted += region.evicted.load(std::memory_order_relaxed);
      stats.full += region.full.load(std::memory_order_relaxed);
    }
    stats.capacity += table.capacity();
  });
  stats.memory_used = stats.keys * sizeof(Slot) + impl_->arena.used();
  return stats;
}

}  // namespace weir::limiter
