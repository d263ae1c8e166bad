#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/prefetch.h"
#include "limiter/kinds/counter_spec.h"
#include "limiter/memory/arena.h"
#include "limiter/memory/spin_lock.h"

namespace weir::limiter {

/// One key of one counter: half a cache line. state.h defines the payload.
struct Slot {
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

/// The facts about a counter that the table needs to judge its idle keys; read by every thread.
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
  void advance(std::uint16_t counter, std::uint8_t clock, std::uint32_t second) noexcept {
    // Written once a second; threads some ms apart must not push it to and fro around the edge.
    auto& latest = clock == kOwnTime ? counters[counter].latest : now[clock];
    const std::uint32_t former = latest.load(std::memory_order_relaxed);
    if (second == former) return;
    const auto ahead = static_cast<std::int32_t>(second - former);
    if (ahead > 0 || ahead < -60) latest.store(second, std::memory_order_relaxed);
  }
  /// Seconds since its newest event, on its counter's clock.
  std::int32_t idle_for(const Slot& slot) const noexcept;
};

/// A set-associative table of fixed size: no tombstones, no rehash, no sweep.
///
///     region = 256 buckets, one spin lock         (64 KiB of slots)
///     bucket = 8 slots = 2 halves of 128 bytes    (a half: two lines, fetched as a pair)
///
/// A key's home is one half in each of two buckets of its region. It is put there if there is room,
/// else in the other halves. So nearly every look-up ends in the four lines that prefetch() asks
/// for at once (at 80 % fill: see bench/results/limiter.md), one memory latency in all, while the
/// full sixteen slots keep displacement at a few per million.
///
/// Not thread-safe, except prefetch: the caller holds the region's lock.
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
  Place place(std::uint64_t tag, std::uint64_t salt) const noexcept {
    // Keys are keyed hashes already; the salt keeps a user's keys of several counters apart.
    std::uint64_t h = (tag ^ salt) * 0x9E37'79B9'7F4A'7C15U;
    h = (h ^ (h >> 32)) * 0xD6E8'FEB8'6659'FD93U;
    h ^= h >> 32;
    const std::size_t region = static_cast<std::size_t>(((h >> 32) * region_count_) >> 32);
    const std::size_t one = h & (buckets_ - 1);
    std::size_t two = (h >> 8) & (buckets_ - 1);
    if (two == one) two = (one + 1) & (buckets_ - 1);
    Slot* const slots = bucket(region, 0);
    return {regions_.get() + region,
            slots + one * kWays,
            slots + two * kWays,
            static_cast<std::uint8_t>((h >> 14) & 4),
            static_cast<std::uint8_t>((h >> 15) & 4),
            tag};
  }
  static std::uint64_t tag_of(const Hash128& key) noexcept {
    const std::uint64_t tag = key.lo ^ std::rotl(key.hi, 32);
    return tag != 0 ? tag : 1;
  }
  void prefetch(const Place& p) const noexcept {
    prefetch_line(p.region);
    const Slot* one = p.first + p.half_one;
    const Slot* two = p.second + p.half_two;
    prefetch_line(one);
    prefetch_line(one + 2);
    prefetch_line(two);
    prefetch_line(two + 2);
  }

  Slot* find(const Place& p, std::uint16_t counter) const noexcept {
    if (Slot* s = find_in(p.first + p.half_one, p.tag, counter)) return s;
    if (Slot* s = find_in(p.second + p.half_two, p.tag, counter)) return s;
    return find_away(p, counter);
  }

  struct Claim {
    Slot* slot = nullptr;  ///< null: all that are not pinned are in flight
    bool displaced = false;
  };
  /// A slot for a key that find does not find, cleared except tag and counter. If no slot is free
  /// or expired, the idlest key gives way: of a closed counter, or else of the counter with the
  /// most unpinned keys there. So a flood of keys of one counter takes the room of that counter,
  /// once it has more than the others.
  Claim claim(const Place& p, std::uint16_t counter, const Ages& ages, Arena& arena) noexcept;
  void release(Region& region, Slot& slot, Arena& arena) noexcept;
  /// Marks a taken slot: it is not evicted for a new key. At most kPinnedMax slots of a bucket are
  /// pinned, so that new keys always find room; one more takes the pin of another, the idlest
  /// key of the counter that has the most of them there.
  void pin(Slot& slot, const Ages& ages) noexcept;
  /// The same where fewer are pinned; else nothing happens.
  void pin_if_free(Slot& slot) noexcept;
  /// Whether claim() finds a slot that holds no live key of an open counter.
  static bool has_room(const Place& p, const Ages& ages) noexcept;
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
  static constexpr std::size_t kHalf = kWays / 2;
  static constexpr std::size_t kBucketsMax = 256;
  static constexpr std::size_t kPinnedMax = 6;  ///< of a bucket's slots

 private:
  static Slot* find_in(Slot* half, std::uint64_t tag, std::uint16_t counter) noexcept {
    for (std::size_t i = 0; i < kHalf; ++i) {
      if (half[i].tag == tag && half[i].counter == counter) return half + i;
    }
    return nullptr;
  }
  Slot* find_away(const Place& p, std::uint16_t counter) const noexcept;  ///< in the other halves
  Slot* victim(const Place& p, std::uint16_t counter, const Ages& ages) const noexcept;

  std::size_t buckets_;
  std::size_t region_count_;
  Mapping memory_;
  Slot* slots_;
  std::unique_ptr<Region[]> regions_;
};

}  // namespace weir::limiter
