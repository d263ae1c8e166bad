#include "limiter/sync_table.h"

#include <algorithm>

namespace weir::limiter {
namespace {

/// How many entries a new key looks at for a place: a bound for what it costs.
constexpr std::size_t kLooks = 16;

}  // namespace

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
    return {};
  }
  *entry = SyncEntry{};
  entry->key = key;
  entry->counter = counter;
  entry->name = name;
  shard.index.emplace(key, static_cast<std::uint32_t>(entry - shard.entries.data()));
  return {std::move(lock), entry};
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
  return std::uint64_t{keys} * (sizeof(SyncEntry) + name + 2 * kIndex);
}

}  // namespace weir::limiter
