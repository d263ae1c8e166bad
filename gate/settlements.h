#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "core/key.h"

namespace weir::gate {

inline constexpr std::size_t kSettlementGroups = 1024;
/// Groups of keys in which something has settled.
using SettledGroups = std::bitset<kSettlementGroups>;

/// Lets the workers of a process see which keys have settled: a count of settlements for each group
/// of keys. A key always belongs to the same group. Thread-safe; written only while a request
/// waits.
class Settlements {
 public:
  static constexpr std::size_t kGroups = kSettlementGroups;
  static std::size_t group_of(const Hash128& key) noexcept { return key.hi % kGroups; }

  void note(const Hash128& key) noexcept {
    counts_[group_of(key)].fetch_add(1, std::memory_order_relaxed);
    all_.fetch_add(1, std::memory_order_release);
  }

 private:
  friend class SettlementReader;
  std::atomic<std::uint64_t> all_{0};
  std::array<std::atomic<std::uint32_t>, kGroups> counts_{};
};

/// The counts that one worker has seen. Not thread-safe.
class SettlementReader {
 public:
  /// Also notes a settlement of this worker, which needs no message.
  void note_own(const Hash128& key) noexcept {
    ++counts_[Settlements::group_of(key)];
    ++all_;
  }
  /// The groups in which others have settled something since the last call; false: none.
  bool read(const Settlements& from, SettledGroups& groups) noexcept {
    const std::uint64_t all = from.all_.load(std::memory_order_acquire);
    if (all == all_) return false;
    all_ = all;
    groups.reset();
    for (std::size_t i = 0; i < Settlements::kGroups; ++i) {
      const std::uint32_t count = from.counts_[i].load(std::memory_order_relaxed);
      if (count == counts_[i]) continue;
      counts_[i] = count;
      groups.set(i);
    }
    return true;
  }

 private:
  std::uint64_t all_ = 0;
  std::array<std::uint32_t, Settlements::kGroups> counts_{};
};

}  // namespace weir::gate
