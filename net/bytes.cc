#include "net/bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace weir::net {

std::size_t BlockPool::index_of(std::size_t capacity) noexcept {
  return static_cast<std::size_t>(std::countr_zero(capacity / kSmallest));
}

BlockPool::~BlockPool() {
  for (Class& c : classes_) {
    while (c.first != nullptr) {
      Free* block = c.first;
      c.first = block->next;
      ::operator delete(block);
    }
  }
}

BlockPool::Block BlockPool::take(std::size_t at_least) {
  const std::size_t capacity = std::bit_ceil(std::max(at_least, kSmallest));
  Class& c = classes_.at(index_of(capacity));
  if (c.first == nullptr) return {static_cast<char*>(::operator new(capacity)), capacity};
  Free* block = c.first;
  c.first = block->next;
  c.bytes -= capacity;
  return {reinterpret_cast<char*>(block), capacity};
}

void BlockPool::give_back(Block block) noexcept {
  if (block.data == nullptr) return;
  Class& c = classes_[index_of(block.capacity)];
  if (c.bytes + block.capacity > kKeepBytes) {
    ::operator delete(block.data);
    return;
  }
  c.first = ::new (block.data) Free{c.first};
  c.bytes += block.capacity;
}

void Bytes::append(BlockPool& pool, std::string_view bytes) {
  if (bytes.empty()) return;
  const std::span<char> to = room(pool, bytes.size());
  std::memcpy(to.data(), bytes.data(), bytes.size());
  end_ += bytes.size();
}

std::span<char> Bytes::room(BlockPool& pool, std::size_t at_least) {
  if (block_.capacity - end_ < at_least) {
    const std::size_t used = size();
    if (block_.capacity - used >= at_least && begin_ >= used) {
      std::memcpy(block_.data, block_.data + begin_, used);
    } else {
      // At least doubled, so that bytes are moved a constant number of times each.
      BlockPool::Block bigger = pool.take(std::max(used + at_least, 2 * used));
      if (used != 0) std::memcpy(bigger.data, block_.data + begin_, used);
      if (pool_ != nullptr) pool_->give_back(block_);
      block_ = bigger;
      pool_ = &pool;
    }
    begin_ = 0;
    end_ = used;
  }
  return {block_.data + end_, block_.capacity - end_};
}

void Bytes::consume(std::size_t n) noexcept {
  begin_ += n;
  if (begin_ == end_) clear();
}

void Bytes::truncate(std::size_t size) noexcept {
  end_ = begin_ + size;
  if (size == 0) clear();
}

void Bytes::clear() noexcept {
  if (pool_ != nullptr) pool_->give_back(block_);
  pool_ = nullptr;
  block_ = {};
  begin_ = end_ = 0;
}

void Bytes::swap(Bytes& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(block_, other.block_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
}

}  // namespace weir::net
