#include "limiter/kinds/journal.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/assert.h"

namespace weir::limiter {

template <class E>
const JournalHead BasicJournal<E>::kNothing{};

Wide JournalHead::wide() const noexcept {
  Wide value;
  std::memcpy(&value, total, sizeof(value));
  return value;
}

void JournalHead::set_wide(Wide value) noexcept { std::memcpy(total, &value, sizeof(value)); }

template <class E>
BasicJournal<E>::BasicJournal(Slot* slot, const Arena& arena) noexcept {
  if (slot == nullptr || slot->form != static_cast<unsigned>(Slot::Form::block)) return;
  block_ = reinterpret_cast<Head*>(arena.at(slot->word[2]));
  order_ = slot->order;
}

template <class E>
JournalHead& BasicJournal<E>::head() noexcept {
  WEIR_ASSERT(block_ != nullptr);
  return *block_;
}

template <class E>
bool BasicJournal<E>::move(Slot& slot, Memory& memory, std::uint32_t entries,
                           std::uint32_t reserve_room) noexcept {
  const unsigned order = Arena::order_for(bytes_of(std::size_t{entries} + reserve_room));
  const std::uint32_t block = memory.allocate(order, &slot);
  if (block == 0) return false;
  Head* const fresh = new (memory.arena.at(block)) Head(std::as_const(*this).head());
  fresh->first = 0;
  fresh->reserve_room = reserve_room;
  auto* const to = reinterpret_cast<Entry*>(fresh + 1);
  for (std::uint32_t i = 0; i < fresh->reserved; ++i) to[i] = reservation(i);
  for (std::uint32_t i = 0; i < fresh->size; ++i) to[reserve_room + i] = entry(i);
  if (block_ != nullptr) memory.arena.free(slot.word[2], slot.order);
  slot.word[2] = block;
  slot.form = static_cast<unsigned>(Slot::Form::block);
  slot.order = order & 15U;
  block_ = fresh;
  order_ = order;
  return true;
}

template <class E>
bool BasicJournal<E>::make_room(Slot& slot, Memory& memory, std::uint32_t entries) noexcept {
  if (block_ != nullptr && size() + entries <= capacity()) return true;
  return move(slot, memory, size() + entries, std::as_const(*this).head().reserve_room);
}

template <class E>
bool BasicJournal<E>::make_reserve_room(Slot& slot, Memory& memory) noexcept {
  const Head& h = std::as_const(*this).head();
  if (block_ != nullptr && h.reserved < h.reserve_room) return true;
  return move(slot, memory, h.size + 1, std::max(1U, h.reserve_room * 2));
}

template <class E>
void BasicJournal<E>::insert(std::uint32_t i, Entry entry_in) noexcept {
  if (i == 0 && block_->size != 0) {
    block_->first = block_->first == 0 ? capacity() - 1 : block_->first - 1;
    ++block_->size;
  } else {
    ++block_->size;
    for (std::uint32_t n = block_->size - 1; n > i; --n) entry(n) = entry(n - 1);
  }
  entry(i) = entry_in;
}

template <class E>
void BasicJournal<E>::erase(std::uint32_t i) noexcept {
  if (i == 0) {
    pop_front();
    return;
  }
  for (; i + 1 < block_->size; ++i) entry(i) = entry(i + 1);
  --block_->size;
}

template <class E>
void BasicJournal<E>::pop_front() noexcept {
  block_->first = index(1);
  --block_->size;
}

template <class E>
void BasicJournal<E>::add_reservation(Entry entry_in) noexcept {
  reservations()[block_->reserved++] = entry_in;
}

template <class E>
void BasicJournal<E>::erase_reservation(std::uint32_t i) noexcept {
  Entry* const all = reservations();
  std::copy(all + i + 1, all + block_->reserved, all + i);
  --block_->reserved;
}

template <class E>
std::uint32_t BasicJournal<E>::place_of(std::int64_t ms) const noexcept {
  std::uint32_t i = size();
  while (i > 0 && entry(i - 1).ms() > ms) --i;
  return i;
}

template <class E>
void BasicJournal<E>::fit(Slot& slot, Memory& memory) noexcept {
  if (block_ == nullptr || order_ == 0) return;
  const std::uint32_t used = block_->size + block_->reserved;
  if (used > slots_of(order_) / 8) return;
  // Half of the block stays free, so that an attacker cannot make it grow and shrink again and
  // again.
  const std::uint32_t reserve_room =
      block_->reserve_room > block_->reserved * 8 ? block_->reserved * 2 : block_->reserve_room;
  if (Arena::order_for(bytes_of(block_->size * 2 + reserve_room)) < order_)
    move(slot, memory, block_->size * 2, reserve_room);
}

template class BasicJournal<JournalEntry>;
template class BasicJournal<PlaceEntry>;

}  // namespace weir::limiter
