#include "limiter/lists/hot_list.h"

#include <algorithm>
#include <bit>

#include "core/prefetch.h"

namespace weir::limiter {
namespace {

std::uint64_t term_of(TimePoint until, std::uint16_t level) noexcept {
  return static_cast<std::uint64_t>(to_ms(until)) << 16 | level;
}
TimePoint until_of(std::uint64_t term) noexcept {
  return from_ms(static_cast<std::int64_t>(term >> 16));
}

}  // namespace

HotList::HotList(std::size_t max)
    : buckets_(std::bit_ceil(std::max<std::size_t>(2, max * 2 / kWays + 1))),
      memory_(buckets_ * kWays * sizeof(Slot)) {}

HotList::Slot* HotList::bucket(const Hash128& key, int choice) const noexcept {
  std::uint64_t h = (key.hi ^ (key.lo >> 7)) * 0x9E37'79B9'7F4A'7C15U;
  h ^= h >> 29;
  const std::size_t one = h & (buckets_ - 1);
  std::size_t two = std::rotl(h, 32) * 0xD6E8'FEB8'6659'FD93U >> 20 & (buckets_ - 1);
  if (two == one) two = (one + 1) & (buckets_ - 1);
  return reinterpret_cast<Slot*>(memory_.data()) + (choice == 0 ? one : two) * kWays;
}

void HotList::prefetch(const Hash128& key) const noexcept {
  for (int choice : {0, 1}) {
    const Slot* b = bucket(key, choice);
    prefetch_line(b);
    prefetch_line(b + 4);
  }
}

Listed HotList::find(const Hash128& key, TimePoint now) const noexcept {
  const std::uint64_t tag = tag_of(key);
  for (int choice : {0, 1}) {
    const Slot* b = bucket(key, choice);
    for (std::size_t i = 0; i < kWays; ++i) {
      if (b[i].tag.load(std::memory_order_acquire) != tag) continue;
      const std::uint64_t term = b[i].term.load(std::memory_order_acquire);
      if (b[i].tag.load(std::memory_order_relaxed) != tag || until_of(term) <= now) continue;
      return {true, static_cast<std::uint16_t>(term & 0xffff), until_of(term)};
    }
  }
  return {};
}

HotList::Slot* HotList::find_slot(const Hash128& key) const noexcept {
  for (int choice : {0, 1}) {
    Slot* b = bucket(key, choice);
    for (std::size_t i = 0; i < kWays; ++i) {
      if (b[i].tag.load(std::memory_order_relaxed) == tag_of(key)) return b + i;
    }
  }
  return nullptr;
}

bool HotList::set(const Hash128& key, TimePoint until, std::uint16_t level,
                  TimePoint now) noexcept {
  Slot* slot = find_slot(key);
  if (slot == nullptr) {
    // The emptier bucket, as in Table.
    std::size_t best = 0;
    for (int choice : {0, 1}) {
      Slot* b = bucket(key, choice);
      std::size_t room = 0;
      Slot* first = nullptr;
      for (std::size_t i = 0; i < kWays; ++i) {
        const bool usable = b[i].tag.load(std::memory_order_relaxed) == 0 ||
                            until_of(b[i].term.load(std::memory_order_relaxed)) <= now;
        room += usable;
        if (usable && first == nullptr) first = b + i;
      }
      if (room > best) {
        best = room;
        slot = first;
      }
    }
    if (slot == nullptr) return false;
    // Hide the former key first, then set the new term, then show the key: a reader of the new term
    // cannot read the former tag after it.
    slot->tag.store(0, std::memory_order_relaxed);
    slot->term.store(term_of(until, level), std::memory_order_release);
    slot->tag.store(tag_of(key), std::memory_order_release);
    return true;
  }
  slot->term.store(term_of(until, level), std::memory_order_release);
  return true;
}

void HotList::erase(const Hash128& key) noexcept {
  if (Slot* slot = find_slot(key); slot != nullptr) slot->tag.store(0, std::memory_order_release);
}

}  // namespace weir::limiter
