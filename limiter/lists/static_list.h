#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.h"
#include "core/clock.h"
#include "core/key.h"

namespace weir::limiter {

/// The entries of a list that the configuration gives: full keys by hash, addresses by CIDR.
/// Built once per reload, then immutable: it belongs to the policy set, is shared by its workers
/// and swapped with it. After build() thread-safe; find allocates nothing.
class StaticList {
 public:
  struct Entry {
    std::string text;  ///< as written
    std::string why;
    TimePoint until;  ///< kForever if it does not end
  };

  void add(const Hash128& key, Entry entry);
  void add(const Cidr& block, Entry entry);
  void build();  ///< call it after the last add
  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }

  /// Any entry that matches and has not ended, or null. `address`: of lists of one address, else
  /// null. Cost: a binary search for the key, and one per prefix length that occurs.
  const Entry* find(const Hash128& key, const Address* address, TimePoint now) const noexcept;
  const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  struct Keyed {
    Hash128 key;
    std::size_t entry;
  };
  struct Block {
    Address base;
    std::size_t entry;
  };
  struct Length {
    bool v4;
    unsigned bits;
    std::vector<Block> blocks;
  };
  std::vector<Entry> entries_;
  std::vector<Keyed> keys_;
  std::vector<Length> lengths_;
};

}  // namespace weir::limiter
