#include "net/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace weir::net {
namespace {

std::size_t class_of(std::size_t size, std::size_t smallest) noexcept {
  return static_cast<std::size_t>(std::countr_zero(size / smallest));
}

}  // namespace

BlockPool::~BlockPool() { trim(); }

void BlockPool::trim() noexcept {
  for (Class& c : classes_) {
    while (c.first != nullptr) {
      Free* block = c.first;
      c.first = block->next;
      ::operator delete(block);
    }
    kept_ -= std::exchange(c.bytes, 0);
  }
  if (keeper_ != nullptr) keeper_->trim();
}

BlockPool::Block* BlockPool::take(std::size_t at_least) {
  const std::size_t size = std::bit_ceil(std::max(at_least + sizeof(Block), kSmallest));
  if (whole_ != nullptr) {
    if (in_use_ + size > limit_) throw std::bad_alloc();
    Block* const block = whole_->take(at_least);
    block->pool = this;
    in_use_ += size;
    return block;
  }
  Class& c = classes_.at(class_of(size, kSmallest));
  void* memory = c.first;
  if (memory != nullptr) {
    c.first = c.first->next;
    c.bytes -= size;
    kept_ -= size;
  } else {
    if (in_use_ + kept_ + size > limit_) {
      trim();
      if (in_use_ + size > limit_) throw std::bad_alloc();
    }
    memory = ::operator new(size);
  }
  in_use_ += size;
  return ::new (memory) Block{this, static_cast<std::uint32_t>(size - sizeof(Block))};
}

bool BlockPool::charge(std::size_t bytes) noexcept {
  if (in_use_ + kept_ + bytes > limit_) {
    trim();
    if (in_use_ + bytes > limit_) return false;
  }
  in_use_ += bytes;
  return true;
}

void BlockPool::give_back(Block* block) noexcept {
  const std::size_t size = block->capacity + sizeof(Block);
  in_use_ -= size;
  if (whole_ != nullptr) return whole_->give_back(block);
  Class& c = classes_[class_of(size, kSmallest)];
  if (c.bytes + size > kKeepBytes) {
    ::operator delete(block);
    return;
  }
  c.first = ::new (static_cast<void*>(block)) Free{c.first};
  c.bytes += size;
  kept_ += size;
}

void Bytes::append_some(BlockPool& pool, std::string_view bytes) {
  const std::span<char> to = room(pool, bytes.size());
  std::memcpy(to.data(), bytes.data(), bytes.size());
  added(bytes.size());
}

std::span<char> Bytes::room(BlockPool& pool, std::size_t at_least) {
  const std::size_t capacity = block_ == nullptr ? 0 : block_->capacity;
  if (block_ == nullptr || capacity - end_ < at_least) {
    const std::size_t used = size();
    if (block_ != nullptr && capacity - used >= at_least && begin_ >= used) {
      std::memcpy(block_->data(), data(), used);
    } else {
      // At least doubled, so that bytes are moved a constant number of times each.
      BlockPool::Block* bigger = pool.take(std::max(used + at_least, 2 * used));
      if (used != 0) std::memcpy(bigger->data(), data(), used);
      if (block_ != nullptr) block_->pool->give_back(block_);
      block_ = bigger;
    }
    begin_ = 0;
    end_ = static_cast<std::uint32_t>(used);
  }
  return {block_->data() + end_, block_->capacity - end_};
}

void Bytes::consume(std::size_t n) noexcept {
  begin_ += static_cast<std::uint32_t>(n);
  if (begin_ == end_) clear();
}

void Bytes::truncate(std::size_t size) noexcept {
  end_ = begin_ + static_cast<std::uint32_t>(size);
  if (size == 0) clear();
}

void Bytes::give_back() noexcept {
  block_->pool->give_back(block_);
  block_ = nullptr;
  begin_ = end_ = 0;
}

void Bytes::swap(Bytes& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
}

}  // namespace weir::net
