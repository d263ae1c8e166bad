#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "limiter/patterns/pattern_bank_impl.h"

namespace weir::limiter {
namespace {

// The cost of a key besides its state: the map's node and place, the timer's node.
constexpr std::size_t kPerKey =
    sizeof(std::pair<const Hash128, PatternKey>) + 2 * sizeof(void*) + 48;

// Deadlines are computed without overflow checks: real times never come near this.
constexpr TimePoint kLastTime = from_ms(std::int64_t{1} << 52);
constexpr TimePoint kFirstTime = from_ms(-(std::int64_t{1} << 52));

bool is_open(std::uint16_t generation) { return (generation & 1U) != 0; }

void sort_matches(PatternMatches& matches, std::size_t from) {
  std::sort(matches.begin() + static_cast<std::ptrdiff_t>(from), matches.end(),
            [](const PatternMatch& a, const PatternMatch& b) {
              return a.fires != b.fires ? a.fires < b.fires : a.order < b.order;
            });
}

}  // namespace

std::uint64_t pattern_memory(std::uint64_t memory) noexcept {
  return std::max<std::uint64_t>(memory / 8, std::uint64_t{1} << 20);
}

PatternState make_state(PatternSpec::Kind kind) {
  switch (kind) {
    case PatternSpec::Kind::absence:
      return Absence{};
    case PatternSpec::Kind::pair:
      return Pair{};
    case PatternSpec::Kind::sequence:
      break;
  }
  return Sequence{};
}

void IdleList::push(PatternKey& key) noexcept {
  key.idler = busiest;
  key.busier = nullptr;
  (busiest == nullptr ? idlest : busiest->busier) = &key;
  busiest = &key;
}

void IdleList::remove(PatternKey& key) noexcept {
  (key.idler == nullptr ? idlest : key.idler->busier) = key.busier;
  (key.busier == nullptr ? busiest : key.busier->idler) = key.idler;
}

PatternBank::Impl::Impl(const PatternLimits& with)
    : limits(with), shards(std::max(1U, with.shards)) {}

PatternBank::PatternBank(const PatternLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}
PatternBank::~PatternBank() = default;

Result<PatternId> PatternBank::open(const Hash128& identity, const PatternSpec& spec) {
  const std::scoped_lock hold(impl_->mutex);
  const std::size_t used = impl_->entries_used;
  std::size_t free = used;
  for (std::size_t i = 0; i < used; ++i) {
    Impl::Entry& entry = *impl_->entries[i];
    if (!is_open(entry.generation)) {
      free = std::min(free, i);
    } else if (entry.identity == identity && entry.spec.continues(spec)) {
      return PatternId{static_cast<std::uint16_t>(i), entry.generation};
    }
  }
  if (free == kPatternsMax) return make_error_code(Error::full);
  if (free == used) {
    impl_->entries[free] = std::make_unique<Impl::Entry>();
    impl_->entries_used = used + 1;
  }
  Impl::Entry& entry = *impl_->entries[free];
  entry.identity = identity;
  entry.spec = spec;
  entry.generation = static_cast<std::uint16_t>(entry.generation + 1);
  return PatternId{static_cast<std::uint16_t>(free), entry.generation};
}

void PatternBank::tune(PatternId id, const PatternSpec& spec) {
  const std::scoped_lock hold(impl_->mutex);
  const Impl::Entry* const found = impl_->find(id);
  if (found == nullptr || found->spec == spec) return;
  WEIR_ASSERT(found->spec.continues(spec));
  // A reader of a spec holds the lock of a shard.
  std::vector<std::unique_lock<std::mutex>> shards;
  shards.reserve(impl_->shards.size());
  for (PatternShard& shard : impl_->shards) shards.emplace_back(shard.mutex);
  PatternSpec& own = impl_->entries[id.index]->spec;
  own.keep = spec.keep;
  own.late = spec.late;
}

void PatternBank::close_unused(std::span<const PatternId> used) {
  const std::scoped_lock hold(impl_->mutex);
  std::array<bool, kPatternsMax> closed{};
  bool any = false;
  for (std::size_t i = 0; i < impl_->entries_used; ++i) {
    Impl::Entry& entry = *impl_->entries[i];
    const PatternId id{static_cast<std::uint16_t>(i), entry.generation};
    if (!is_open(entry.generation) || std::find(used.begin(), used.end(), id) != used.end())
      continue;
    entry.generation = static_cast<std::uint16_t>(entry.generation + 1);
    closed[i] = any = true;
  }
  if (!any) return;
  for (PatternShard& shard : impl_->shards) {
    const std::scoped_lock hold_shard(shard.mutex);
    for (auto at = shard.keys.begin(); at != shard.keys.end();) {
      PatternKey& key = at->second;
      ++at;
      if (closed[key.pattern]) impl_->erase(shard, key);
    }
  }
}

const PatternBank::Impl::Entry* PatternBank::Impl::find(PatternId id) const noexcept {
  if (id.generation == 0 || id.index >= entries_used.load(std::memory_order_acquire))
    return nullptr;
  const Entry* entry = entries[id.index].get();
  return entry->generation == id.generation ? entry : nullptr;
}

PatternKey* PatternBank::Impl::key_of(PatternShard& shard, const Hash128& hash,
                                      std::uint16_t pattern) {
  try {
    const auto [at, fresh] = shard.keys.try_emplace(hash);
    PatternKey& key = at->second;
    if (fresh) {
      key.key = hash;
      key.pattern = pattern;
      key.state = make_state(entries[pattern]->spec.kind);
      shard.idle[0].push(key);
    }
    return &key;
  } catch (const std::bad_alloc&) {
    ++dropped;
    return nullptr;
  }
}

/// After an event, a timer or an import: bytes, idleness and timer follow the state; an empty key
/// goes, and so does one for whose timer there is no memory.
void PatternBank::Impl::changed(PatternShard& shard, PatternKey& key, std::size_t open_before) {
  const std::size_t open = open_of(key);
  shard.open += open - open_before;
  const bool empty = std::visit([](const auto& state) { return state.empty(); }, key.state);
  if (empty) return erase(shard, key);
  const std::size_t bytes =
      kPerKey + std::visit([](const auto& state) { return state.bytes(); }, key.state);
  shard.bytes += bytes - key.bytes;
  key.bytes = bytes;
  shard.idle[key.open ? 1 : 0].remove(key);
  key.open = open != 0;
  shard.idle[key.open ? 1 : 0].push(key);
  const TimePoint due = std::visit(
      [&](const auto& state) { return state.due(entries[key.pattern]->spec, limits.forgets); },
      key.state);
  if (due != key.due) {
    auto timer = shard.timers.extract(&key);  // its node serves again
    key.due = due;
    if (due == kNever) return;
    if (!timer.empty()) {
      shard.timers.insert(std::move(timer));
    } else {
      try {
        shard.timers.insert(&key);
      } catch (const std::bad_alloc&) {
        key.due = kNever;
        dropped += open;
        return erase(shard, key);
      }
    }
  }
  note_due(due);
}

void PatternBank::Impl::erase(PatternShard& shard, PatternKey& key) {
  shard.open -= open_of(key);
  if (key.due != kNever) shard.timers.erase(&key);
  shard.idle[key.open ? 1 : 0].remove(key);
  shard.bytes -= key.bytes;
  const Hash128 hash = key.key;  // the key goes with its node
  shard.keys.erase(hash);
}

void PatternBank::Impl::make_room(PatternShard& shard, const PatternKey* but) {
  const std::size_t most = limits.memory / shards.size();
  for (IdleList& list : shard.idle) {
    while (shard.bytes > most && list.idlest != nullptr && list.idlest != but) {
      dropped += open_of(*list.idlest);
      erase(shard, *list.idlest);
    }
  }
}

void PatternBank::Impl::note_due(TimePoint due) noexcept {
  const std::int64_t ms = due == kNever ? INT64_MAX : to_ms(due);
  std::int64_t known = due_ms.load(std::memory_order_relaxed);
  while (ms < known && !due_ms.compare_exchange_weak(known, ms, std::memory_order_relaxed)) {
  }
}

void PatternBank::Impl::count(const PatternMatches& matches, std::size_t from) noexcept {
  for (std::size_t i = from; i < matches.size(); ++i) {
    switch (matches[i].kind) {
      case MatchKind::matched:
        ++matched;
        break;
      case MatchKind::timeout:
        ++timeouts;
        break;
      case MatchKind::unmatched:
        ++unmatched;
        break;
    }
  }
}

PatternView PatternBank::peek(PatternId id, const Hash128& hash, const PatternEvent& event) const {
  PatternView out;
  const PatternShard& shard = impl_->shard_of(hash);
  const std::scoped_lock hold(shard.mutex);
  const Impl::Entry* entry = impl_->find(id);
  if (entry == nullptr) return out;
  const auto at = shard.keys.find(hash);
  if (at == shard.keys.end() || at->second.pattern != id.index) return out;
  std::visit(
      [&](const auto& state) {
        out.completes = state.completes(entry->spec, event);
        out.open = state.open();
        out.furthest = state.furthest();
      },
      at->second.state);
  return out;
}

void PatternBank::feed(PatternId id, const Hash128& hash, const PatternEvent& event,
                       PatternMatches& out) {
  if ((event.steps == 0 && !event.among) || event.ts < kFirstTime || event.ts > kLastTime) return;
  const std::size_t first = out.size();
  PatternShard& shard = impl_->shard_of(hash);
  {
    const std::scoped_lock hold(shard.mutex);
    // Under the lock: close_unused() takes it after it has closed.
    const Impl::Entry* entry = impl_->find(id);
    if (entry == nullptr) return;
    const auto found = shard.keys.find(hash);
    if (found == shard.keys.end() && event.steps == 0)
      return;  // there is nothing that it could end
    PatternKey* const made =
        found == shard.keys.end() ? impl_->key_of(shard, hash, id.index) : &found->second;
    if (made == nullptr) return;
    PatternKey& key = *made;
    if (key.pattern != id.index) return;
    const std::size_t open = open_of(key);
    const std::uint64_t order = impl_->next_order.fetch_add(1, std::memory_order_relaxed);
    try {
      std::visit([&](auto& state) { impl_->dropped += state.feed(entry->spec, event, order, out); },
                 key.state);
    } catch (const std::bad_alloc&) {  // the key is as it was, or takes less
      ++impl_->dropped;
    }
    impl_->changed(shard, key, open);
    if (shard.bytes > impl_->limits.memory / impl_->shards.size()) {
      const auto still = shard.keys.find(hash);
      impl_->make_room(shard, still == shard.keys.end() ? nullptr : &still->second);
    }
  }
  for (std::size_t i = first; i < out.size(); ++i) out[i].pattern = id;
  impl_->count(out, first);
}

void PatternBank::refuse(PatternId id, const Hash128& hash, const PatternEvent& event,
                         PatternMatches& out) {
  const std::size_t first = out.size();
  {
    const PatternShard& shard = impl_->shard_of(hash);
    const std::scoped_lock hold(shard.mutex);
    const Impl::Entry* entry = impl_->find(id);
    const auto at = shard.keys.find(hash);
    if (entry == nullptr || at == shard.keys.end() || at->second.pattern != id.index) return;
    PatternState copy = at->second.state;
    std::visit([&](auto& state) { state.feed(entry->spec, event, 0, out); }, copy);
  }
  for (std::size_t i = first; i < out.size(); ++i) out[i].pattern = id;
  impl_->count(out, first);
}

TimePoint PatternBank::due() const noexcept {
  const std::int64_t ms = impl_->due_ms.load(std::memory_order_relaxed);
  return ms == INT64_MAX ? kNever : from_ms(ms);
}

void PatternBank::advance(TimePoint watermark, PatternMatches& out) {
  if (due() > watermark) return;
  const std::size_t first = out.size();
  // Setting a timer lowers this value; here it rises only to the earliest deadline of the shards.
  impl_->due_ms.store(INT64_MAX, std::memory_order_relaxed);
  for (PatternShard& shard : impl_->shards) {
    const std::scoped_lock hold(shard.mutex);
    while (!shard.timers.empty()) {
      PatternKey& key = **shard.timers.begin();
      if (key.due > watermark) break;
      const std::size_t before = out.size();
      const std::size_t open = open_of(key);
      const Impl::Entry& entry = *impl_->entries[key.pattern];
      try {
        std::visit(
            [&](auto& state) { state.expire(entry.spec, watermark, impl_->limits.forgets, out); },
            key.state);
      } catch (const std::bad_alloc&) {  // the key is as it was: the next call begins with it
        impl_->note_due(watermark);
        break;
      }
      for (std::size_t i = before; i < out.size(); ++i)
        out[i].pattern = {key.pattern, entry.generation};
      impl_->changed(shard, key, open);
    }
    if (!shard.timers.empty()) impl_->note_due((*shard.timers.begin())->due);
  }
  sort_matches(out, first);
  impl_->count(out, first);
}

void PatternBank::end_of_input(TimePoint last, bool flush, PatternMatches& out) {
  const std::size_t first = out.size();
  for (PatternShard& shard : impl_->shards) {
    const std::scoped_lock hold(shard.mutex);
    for (auto at = shard.keys.begin(); at != shard.keys.end();) {
      PatternKey& key = at->second;
      ++at;
      const std::size_t before = out.size();
      const std::size_t open = open_of(key);
      const Impl::Entry& entry = *impl_->entries[key.pattern];
      std::visit(
          [&](auto& state) {
            state.end(entry.spec, last, out);
            if (flush) state.expire(entry.spec, kNever, false, out);
          },
          key.state);
      for (std::size_t i = before; i < out.size(); ++i)
        out[i].pattern = {key.pattern, entry.generation};
      impl_->changed(shard, key, open);
    }
  }
  sort_matches(out, first);
  impl_->count(out, first);
}

PatternStats PatternBank::stats() const {
  PatternStats out;
  out.matched = impl_->matched;
  out.timeouts = impl_->timeouts;
  out.unmatched = impl_->unmatched;
  out.dropped = impl_->dropped;
  out.memory_limit = impl_->limits.memory;
  for (const PatternShard& shard : impl_->shards) {
    const std::scoped_lock hold(shard.mutex);
    out.open += shard.open;
    out.keys += shard.keys.size();
    out.memory_used += shard.bytes;
  }
  return out;
}

}  // namespace weir::limiter
