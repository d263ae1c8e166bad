#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "limiter/kinds/kinds.h"
#include "limiter/kinds/state.h"

namespace weir::limiter {

/// An event in a journal: its time, a mark, and the bits of its amount or member.
struct JournalEntry {
  std::uint64_t stamp = 0;  ///< ms << 1 | mark
  std::uint64_t bits = 0;

  static JournalEntry of(std::int64_t ms, std::uint64_t bits) noexcept {
    return {static_cast<std::uint64_t>(ms) << 1, bits};
  }
  std::int64_t ms() const noexcept { return static_cast<std::int64_t>(stamp >> 1); }
  bool marked() const noexcept { return (stamp & 1) != 0; }
  void mark(bool on) noexcept { stamp = (stamp & ~std::uint64_t{1}) | (on ? 1 : 0); }
  /// Whether both have the same time and the same value.
  bool same(const JournalEntry& e) const noexcept { return ms() == e.ms() && bits == e.bits; }
};

/// With where it happened.
struct PlaceEntry : JournalEntry {
  UnitVector at;

  static PlaceEntry of(std::int64_t ms, std::uint64_t bits, const UnitVector& at) noexcept {
    return {JournalEntry::of(ms, bits), at};
  }
  bool same(const PlaceEntry& e) const noexcept { return JournalEntry::same(e) && at == e.at; }
};

/// Each kind defines the meaning of `total`, `at` and `extra`.
struct JournalHead {
  std::uint32_t size = 0;
  std::uint32_t first = 0;
  std::uint32_t reserved = 0;
  std::uint32_t reserve_room = 0;
  std::uint64_t total[2] = {};
  std::int64_t at = 0;
  std::uint64_t extra = 0;

  Wide wide() const noexcept;
  void set_wide(Wide value) noexcept;
};

/// The statistics of a key: a head, the events in flight, and entries in a circle, oldest first, in
/// one block of the arena.
///
///    head (48 bytes) | reservations [reserve_room] | circle of entries [the rest]
///
/// Unlike a Series it has no form inside the slot, and its times are whole milliseconds: simpler,
/// and larger by a block of 64 bytes a key. Not thread-safe: the caller holds the region's lock.
template <class E>
class BasicJournal {
 public:
  using Entry = E;
  using Head = JournalHead;

  /// A journal without a key.
  explicit BasicJournal(std::nullptr_t) noexcept {}
  /// The journal of a slot. `slot` may be null or empty.
  BasicJournal(Slot* slot, const Arena& arena) noexcept;

  bool has_block() const noexcept { return block_ != nullptr; }
  const Head& head() const noexcept { return block_ != nullptr ? *block_ : kNothing; }
  Head& head() noexcept;  ///< needs a block
  std::uint32_t size() const noexcept { return head().size; }
  Entry& entry(std::uint32_t i) const noexcept { return circle()[index(i)]; }
  std::uint32_t reserved() const noexcept { return head().reserved; }
  Entry& reservation(std::uint32_t i) const noexcept { return reservations()[i]; }

  /// Makes room for `entries` more entries, or for one more reservation; gives an empty slot its
  /// block. False: no memory, and nothing changed.
  bool make_room(Slot& slot, Memory& memory, std::uint32_t entries) noexcept;
  bool make_reserve_room(Slot& slot, Memory& memory) noexcept;
  void insert(std::uint32_t i, Entry entry) noexcept;  ///< needs room; `i` may be size()
  void erase(std::uint32_t i) noexcept;
  void pop_front() noexcept;
  void add_reservation(Entry entry) noexcept;  ///< needs room
  void erase_reservation(std::uint32_t i) noexcept;
  /// The place for an entry of that time: after all entries that are as old or older.
  std::uint32_t place_of(std::int64_t ms) const noexcept;
  /// Gives most of a block back that has become nearly empty.
  void fit(Slot& slot, Memory& memory) noexcept;

  static constexpr std::size_t bytes_of(std::size_t entries) noexcept {
    return sizeof(Head) + entries * sizeof(Entry);
  }

 private:
  static const Head kNothing;
  static std::uint32_t slots_of(unsigned order) noexcept {
    return static_cast<std::uint32_t>((Arena::bytes_of(order) - sizeof(Head)) / sizeof(Entry));
  }
  Entry* reservations() const noexcept { return reinterpret_cast<Entry*>(block_ + 1); }
  Entry* circle() const noexcept { return reservations() + block_->reserve_room; }
  std::uint32_t capacity() const noexcept { return slots_of(order_) - block_->reserve_room; }
  std::uint32_t index(std::uint32_t i) const noexcept {
    const std::uint32_t at = block_->first + i;
    return at < capacity() ? at : at - capacity();
  }
  bool move(Slot& slot, Memory& memory, std::uint32_t entries, std::uint32_t reserve_room) noexcept;

  Head* block_ = nullptr;
  unsigned order_ = 0;
};
extern template class BasicJournal<JournalEntry>;
extern template class BasicJournal<PlaceEntry>;
using Journal = BasicJournal<JournalEntry>;
using PlaceJournal = BasicJournal<PlaceEntry>;
static_assert(sizeof(JournalHead) == 48 && sizeof(JournalEntry) == 16 && sizeof(PlaceEntry) == 40);

}  // namespace weir::limiter
