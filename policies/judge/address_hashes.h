#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/address.h"
#include "core/key.h"

namespace weir::policies {

/// The hashes of the addresses that came last: a caller mostly comes again, and to compare sixteen
/// bytes costs a twentieth of hashing them. What is remembered is the whole address, so nobody's
/// hash can be another's. 128 KiB, touched as far as it is used. Not thread-safe.
class AddressHashes {
 public:
  /// The hash of this address, by `make()` unless it is known.
  template <class Make>
  const Hash128& get(const Address& address, Make make) {
    if (entries_.empty()) entries_.resize(kEntries);
    Entry& entry = entries_.data()[place_of(address)];
    if (entry.address != address || entry.hash == Hash128{}) entry = {address, make()};
    return entry.hash;
  }

 private:
  static constexpr unsigned kBits = 12;
  static constexpr std::size_t kEntries = std::size_t{1} << kBits;
  struct Entry {
    Address address;
    Hash128 hash;  // zero: empty
  };
  static std::size_t place_of(const Address& address) noexcept {
    std::uint64_t halves[2];
    std::memcpy(halves, address.bytes().data(), sizeof halves);
    const std::uint64_t mixed = (halves[0] ^ std::rotl(halves[1], 32)) * 0x9E37'79B9'7F4A'7C15U;
    return static_cast<std::size_t>(mixed >> (64 - kBits));
  }

  std::vector<Entry> entries_;  // direct-mapped
};

}  // namespace weir::policies
