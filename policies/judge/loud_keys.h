#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/key.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Keys whose next event may reach a rung, because of answers. Keys that are not here need no
/// lookup: few callers fail so often.
///
/// Only for a driver whose banks no other code writes to (Driver::count_alone()): it sees every
/// event that raises a reading, and readings fall by themselves. A bit is for all keys of one hash,
/// and stays: it says "may". 4 KiB for each policy that has such a key. Not thread-safe.
class LoudKeys {
 public:
  /// Nothing has been counted yet.
  void begin(std::size_t policies) { of_policy_.assign(policies, {}); }
  /// Whether it has seen every event that was counted.
  bool is_complete() const noexcept { return !of_policy_.empty(); }
  void forget() noexcept { of_policy_.clear(); }

  /// Whether one more event leaves the reading at `calm` or below. A bucket that drains reads 1.9,
  /// and then 2.9.
  static bool stays_calm(Number settled, std::int64_t calm) noexcept {
    return settled + Number(1) <= Number(calm);
  }
  void add(PolicyIndex policy, const Hash128& key) {
    if (!is_complete()) return;
    std::vector<std::uint64_t>& bits = of_policy_[policy];
    if (bits.empty()) bits.resize(kBits / 64);
    bits[place(key) / 64] |= bit(key);
  }
  bool may_be(PolicyIndex policy, const Hash128& key) const noexcept {
    const std::vector<std::uint64_t>& bits = of_policy_.data()[policy];
    return !bits.empty() && (bits.data()[place(key) / 64] & bit(key)) != 0;
  }

 private:
  static constexpr std::size_t kBits = std::size_t{1} << 15;
  static std::size_t place(const Hash128& key) noexcept { return key.hi & (kBits - 1); }
  static std::uint64_t bit(const Hash128& key) noexcept {
    return std::uint64_t{1} << (key.hi & 63);
  }

  std::vector<std::vector<std::uint64_t>> of_policy_;  // empty: not complete
};

}  // namespace weir::policies
