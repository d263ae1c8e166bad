#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "core/prefetch.h"
#include "limiter/views/huge_pages.h"

namespace weir::limiter {

/// Memory that a view may take. An estimate: the most that each thing costs, tables at their
/// emptiest and vectors at their fullest growth included.
struct Budget {
  std::size_t limit = 0;  ///< bytes; 0: none
  std::size_t used = 0;
  std::uint64_t pruned = 0;  ///< events of keys that gave way to others
  bool has(std::size_t bytes) const noexcept { return limit == 0 || used + bytes <= limit; }
};

/// Maps hashes to small dense numbers, which are reused after their release. Open addressing with
/// linear probing and backward-shift deletion (Knuth, TAOCP 6.4, algorithm R): no tombstones, so
/// keys that come and go for years cost nothing. 24-byte slots, at least a quarter of them free.
/// Keys are hashed with a secret, so an attacker cannot make them collide.
class Index {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kBytes = 96;  ///< of a key, at worst

  /// The place of a key, until the next add() or remove(). The last two are the user's: they lie
  /// here so that most events are over with one line of memory.
  struct Slot {
    std::uint64_t check = 0;
    std::uint32_t tag = 0;
    std::uint32_t id = kNone;
    std::uint32_t serial = 0;  ///< of the pane that the key was seen in last; 0: of none
    std::uint32_t place = 0;   ///< in that pane
  };

  /// Null: it is not there.
  Slot* find(const Hash128& key) noexcept {
    if (slots_.empty()) return nullptr;
    const auto tag = static_cast<std::uint32_t>(key.lo);
    for (std::size_t i = tag & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.id == kNone) return nullptr;
      if (slot.tag == tag && slot.check == key.hi) return &slot;
    }
  }
  /// A key that is not there yet. Its number is below capacity(), which grows by one at most.
  Slot* add(const Hash128& key);
  void remove(const Hash128& key) noexcept;
  void clear() noexcept;  ///< keeps its memory
  /// Starts loading the memory that remove() needs.
  void prefetch(const Hash128& key) const noexcept {
    if (!slots_.empty()) prefetch_line(&slots_[static_cast<std::uint32_t>(key.lo) & mask_]);
  }
  std::size_t size() const noexcept { return capacity_ - free_.size(); }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  void grow();

  HugeVector<Slot> slots_;
  std::size_t mask_ = 0;
  std::size_t capacity_ = 0;
  std::vector<std::uint32_t> free_;
};

/// The groups of a view: an Index that keeps each key's hash and text, once per life of the key.
class Groups {
 public:
  static constexpr std::size_t kBytes = Index::kBytes + 96;  ///< of a group, besides its text

  Index::Slot* find(const Hash128& key) noexcept { return index_.find(key); }
  Index::Slot& slot(std::uint32_t group) noexcept { return *index_.find(names_[group].key); }
  Index::Slot* add(const Hash128& key, std::string_view parts);
  void remove(std::uint32_t group) noexcept;
  /// Starts loading the memory that remove() needs, in two steps, each some turns before the next.
  void prefetch(std::uint32_t group) const noexcept { prefetch_line(&names_[group]); }
  void prefetch_slot(std::uint32_t group) const noexcept { index_.prefetch(names_[group].key); }
  std::string_view parts(std::uint32_t group) const noexcept { return names_[group].parts; }
  const Hash128& key(std::uint32_t group) const noexcept { return names_[group].key; }
  std::size_t size() const noexcept { return index_.size(); }
  std::size_t capacity() const noexcept { return index_.capacity(); }

 private:
  struct Name {
    Hash128 key;
    std::string parts;
  };
  Index index_;
  HugeVector<Name> names_;
};

}  // namespace weir::limiter
