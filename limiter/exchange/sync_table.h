#pragma once

#include <array>
#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/exchange/synced_counter.h"
#include "limiter/memory/spin_lock.h"

namespace weir::limiter {

/// What some events come to; 0 is something where extremes are exchanged.
using Share = std::optional<Number>;
/// Of sums.
inline Number amount_of(const Share& share) noexcept { return share.value_or(Number{0}); }

/// A member of a `distinct` that the store has not said it has.
struct Untold {
  std::uint64_t member = 0;
  bool fresh = false;  ///< the store is not known to have had it before either
  bool sent = false;
};

/// What is known of one key of such a counter. The reading is our own part, which the bank has,
/// merged with that of the others: of sums what the store said at the last exchange, less what it
/// had from us; of extremes what it said, ours or not.
/// Of members it is how many the store has that are not ours; of gauges all but ours.
///
/// At every moment all that was counted here is `pending`, `flying`, or part of what the store has;
/// the store has it once, for a push whose fate is unknown is sent again as the same event.
struct SyncEntry {
  Hash128 key;  ///< the key's hash, owned by the counter: windows over the same thing differ here
  SyncedCounter counter;
  Merge merge = Merge::sum;  ///< any but average, which is two sums
  std::string name;          ///< the key, as it is spelled in the store

  Share others;              ///< may be negative: somebody has emptied it, or the store lost it
  TimePoint others_until{};  ///< then all that it stands for has left the window
  TimePoint began{};  ///< every_first: when the window began that our own part is in, as the store
                      ///< has it; epoch: ours is not known to be in any of its
  Share pending;      ///< counted here, not sent
  Share flying;       ///< sent, without an answer
  SharedId flight;    ///< the event that `flying` is to the store; sequence 0: none. Of a
                      ///< gauge, what is open here is to the store, as long as it has any
  std::vector<Untold> untold;      ///< of members, oldest first
  std::uint32_t fresh = 0;         ///< of them
  std::optional<Ceiling> ceiling;  ///< the lowest threshold that refuses, as last seen
  TimePoint sent_at{};             ///< of the last exchange
  TimePoint told_at{};             ///< of its answer; none yet: never
  Number own_told;                 ///< leaky: what was ours in the bucket then
  double growth = 0;               ///< of the others' part, in a ms, of late
  std::uint32_t resets = 0;        ///< a reply to what was sent before a reset says nothing
  bool has_negative = false;       ///< of a sum: amounts below 0 have been seen
  bool untold_lost = false;        ///< some of ours may never have been told, for want of room
  bool touched = false;            ///< since it was sent
  bool queued = false;             ///< some worker has it in its queue
  bool urgent = false;             ///< some worker will send it soon, or at the end of its turn
  bool away = false;               ///< some worker has sent it and waits
  bool unheard = false;            ///< the last exchange had no answer
  bool empties = false;            ///< the store must be told of a reset

  static Hash128 key_of(const Hash128& key, const SyncedCounter& counter) noexcept {
    return key.owned_by(counter.shared->identity);
  }
  /// As the bank has it: owning twice is not owning.
  Hash128 key_in_bank() const noexcept { return key.owned_by(counter.shared->identity); }
  Share merged(const Share& a, const Share& b) const noexcept;
  /// What others have in the window as far as is known; a bucket drains meanwhile, first of what is
  /// ours.
  Share others_at(TimePoint at) const noexcept;
  /// Whether what the others have may have left the window unnoticed: the key was not looked at for
  /// longer than an interval, and windows that slide go on. While the store is away that is all
  /// there is.
  bool is_doubtful(TimePoint at) const noexcept;
  /// What the others are likely to have counted since: as they went on until `told_at`, for an
  /// interval at most, and nothing where nothing has been heard of them for two.
  double growth_at(TimePoint at) const noexcept;
  /// Of a sum: whether its readings are never below what this replica has in the window.
  bool only_grows() const noexcept {
    return counter.shared->spec.metric == Metric::count || !has_negative;
  }
  bool has_pending() const noexcept {
    if (merge == Merge::members) return !untold.empty();
    return pending && (merge == Merge::extreme || !pending->is_zero());
  }
  bool idle() const noexcept {
    return !queued && !urgent && !away && flight.sequence == 0 && !has_pending();
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
  /// That of the key, or a new one. Empty: no room, every key of its shard waits for an exchange;
  /// keys that are new there within the counter's window after that are marked (untold_lost).
  /// `now`: on the counter's clock.
  Locked find_or_add(const Hash128& key, const SyncedCounter& counter, std::string_view name,
                     TimePoint now);

  /// So many members wait to be told, at most: of a key, and of all together for each.
  static constexpr std::size_t kUntoldOfKey = 1024, kUntoldPerKey = 4;
  /// The member waits; where it does already, or there is no room, nothing happens. Under its lock.
  void keep_untold(SyncEntry& entry, std::uint64_t member, bool fresh);
  /// It does not wait any longer.
  void drop_untold(SyncEntry& entry, std::size_t index) noexcept;
  void drop_untold(SyncEntry& entry) noexcept;

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
    std::array<TimePoint, 2> alone_until{};  // by steady and by wall clock: of what had no room
    std::uint64_t forgotten = 0, full = 0;
  };
  Shard& shard_of(const Hash128& key) noexcept { return shards_[key.hi % kShards]; }
  SyncEntry* make_room(Shard& shard, TimePoint now);

  std::size_t per_shard_;
  std::vector<Shard> shards_{kShards};
  std::atomic<std::size_t> untold_{0};
};

}  // namespace weir::limiter
