#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/address.h"
#include "core/clock.h"
#include "core/key.h"

namespace weir::limiter {

/// Ranges of addresses, none over another, in order: `Word` is an address as a number. A lookup
/// searches the first of every 64 ranges, which stay in the cache, then the 64.
template <class Word>
class RangeIndex {
 public:
  struct Range {
    Word first, last;
    std::uint32_t until;  ///< Unix seconds, kNever: forever
  };
  void reserve(std::size_t n) { ranges_.reserve(n); }
  void add(const Range& range) { ranges_.push_back(range); }
  /// After the last add. Ranges may lie within each other, as networks do; they may not overlap
  /// otherwise. Where they do, the one that holds longest counts.
  void build();
  /// The range that covers the address, whether or not it has ended; null: none does.
  const Range* find(Word at) const noexcept;
  const std::vector<Range>& ranges() const noexcept { return ranges_; }
  /// The numbers of the ranges that have an address of first..last: from `.first` on, up to
  /// `.second` without it.
  std::pair<std::size_t, std::size_t> numbers(Word first, Word last) const noexcept;
  std::size_t bytes() const noexcept {
    return ranges_.capacity() * sizeof(Range) + steps_.capacity() * sizeof(Word);
  }

 private:
  static constexpr std::size_t kStep = 64;
  std::vector<Range> ranges_;
  std::vector<Word> steps_;
};

/// Entries of a list by the million, from a file or a URL: addresses and networks as ranges, keys
/// of other fields by their hash. Built once, then immutable; then thread-safe, and find allocates
/// nothing. 12 bytes an IPv4 address or network, 36 of IPv6, 24 another key.
class BulkList {
 public:
  /// An IPv6 address, its first 32 bits first: a range of them has no gaps.
  struct Six {
    std::array<std::uint32_t, 4> words{};
    friend auto operator<=>(const Six&, const Six&) = default;
  };
  static constexpr std::uint32_t kNever = 0xffff'ffff;
  /// Reserves memory for `entries` entries: most are IPv4 addresses if `addresses`, else keys.
  void reserve(std::size_t entries, bool addresses);
  void add(const Cidr& block, TimePoint until);
  void add(const Hash128& key, TimePoint until);
  void build();  ///< call it after the last add

  struct Found {
    TimePoint until;           ///< kForever if it does not end
    std::string text() const;  ///< the range: `10.0.0.0/8`, `10.0.0.1`; empty: a hashed key
    std::optional<Address> first, last;
  };
  /// An entry that matches and has not ended. `address`: of lists of one address, else null.
  std::optional<Found> find(const Hash128& key, const Address* address,
                            TimePoint now) const noexcept;
  /// Entries by their numbers, ended ones included, that have an address in common with a range.
  struct Numbers {
    bool v4 = true;
    std::size_t begin = 0, end = 0;
  };
  Numbers numbers(const AddressRange& range) const noexcept;
  /// The entry of this number, of which there is one; nothing: it has ended.
  std::optional<Found> at(bool v4, std::size_t number, TimePoint now) const noexcept;
  std::size_t size() const noexcept { return added_; }  ///< entries that were added
  std::size_t bytes() const noexcept;                   ///< of memory

 private:
  struct Keyed {
    Hash128 key;
    std::uint32_t until;
  };
  std::size_t added_ = 0;
  RangeIndex<std::uint32_t> four_;
  RangeIndex<Six> six_;
  std::vector<Keyed> keys_;
};

/// The bulk entries of one list as requests see them, and how they are changed meanwhile. It
/// outlives reloads: policy sets that name the same source share it. find takes no lock.
class BulkSlot {
 public:
  /// The entries in force; null: nothing was loaded yet. Every reader must stop using them before
  /// the owner of put() continues (the process waits for every worker). The next call may return
  /// other entries: call it once for each decision.
  const BulkList* get() const noexcept { return now_.load(std::memory_order_acquire); }
  std::size_t size() const noexcept {
    const std::scoped_lock hold(mutex_);
    return owner_ == nullptr ? 0 : owner_->size();
  }
  /// Puts entries in force and returns the previous ones, which other threads may still be reading.
  [[nodiscard]] std::shared_ptr<const BulkList> put(std::shared_ptr<const BulkList> next) {
    const std::scoped_lock hold(mutex_);
    now_.store(next.get(), std::memory_order_release);
    owner_.swap(next);
    return next;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const BulkList> owner_;
  std::atomic<const BulkList*> now_{nullptr};
};

}  // namespace weir::limiter
