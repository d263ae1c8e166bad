#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"

namespace weir::limiter {

/// Memory that a view may take. An estimate: what each thing costs at worst, tables at their
/// emptiest and vectors at their fullest growth included.
struct Budget {
  std::size_t limit = 0;  ///< bytes; 0: none
  std::size_t used = 0;
  bool has(std::size_t bytes) const noexcept { return limit == 0 || used + bytes <= limit; }
};

/// Hashes to small dense numbers, which are used again once given back. Open addressing with linear
/// probing and backward-shift deletion (Knuth, TAOCP 6.4, algorithm R): no tombstones, so that keys
/// that come and go for years cost nothing. 16-byte slots, a quarter of them free at least. Keys
/// are hashed with a secret, so nobody can make them collide.
class Index {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kBytes = 64;  ///< of a key, at worst

  std::uint32_t find(const Hash128& key) const noexcept {
    if (slots_.empty()) return kNone;
    const auto tag = static_cast<std::uint32_t>(key.lo);
    for (std::size_t i = tag & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.id == kNone) return kNone;
      if (slot.tag == tag && slot.check == key.hi) return slot.id;
    }
  }
  /// The number of a key that is not there yet: below capacity(), which grows by one at most.
  std::uint32_t add(const Hash128& key);
  void remove(const Hash128& key) noexcept;
  std::size_t size() const noexcept { return capacity_ - free_.size(); }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  struct Slot {
    std::uint64_t check = 0;
    std::uint32_t tag = 0;
    std::uint32_t id = kNone;
  };
  void grow();

  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t capacity_ = 0;
  std::vector<std::uint32_t> free_;
};

/// The groups of a view: an Index that keeps each key's hash and text, once per life of the key.
class Groups {
 public:
  static constexpr std::size_t kBytes = Index::kBytes + 128;  ///< of a group, besides its text

  std::uint32_t find(const Hash128& key) const noexcept { return index_.find(key); }
  std::uint32_t add(const Hash128& key, std::string_view parts);
  void remove(std::uint32_t group) noexcept;
  std::string_view parts(std::uint32_t group) const noexcept { return parts_[group]; }
  std::size_t size() const noexcept { return index_.size(); }
  std::size_t capacity() const noexcept { return index_.capacity(); }

 private:
  Index index_;
  std::vector<Hash128> keys_;
  std::vector<std::string> parts_;
};

}  // namespace weir::limiter
