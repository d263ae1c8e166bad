#include "net/grpc/memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace weir::net::grpc {

/// The head of a piece; aligned as malloc's memory is, and so is what follows it.
struct alignas(std::max_align_t) Memory::Piece {
  std::size_t bytes;  // with this head
  static Piece* of(void* at) noexcept { return static_cast<Piece*>(at) - 1; }
};

Memory::~Memory() {
  trim();
  blocks_.set_keeper(nullptr);
}

void Memory::trim() noexcept {
  for (std::size_t i = 0; i < kClasses; ++i) {
    while (free_[i] != nullptr) {
      Free* const piece = free_[i];
      free_[i] = piece->next;
      ::operator delete(piece);
    }
    blocks_.dropped(std::exchange(kept_[i], 0));
  }
}

nghttp2_mem Memory::hooks(Account& account) noexcept {
  return {&account, take, give_back, take_zeroed, resize};
}

void* Memory::take(std::size_t bytes, void* account_of) noexcept {
  Account& account = *static_cast<Account*>(account_of);
  Memory& memory = *account.memory;
  const std::size_t size = std::bit_ceil(std::max(bytes + sizeof(Piece), kSmallest));
  const auto index = static_cast<std::size_t>(std::countr_zero(size / kSmallest));
  void* at = nullptr;
  if (index < kClasses && memory.free_[index] != nullptr) {
    at = memory.free_[index];
    memory.free_[index] = memory.free_[index]->next;
    memory.kept_[index] -= size;
    memory.blocks_.reused(size);
  } else {
    if (!memory.blocks_.charge(size)) return nullptr;
    at = ::operator new(size, std::nothrow);
    if (at == nullptr) {
      memory.blocks_.discharge(size);
      return nullptr;
    }
  }
  memory.lent_ += size;
  account.held += size;
  return ::new (at) Piece{size} + 1;
}

void Memory::give_back(void* at, void* account_of) noexcept {
  if (at == nullptr) return;
  Account& account = *static_cast<Account*>(account_of);
  Memory& memory = *account.memory;
  Piece* const piece = Piece::of(at);
  const std::size_t size = piece->bytes;
  memory.lent_ -= size;
  account.held -= size;
  const auto index = static_cast<std::size_t>(std::countr_zero(size / kSmallest));
  if (index >= kClasses || memory.kept_[index] + size > kKeepBytes) {
    memory.blocks_.discharge(size);
    ::operator delete(piece);
    return;
  }
  memory.blocks_.kept(size);
  memory.free_[index] = ::new (static_cast<void*>(piece)) Free{memory.free_[index]};
  memory.kept_[index] += size;
}

void* Memory::take_zeroed(std::size_t count, std::size_t size, void* account) noexcept {
  if (size != 0 && count > SIZE_MAX / 2 / size) return nullptr;
  void* const at = take(count * size, account);
  if (at != nullptr) std::memset(at, 0, count * size);
  return at;
}

void* Memory::resize(void* at, std::size_t bytes, void* account) noexcept {
  if (at == nullptr) return take(bytes, account);
  const std::size_t room = Piece::of(at)->bytes - sizeof(Piece);
  if (bytes <= room) return at;
  void* const larger = take(bytes, account);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, at, room);
  give_back(at, account);
  return larger;
}

}  // namespace weir::net::grpc
