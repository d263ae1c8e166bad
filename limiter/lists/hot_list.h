#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "limiter/lists/lists.h"
#include "limiter/memory/arena.h"

namespace weir::limiter {

/// The listed keys and their ends, which every request looks up. 16-byte slots, eight to a bucket
/// of two cache lines, two buckets a key, twice as many slots as entries; memory comes page by
/// page. Lookups take no lock: they read a slot's tag before and after its term, so they never mix
/// up the terms of two keys. Writers hold the list's mutex.
class HotList {
 public:
  explicit HotList(std::size_t max);

  Listed find(const Hash128& key, TimePoint now) const noexcept;
  void prefetch(const Hash128& key) const noexcept;

  /// False: both buckets are full of entries in force (never seen at half load).
  bool set(const Hash128& key, TimePoint until, std::uint16_t level, TimePoint now) noexcept;
  void erase(const Hash128& key) noexcept;

 private:
  static constexpr std::size_t kWays = 8;
  struct Slot {
    std::atomic<std::uint64_t> tag;   // 0: free
    std::atomic<std::uint64_t> term;  // until in ms << 16 | level
  };
  static std::uint64_t tag_of(const Hash128& key) noexcept { return key.lo != 0 ? key.lo : 1; }
  Slot* bucket(const Hash128& key, int choice) const noexcept;
  Slot* find_slot(const Hash128& key) const noexcept;

  std::size_t buckets_;
  Mapping memory_;
};

}  // namespace weir::limiter
