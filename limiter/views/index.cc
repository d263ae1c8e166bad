#include "limiter/views/index.h"

#include <algorithm>
#include <new>
#include <utility>

namespace weir::limiter {

Index::Slot* Index::add(const Hash128& key) {
  if ((size() + 1) * 4 > slots_.size() * 3) grow();
  std::uint32_t id;
  if (free_.empty()) {
    // remove() may not lack memory: there is room for all numbers.
    if (free_.capacity() <= capacity_) free_.reserve(2 * capacity_ + 1);
    id = static_cast<std::uint32_t>(capacity_++);
  } else {
    id = free_.back();
    free_.pop_back();
  }
  const auto tag = static_cast<std::uint32_t>(key.lo);
  std::size_t i = tag & mask_;
  while (slots_[i].id != kNone) i = (i + 1) & mask_;
  slots_[i] = {key.hi, tag, id, 0, 0};
  return &slots_[i];
}

void Index::remove(const Hash128& key) noexcept {
  const auto tag = static_cast<std::uint32_t>(key.lo);
  std::size_t i = tag & mask_;
  while (slots_[i].tag != tag || slots_[i].check != key.hi || slots_[i].id == kNone) {
    if (slots_[i].id == kNone) return;
    i = (i + 1) & mask_;
  }
  free_.push_back(slots_[i].id);
  // Entries after the gap move up, unless their own place is after the gap.
  for (std::size_t j = (i + 1) & mask_; slots_[j].id != kNone; j = (j + 1) & mask_) {
    const std::size_t home = slots_[j].tag & mask_;
    if (((j - home) & mask_) >= ((j - i) & mask_)) {
      slots_[i] = slots_[j];
      i = j;
    }
  }
  slots_[i] = {};
}

void Index::clear() noexcept {
  std::fill(slots_.begin(), slots_.end(), Slot{});
  free_.clear();
  capacity_ = 0;
}

void Index::grow() {
  HugeVector<Slot> old(std::max<std::size_t>(16, slots_.size() * 2));
  std::swap(old, slots_);  // without memory nothing has changed
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNone) continue;
    std::size_t i = slot.tag & mask_;
    while (slots_[i].id != kNone) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
}

Index::Slot* Groups::add(const Hash128& key, std::string_view parts) {
  Index::Slot* slot = index_.add(key);
  try {
    if (slot->id == names_.size()) names_.emplace_back();
    names_[slot->id].parts.assign(parts);
  } catch (const std::bad_alloc&) {  // a group has its name, or is none
    index_.remove(key);
    throw;
  }
  names_[slot->id].key = key;
  return slot;
}

void Groups::remove(std::uint32_t group) noexcept {
  Name& name = names_[group];
  index_.remove(name.key);
  // Short texts lie inside the string; a long one's memory goes back.
  if (name.parts.capacity() > 64) std::string().swap(name.parts);
}

}  // namespace weir::limiter
