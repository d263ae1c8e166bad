#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "core/address.h"

namespace weir::net {

/// How many connections the process may have, in all and of one address (an IPv4 address, or an
/// IPv6 /64), shared by all workers. Memory: an entry for each address that has a connection.
/// Thread-safe.
class ConnectionBudget {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  explicit ConnectionBudget(std::size_t limit, std::size_t per_address = kNoLimit);

  /// A place among all.
  bool take() noexcept {
    if (open_.fetch_add(1, std::memory_order_relaxed) < limit_) return true;
    open_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  void give_back() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); }
  std::size_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

  /// Takes a place of this address. Throws std::bad_alloc.
  bool take_of(const Address& address);
  void give_back_of(const Address& address) noexcept;

 private:
  struct Hash {
    std::uint64_t seed;  // strangers choose the low bits of their /64s
    std::size_t operator()(const Address& address) const noexcept;
  };
  struct Shard {
    explicit Shard(std::uint64_t seed) : counts(0, Hash{seed}) {}
    std::mutex mutex;
    std::unordered_map<Address, std::uint32_t, Hash> counts;
  };
  static constexpr std::size_t kShards = 16;
  static Address network_of(const Address& address) noexcept { return address.masked(32, 64); }
  Shard& shard_of(const Address& network) noexcept;

  std::atomic<std::size_t> open_{0};
  std::size_t limit_;
  std::size_t per_address_;
  Hash hash_;
  std::array<Shard, kShards> shards_;
};

}  // namespace weir::net
