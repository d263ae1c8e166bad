#include "limiter/memory/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

namespace weir::limiter {

Mapping::Mapping(std::size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(p);
  // Where huge pages are always on, a few keys would make the whole table resident.
  madvise(data_, bytes, MADV_NOHUGEPAGE);
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, size_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void Mapping::advise_huge() noexcept {
  if (data_ != nullptr) madvise(data_, size_, MADV_HUGEPAGE);
}

Arena::Arena(std::size_t bytes)
    : top_(kOrders - 1),
      limit_(bytes / (kGranule + 1) * kGranule),
      memory_(limit_),
      free_order_(limit_ / kGranule) {
  while (top_ > 0 && bytes_of(top_) * 8 > limit_) --top_;
}

unsigned Arena::order_for(std::size_t bytes) noexcept {
  const std::size_t granules = (bytes + kGranule - 1) / kGranule;
  return granules <= 1 ? 0 : static_cast<unsigned>(std::bit_width(granules - 1));
}

Arena::Links& Arena::links(std::uint32_t block) const noexcept {
  return *reinterpret_cast<Links*>(at(block));
}

void Arena::push(std::uint32_t block, unsigned order) noexcept {
  links(block) = {heads_[order], 0};
  if (heads_[order] != 0) links(heads_[order]).previous = block;
  heads_[order] = block;
  free_order_.data()[block - 1] = static_cast<std::byte>(order + 1);
}

void Arena::remove(std::uint32_t block, unsigned order) noexcept {
  const Links l = links(block);
  if (l.previous != 0) {
    links(l.previous).next = l.next;
  } else {
    heads_[order] = l.next;
  }
  if (l.next != 0) links(l.next).previous = l.previous;
  free_order_.data()[block - 1] = std::byte{0};
}

bool Arena::carve() noexcept {
  const std::size_t bytes = bytes_of(top_);
  if (carved_ + bytes + withheld_ > limit_) return false;
  push(static_cast<std::uint32_t>(carved_ / kGranule + 1), top_);
  carved_ += bytes;
  return true;
}

std::uint32_t Arena::allocate(unsigned order) noexcept {
  if (order > top_) return 0;
  const std::scoped_lock hold(lock_);
  unsigned from = order;
  while (from <= top_ && heads_[from] == 0) ++from;
  if (from > top_) {
    if (!carve()) return 0;
    from = top_;
  }
  const std::uint32_t block = heads_[from];
  remove(block, from);
  while (from > order) {
    --from;
    push(block + (1U << from), from);
  }
  used_.store(used_.load(std::memory_order_relaxed) + bytes_of(order), std::memory_order_relaxed);
  return block;
}

void Arena::free(std::uint32_t block, unsigned order) noexcept {
  const std::scoped_lock hold(lock_);
  used_.store(used_.load(std::memory_order_relaxed) - bytes_of(order), std::memory_order_relaxed);
  for (; order < top_; ++order) {
    const std::uint32_t buddy = ((block - 1) ^ (1U << order)) + 1;
    if (free_order_.data()[buddy - 1] != static_cast<std::byte>(order + 1)) break;
    remove(buddy, order);
    block = std::min(block, buddy);
  }
  push(block, order);
}

bool Arena::withhold(std::size_t bytes) noexcept {
  const std::scoped_lock hold(lock_);
  if (carved_ + withheld_ + bytes > limit_) return false;
  withheld_ += bytes;
  return true;
}

void Arena::give_back(std::size_t bytes) noexcept {
  const std::scoped_lock hold(lock_);
  withheld_ -= bytes;
}

}  // namespace weir::limiter
