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

/// The total of some events. For extremes, 0 and no event differ.
using Share = std::optional<Number>;
/// The share of a sum as a number; no event: 0.
inline Number amount_of(const Share& share) noexcept { return share.value_or(Number{0}); }

/// A member of a `distinct` that the store has not confirmed.
struct Unsent {
  std::uint64_t member = 0;
  bool fresh = false;  ///< the store is not known to have had it before either
  bool sent = false;
};

/// The state of one key of an exchanged counter. The reading is our own part, which the bank has,
/// merged with the part of the others. For sums, the part of the others is the total of the store
/// at the last exchange, minus our part of it. For extremes, it is the value of the store, ours or
/// not. For members, it is the number of members in the store that are not ours. For gauges, it is
/// everything except ours.
///
/// At every moment, all local counts are `pending`, `flying`, or in the store. The store has each
/// of them once, because a push whose fate is unknown is sent again as the same event.
struct SyncEntry {
  Hash128 key;  ///< the key's hash, owned by the counter: windows over the same thing differ here
  SyncedCounter counter;
  Merge merge = Merge::sum;  ///< any but average, which is two sums
  std::string name;          ///< the key, as it is spelled in the store

  Share others;              ///< may be negative: an operator has emptied it, or the store lost it
  TimePoint others_until{};  ///< from this time on, no event of `others` is in the window
  TimePoint began{};  ///< every_first: when the window began that our own part is in, as the store
                      ///< has it; epoch: ours is not known to be in any of its
  Share pending;      ///< counted here, not sent
  Share flying;       ///< sent, and not confirmed yet
  SharedId flight;    ///< the event that `flying` is to the store; sequence 0: none. Of a
                      ///< gauge, it represents the open requests here, while there are any
  std::vector<Unsent> unsent;      ///< of members, oldest first
  std::uint32_t fresh = 0;         ///< of them
  std::optional<Ceiling> ceiling;  ///< the lowest threshold that refuses, as last seen
  std::uint32_t reserved = 0;      ///< open reservations: they will be settled here
  TimePoint sent_at{};             ///< of the last exchange
  TimePoint added_at{};            ///< of the last one that sent counts
  TimePoint told_at{};             ///< of the last answer; none yet: never
  Number own_told;                 ///< leaky: our part of the bucket then
  double growth = 0;               ///< of the others' part, per ms, recently
  std::uint32_t resets = 0;        ///< replies to messages from before a reset are ignored
  bool has_negative = false;       ///< of a sum: amounts below 0 have been seen
  bool untold_lost = false;  ///< some local members may never have been sent, for lack of room
  bool touched = false;      ///< since it was sent
  bool queued = false;       ///< it is in the queue of a worker
  bool urgent = false;       ///< a worker will send it soon, or at the end of its turn
  bool away = false;         ///< a worker has sent it and waits for the answer
  bool unheard = false;      ///< the last exchange had no answer
  bool empties = false;      ///< a reset must be sent to the store

  static Hash128 key_of(const Hash128& key, const SyncedCounter& counter) noexcept {
    return key.owned_by(counter.shared->identity);
  }
  /// The key as the bank has it: owned_by() twice gives the original key.
  Hash128 key_in_bank() const noexcept { return key.owned_by(counter.shared->identity); }
  Share merged(const Share& a, const Share& b) const noexcept;
  /// The known part of the others in the window. A bucket drains meanwhile, our part first.
  Share others_at(TimePoint at) const noexcept;
  /// Whether counts of the others may have left the window unnoticed: no exchange of the key for
  /// longer than an interval, in a window that slides. While the store is away there is no better
  /// knowledge.
  bool is_doubtful(TimePoint at) const noexcept;
  /// The likely growth of the others' part since the last exchange: at their rate until `told_at`,
  /// for an interval at most; nothing if no exchange succeeded for two intervals.
  double growth_at(TimePoint at) const noexcept;
  /// For a sum: whether its readings are never below the part of this replica in the window.
  bool only_grows() const noexcept {
    return counter.shared->spec.metric == Metric::count || !has_negative;
  }
  /// The store never takes less than 0 of it. An amount that was taken back after it was sent is
  /// then a debt (`pending` below 0): the next counts pay it, or it leaves the window.
  bool sends_no_negative() const noexcept {
    const CounterSpec& spec = counter.shared->spec;
    return merge == Merge::sum && (spec.metric == Metric::count || spec.window == Window::leaky);
  }
  bool has_pending() const noexcept {
    if (merge == Merge::members) return !unsent.empty();
    if (!pending || merge == Merge::extreme) return pending.has_value();
    return sends_no_negative() ? *pending > Number{0} : !pending->is_zero();
  }
  /// Something is to be sent, or may not have arrived. Else an exchange would only ask.
  bool has_to_tell() const noexcept {
    return has_pending() || flying || empties || (unheard && flight.sequence != 0);
  }
  bool idle() const noexcept {
    return !queued && !urgent && !away && flight.sequence == 0 && reserved == 0 && !has_pending();
  }
};

/// The exchanged keys of the process, shared by its workers. Fixed size: a new key replaces an idle
/// one, preferably one without any knowledge.
///
/// Thread-safe: an entry is used under the lock of its shard, one of 64, which may be held while
/// the bank is used (never the other way round). Allocates for new keys.
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
  /// Something of this key was counted without an entry: keys that are new there are marked.
  void note_alone(const Hash128& key, const SyncedCounter& counter, TimePoint now) noexcept;

  /// The most members that wait to be sent: of one key, and of all keys together per key.
  static constexpr std::size_t kUnsentOfKey = 1024, kUntoldPerKey = 4;
  /// Queues the member; does nothing if it is queued already, or there is no room. Under the
  /// shard's lock.
  void keep_untold(SyncEntry& entry, std::uint64_t member, bool fresh);
  /// Removes it from the queue.
  void drop_unsent(SyncEntry& entry, std::size_t index) noexcept;
  void drop_unsent(SyncEntry& entry) noexcept;

  /// Numbers of the table for metrics: `keys` is of this moment, the others count from the start.
  struct Stats {
    std::uint64_t keys = 0;
    std::uint64_t forgotten = 0;  ///< keys that gave way to others while something was known
    std::uint64_t full = 0;       ///< keys for which there was no room
  };
  Stats stats() noexcept;
  std::size_t capacity() const noexcept { return kShards * per_shard_; }
  /// The most bytes of a table for `keys` keys with names of `name` bytes.
  static std::uint64_t bytes(std::size_t keys, std::size_t name) noexcept;

 private:
  static constexpr std::size_t kShards = 64;
  struct Hash {
    using is_avalanching = void;  // the hash is keyed already
    std::size_t operator()(const Hash128& key) const noexcept { return key.lo; }
  };
  struct alignas(64) Shard {
    SpinLock lock;
    std::vector<SyncEntry> entries;
    boost::unordered_flat_map<Hash128, std::uint32_t, Hash> index;
    std::size_t hand = 0;
    std::array<TimePoint, 2> alone_until{};  // by steady and by wall clock: of keys without room
    std::uint64_t forgotten = 0, full = 0;
  };
  Shard& shard_of(const Hash128& key) noexcept { return shards_[key.hi % kShards]; }
  static void mark_alone(Shard& shard, const SyncedCounter& counter, TimePoint now) noexcept;
  SyncEntry* make_room(Shard& shard, TimePoint now);

  std::size_t per_shard_;
  std::vector<Shard> shards_{kShards};
  std::atomic<std::size_t> unsent_{0};
};

}  // namespace weir::limiter
