#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/bank.h"
#include "limiter/shared_op.h"
#include "limiter/spin_lock.h"

namespace weir::limiter {

/// A counter whose counts replicas exchange: count or sum.
struct SyncedCounter {
  CounterId id;  ///< this replica's own part, in the Bank
  std::shared_ptr<const SharedCounter> shared;
  milliseconds interval{0};  ///< how often
  bool wall_clock = false;   ///< goes by Clock::wall
};

/// What is known of one key of such a counter. The reading is our own part, which the bank has,
/// and that of the others: what the store said at the last exchange, less what it had from us.
///
/// At every moment all that was counted here is `pending`, `flying`, or part of what the store has;
/// the store has it once, for a push whose fate is unknown is sent again as the same event.
struct SyncEntry {
  Hash128 key;
  SyncedCounter counter;
  std::string name;  ///< the key, as it is spelled in the store

  Number others{0};          ///< may be negative: somebody has emptied it, or the store lost it
  TimePoint others_until{};  ///< then all that it stands for has left the window
  Number pending{0};         ///< counted here, not sent
  Number flying{0};          ///< sent, without an answer
  SharedId flight;           ///< the event that `flying` is to the store; sequence 0: none
  std::optional<Ceiling> ceiling;  ///< the lowest threshold that refuses, as last seen
  TimePoint sent_at{};             ///< of the last exchange
  std::uint32_t resets = 0;        ///< a reply to what was sent before a reset says nothing
  bool has_negative = false;       ///< of a sum: amounts below 0 have been seen
  bool touched = false;            ///< since it was sent
  bool queued = false;             ///< some worker has it in its queue
  bool urgent = false;             ///< some worker will send it at the end of its turn
  bool away = false;               ///< some worker has sent it and waits
  bool empties = false;            ///< the store must be told of a reset

  Number others_at(TimePoint at) const noexcept { return at < others_until ? others : Number{0}; }
  bool idle() const noexcept {
    return !queued && !urgent && !away && flight.sequence == 0 && pending.is_zero();
  }
};

/// The exchanged keys of the process, shared by its workers. Fixed size: a new key takes the place
/// of one that is idle, preferably one about which nothing is known any more.
///
/// Thread-safe: an entry is used under the lock of its shard, one of 64, which may be held while
/// the bank is used (never the other way round). Allocates where a key is new.
class SyncTable {
 public:
  explicit SyncTable(std::size_t keys);

  /// An entry and its shard's lock. Empty: there is none.
  class Locked {
   public:
    Locked() = default;
    Locked(std::unique_lock<SpinLock> lock, SyncEntry* entry) noexcept
        : lock_(std::move(lock)), entry_(entry) {}
    explicit operator bool() const noexcept { return entry_ != nullptr; }
    SyncEntry* operator->() const noexcept { return entry_; }
    SyncEntry& operator*() const noexcept { return *entry_; }

   private:
    std::unique_lock<SpinLock> lock_;
    SyncEntry* entry_ = nullptr;
  };
  Locked find(const Hash128& key) noexcept;
  /// That of the key, or a new one. Empty: no room, every key of its shard waits for an exchange.
  /// `now`: on the counter's clock.
  Locked find_or_add(const Hash128& key, const SyncedCounter& counter, std::string_view name,
                     TimePoint now);

  struct Stats {
    std::uint64_t keys = 0;
    std::uint64_t forgotten = 0;  ///< keys that gave way to others while something was known
    std::uint64_t full = 0;       ///< keys for which there was no room
  };
  Stats stats() noexcept;
  std::size_t capacity() const noexcept { return kShards * per_shard_; }
  /// At most, for so many keys with names of so many bytes.
  static std::uint64_t bytes(std::size_t keys, std::size_t name) noexcept;

 private:
  static constexpr std::size_t kShards = 64;
  struct Hash {
    using is_avalanching = void;  // it is a keyed hash already
    std::size_t operator()(const Hash128& key) const noexcept { return key.lo; }
  };
  struct alignas(64) Shard {
    SpinLock lock;
    std::vector<SyncEntry> entries;
    boost::unordered_flat_map<Hash128, std::uint32_t, Hash> index;
    std::size_t hand = 0;
    std::uint64_t forgotten = 0, full = 0;
  };
  Shard& shard_of(const Hash128& key) noexcept { return shards_[key.hi % kShards]; }
  SyncEntry* make_room(Shard& shard, TimePoint now);

  std::size_t per_shard_;
  std::vector<Shard> shards_{kShards};
};

}  // namespace weir::limiter
