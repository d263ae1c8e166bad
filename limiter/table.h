#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "limiter/arena.h"
#include "limiter/kind.h"
#include "limiter/spin_lock.h"

namespace weir::limiter {

/// One key of one counter: half a cache line. What the payload holds is the business of state.h.
struct Slot {
  static constexpr unsigned kSizeBits = 4;
  enum class Form : std::uint8_t { packed, pairs, block };

  std::uint64_t tag;      ///< 0: free
  std::uint32_t touched;  ///< Unix second of the newest event (every_first: of the first)
  std::uint16_t counter;
  std::uint16_t size : 4;  ///< inline entries
  std::uint16_t form : 2;
  std::uint16_t order : 4;  ///< of the block
  std::uint16_t pinned : 1;
  std::uint16_t held : 1;  ///< has reservations or is in flight
  std::uint32_t word[4];
};
static_assert(sizeof(Slot) == 32);

inline constexpr unsigned kCountersMax = 16'384;
inline constexpr std::uint16_t kNoCounter = 0xffff;

/// What the table must know of a counter to judge its idle keys; read by every thread.
struct Idleness {
  std::atomic<std::uint32_t> seconds{
      0};  ///< after its last event a key of this counter is worth nothing
  std::atomic<std::uint8_t> clock{0};    ///< kNow, kWall or kOwnTime
  std::atomic<std::uint8_t> closed{0};   ///< first to go
  std::atomic<std::uint32_t> latest{0};  ///< kOwnTime: the latest second of its events
};
/// The latest second seen on each clock: kNow for Clock::now, kWall for Clock::wall.
struct Ages {
  static constexpr std::uint8_t kNow = 0, kWall = 1, kOwnTime = 2;
  std::array<Idleness, kCountersMax> counters;
  std::array<std::atomic<std::uint32_t>, 2> now{};

  bool expired(const Slot& slot) const noexcept;
  bool closed(const Slot& slot) const noexcept {
    return counters[slot.counter].closed.load(std::memory_order_relaxed) != 0;
  }
  void advance(std::uint16_t counter, std::uint8_t clock, std::uint32_t second) noexcept;
  /// Seconds since its newest event, on its counter's clock.
  std::int32_t idle_for(const Slot& slot) const noexcept;
};

/// A set-associative table of fixed size: no tombstones, no rehash, no sweep.
///
///     region = 256 buckets, one spin lock          (64 KiB of slots)
///     bucket = 8 slots = 2 halves of 128 bytes     (a half: two lines that the prefetcher fetches
///     as a pair)
///
/// A key's home is one half in each of two buckets of its region. It is put there if there is room,
/// else in the other halves. So nearly every look-up ends in the four lines that prefetch() asks
/// for at once (at 80 % fill: see bench/results/limiter.md), one memory latency in all, while the
/// full sixteen slots keep displacement at a few per million.
///
/// Not thread-safe but for prefetch: the caller holds the region's lock.
class Table {
 public:
  struct alignas(64) Region {
    SpinLock lock;
    std::uint32_t hand = 0;  ///< where make_room looks next
    // Written under the lock, read by anyone.
    std::atomic<std::uint32_t> taken{0};
    std::atomic<std::uint64_t> evicted{0};
    std::atomic<std::uint64_t> full{0};
  };
  struct Place {
    Region* region;
    Slot* first;  ///< bucket one
    Slot* second;
    std::uint8_t half_one, half_two;  ///< 0 or 4
    std::uint64_t tag;
  };

  explicit Table(std::size_t keys);
  static std::size_t slots_for(std::size_t keys) noexcept;

  Place place(const Hash128& key, std::uint64_t salt) const noexcept {
    return place(tag_of(key), salt);
  }
  Place place(std::uint64_t tag, std::uint64_t salt) const noexcept;
  static std::uint64_t tag_of(const Hash128& key) noexcept;
  void prefetch(const Place& p) const noexcept;

  Slot* find(const Place& p, std::uint16_t counter) const noexcept;

  struct Claim {
    Slot* slot = nullptr;  ///< null: all are pinned or in flight
    bool displaced = false;
  };
  /// A slot for a key that find does not find, cleared but for tag and counter.
  Claim claim(const Place& p, std::uint16_t counter, const Ages& ages, Arena& arena) noexcept;
  void release(Region& region, Slot& slot, Arena& arena) noexcept;
  /// Evicts up to one idle key of the region that holds a block of at least this order. `except`
  /// stays.
  bool make_room(Region& region, unsigned order, const Slot* except, const Ages& ages,
                 Arena& arena) noexcept;

  std::size_t regions() const noexcept { return region_count_; }
  Region& region(std::size_t i) const noexcept { return regions_[i]; }
  std::size_t buckets() const noexcept { return buckets_; }  ///< per region
  Slot* bucket(std::size_t region, std::size_t bucket) const noexcept {
    return slots_ + (region * buckets_ + bucket) * kWays;
  }
  std::size_t capacity() const noexcept { return region_count_ * buckets_ * kWays; }
  Mapping& memory() noexcept { return memory_; }

  static constexpr std::size_t kWays = 8;
  static constexpr std::size_t kBucketsMax = 256;

 private:
  std::size_t buckets_;
  std::size_t region_count_;
  Mapping memory_;
  Slot* slots_;
  std::unique_ptr<Region[]> regions_;
};

}  // namespace weir::limiter
