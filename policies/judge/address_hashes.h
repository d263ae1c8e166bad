#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/address.h"
#include "core/key.h"

namespace weir::policies {

/// The hashes of the addresses that came last: a caller mostly comes again, and to compare sixteen
/// bytes costs a twentieth of hashing them. An entry holds the whole address, so two addresses
/// never share a hash. 256 KiB, touched as far as it is used. Not thread-safe.
class AddressHashes {
 public:
  /// The hash of this address, by `make()` unless it is known.
  template <class Make>
  const Hash128& get(const Address& address, Make make) {
    if (entries_.empty()) entries_.resize(kEntries);
    const Halves halves = halves_of(address);
    Entry& entry = entries_.data()[place_of(halves)];
    if (entry.address.one != halves.one || entry.address.two != halves.two || entry.is_empty())
      entry = {halves, make()};
    return entry.hash;
  }

 private:
  static constexpr unsigned kBits = 13;
  static constexpr std::size_t kEntries = std::size_t{1} << kBits;
  struct Halves {
    std::uint64_t one = 0, two = 0;
  };
  struct Entry {
    Halves address;
    Hash128 hash;
    bool is_empty() const noexcept { return (hash.lo | hash.hi) == 0; }
  };
  static Halves halves_of(const Address& address) noexcept {
    Halves out;
    std::memcpy(&out, address.bytes().data(), sizeof out);
    return out;
  }
  static std::size_t place_of(const Halves& address) noexcept {
    const std::uint64_t mixed = (address.one ^ std::rotl(address.two, 32)) * 0x9E37'79B9'7F4A'7C15U;
    return static_cast<std::size_t>(mixed >> (64 - kBits));
  }

  std::vector<Entry> entries_;  // direct-mapped
};

}  // namespace weir::policies
