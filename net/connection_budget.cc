#include "net/connection_budget.h"

#include <cstring>
#include <random>
#include <utility>

namespace weir::net {
namespace {

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// The finaliser of MurmurHash3 (Appleby, public domain).
std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

template <class T, std::size_t... I>
std::array<T, sizeof...(I)> array_of(std::uint64_t seed, std::index_sequence<I...>) {
  return {((void)I, T(seed))...};
}

}  // namespace

std::size_t ConnectionBudget::Hash::operator()(const Address& address) const noexcept {
  std::array<std::uint64_t, 2> words;
  std::memcpy(words.data(), address.bytes().data(), sizeof words);
  return static_cast<std::size_t>(mix(mix(words[0] ^ seed) ^ words[1]));
}

ConnectionBudget::ConnectionBudget(std::size_t limit, std::size_t per_address)
    : limit_(limit),
      per_address_(per_address),
      hash_{random_seed()},
      shards_(array_of<Shard>(hash_.seed, std::make_index_sequence<kShards>())) {}

ConnectionBudget::Shard& ConnectionBudget::shard_of(const Address& network) noexcept {
  return shards_[(hash_(network) >> 48) % kShards];
}

bool ConnectionBudget::take_of(const Address& address) {
  if (per_address_ == kNoLimit) return true;
  const Address network = network_of(address);
  Shard& shard = shard_of(network);
  const std::lock_guard lock(shard.mutex);
  std::uint32_t& count = shard.counts[network];
  if (count >= per_address_) return false;
  ++count;
  return true;
}

void ConnectionBudget::give_back_of(const Address& address) noexcept {
  if (per_address_ == kNoLimit) return;
  const Address network = network_of(address);
  Shard& shard = shard_of(network);
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.counts.find(network);
  if (found != shard.counts.end() && --found->second == 0) shard.counts.erase(found);
}

}  // namespace weir::net
