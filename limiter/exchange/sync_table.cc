#include "limiter/exchange/sync_table.h"

#include <algorithm>

namespace weir::limiter {
namespace {

/// How many entries a new key looks at for a place: bounds its cost.
constexpr std::size_t kLooks = 16;

}  // namespace

Share SyncEntry::merged(const Share& a, const Share& b) const noexcept {
  if (!a || !b) return a ? a : b;
  if (merge != Merge::extreme) return *a + *b;
  const bool least = counter.shared->spec.metric == Metric::minimum;
  return (*a < *b) == least ? a : b;
}

Share SyncEntry::others_at(TimePoint at) const noexcept {
  if (at >= others_until) return {};
  const CounterSpec& spec = counter.shared->spec;
  if (spec.window != Window::leaky || !others || others->is_negative()) return others;
  const double drained =
      static_cast<double>((at - told_at).count()) / spec.ms_of_one() - own_told.as_real();
  if (drained <= 0) return others;
  return Number::real(std::max(others->as_real() - drained, 0.0));
}

/// How late the answer to an exchange may be for the next one not to be missed.
constexpr milliseconds kTellingTakes{50};

bool SyncEntry::is_doubtful(TimePoint at) const noexcept {
  const Window window = counter.shared->spec.window;
  const bool slides = window == Window::ring || window == Window::log;
  return slides && merge == Merge::sum && !unheard && others && !others->is_negative() &&
         !others->is_zero() && at < others_until &&
         at - told_at > counter.interval + counter.interval / 4 + kTellingTakes;
}

double SyncEntry::growth_at(TimePoint at) const noexcept {
  const milliseconds since = at - told_at;
  if (since < milliseconds{0} || since > 2 * counter.interval) return 0;
  return growth * static_cast<double>(std::min(since, counter.interval).count());
}

SyncTable::SyncTable(std::size_t keys)
    : per_shard_((std::max<std::size_t>(keys, 1) + kShards - 1) / kShards) {
  for (Shard& shard : shards_) {
    shard.entries.reserve(per_shard_);  // touched page by page
    shard.index.reserve(per_shard_);
  }
}

SyncTable::Locked SyncTable::find(const Hash128& key) noexcept {
  Shard& shard = shard_of(key);
  std::unique_lock lock(shard.lock);
  const auto found = shard.index.find(key);
  if (found == shard.index.end()) return {};
  return {std::move(lock), &shard.entries[found->second]};
}

SyncTable::Locked SyncTable::find_or_add(const Hash128& key, const SyncedCounter& counter,
                                         std::string_view name, TimePoint now) {
  Shard& shard = shard_of(key);
  std::unique_lock lock(shard.lock);
  if (const auto found = shard.index.find(key); found != shard.index.end()) {
    SyncEntry& entry = shard.entries[found->second];
    entry.counter.id = counter.id;  // a reload may have given it another
    entry.counter.interval = counter.interval;
    return {std::move(lock), &entry};
  }
  SyncEntry* entry = make_room(shard, now);
  if (entry == nullptr) {
    ++shard.full;
    mark_alone(shard, counter, now);
    return {};
  }
  *entry = SyncEntry{};
  entry->key = key;
  entry->counter = counter;
  entry->merge = merge_of(counter.shared->spec);
  entry->name = name;
  entry->untold_lost = now < shard.alone_until[counter.wall_clock ? 1 : 0];
  shard.index.emplace(key, static_cast<std::uint32_t>(entry - shard.entries.data()));
  return {std::move(lock), entry};
}

void SyncTable::note_alone(const Hash128& key, const SyncedCounter& counter,
                           TimePoint now) noexcept {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.lock);
  mark_alone(shard, counter, now);
}

void SyncTable::mark_alone(Shard& shard, const SyncedCounter& counter, TimePoint now) noexcept {
  TimePoint& until = shard.alone_until[counter.wall_clock ? 1 : 0];
  until = std::max(until, now + counter.longest_stay());
}

SyncEntry* SyncTable::make_room(Shard& shard, TimePoint now) {
  if (shard.entries.size() < per_shard_) return &shard.entries.emplace_back();
  SyncEntry* idlest = nullptr;
  for (std::size_t looks = 0; looks < std::min(kLooks, per_shard_); ++looks) {
    SyncEntry& entry = shard.entries[shard.hand];
    shard.hand = (shard.hand + 1) % per_shard_;
    if (!entry.idle()) continue;
    if (now >= entry.others_until) {
      idlest = &entry;
      break;
    }
    if (idlest == nullptr || entry.sent_at < idlest->sent_at) idlest = &entry;
  }
  if (idlest == nullptr) return nullptr;
  if (now < idlest->others_until) ++shard.forgotten;
  shard.index.erase(idlest->key);
  return idlest;
}

void SyncTable::keep_untold(SyncEntry& entry, std::uint64_t member, bool fresh) {
  const auto found = std::find_if(entry.unsent.begin(), entry.unsent.end(),
                                  [&](const Unsent& u) { return u.member == member; });
  if (found != entry.unsent.end()) {
    found->sent = false;  // a message on its way may arrive before this event happened
    return;
  }
  if (entry.unsent.size() >= kUnsentOfKey ||
      unsent_.load(std::memory_order_relaxed) >= capacity() * kUntoldPerKey) {
    entry.untold_lost = true;
    return;
  }
  unsent_.fetch_add(1, std::memory_order_relaxed);
  entry.unsent.push_back({member, fresh, false});
  entry.fresh += fresh;
}

void SyncTable::drop_unsent(SyncEntry& entry, std::size_t index) noexcept {
  entry.fresh -= entry.unsent[index].fresh;
  entry.unsent.erase(entry.unsent.begin() + static_cast<std::ptrdiff_t>(index));
  unsent_.fetch_sub(1, std::memory_order_relaxed);
}

void SyncTable::drop_unsent(SyncEntry& entry) noexcept {
  unsent_.fetch_sub(entry.unsent.size(), std::memory_order_relaxed);
  entry.unsent.clear();
  entry.fresh = 0;
}

SyncTable::Stats SyncTable::stats() noexcept {
  Stats out;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.lock);
    out.keys += shard.entries.size();
    out.forgotten += shard.forgotten;
    out.full += shard.full;
  }
  return out;
}

std::uint64_t SyncTable::bytes(std::size_t keys, std::size_t name) noexcept {
  constexpr std::size_t kIndex = sizeof(Hash128) + 2 * sizeof(std::uint32_t);
  return std::uint64_t{keys} *
         (sizeof(SyncEntry) + name + 2 * kIndex + 2 * kUntoldPerKey * sizeof(Unsent));
}

}  // namespace weir::limiter
