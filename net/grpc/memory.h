#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "net/bytes.h"

namespace weir::net::grpc {

/// Memory for libnghttp2's connections and streams: pieces of 64 B, 128 B ... 64 KiB. Freed pieces
/// are kept for the next use, so that calls allocate nothing after warm-up. Pieces count as bytes
/// of the worker's BlockPool, used or kept, and so are a part of limits.buffers: when the pool
/// needs room, kept pieces go back to the system. One per worker; not thread-safe.
class Memory final : BlockPool::Keeper {
 public:
  /// The account of one connection; must outlive its session.
  struct Account {
    Memory* memory = nullptr;
    std::size_t held = 0;  ///< bytes
  };

  explicit Memory(BlockPool& blocks) noexcept : blocks_(blocks) { blocks_.set_keeper(this); }
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// For nghttp2_session_server_new3. A request that the budget does not grant fails, and with it
  /// the session that made it.
  static nghttp2_mem hooks(Account& account) noexcept;

  std::size_t lent() const noexcept { return lent_; }  ///< bytes

 private:
  struct Piece;
  struct Free {
    Free* next;
  };
  static constexpr std::size_t kSmallest = 64;
  static constexpr std::size_t kClasses = 11;
  static constexpr std::size_t kKeepBytes = std::size_t{256} << 10;  // per class

  void trim() noexcept override;
  static void* take(std::size_t bytes, void* account) noexcept;
  static void* take_zeroed(std::size_t count, std::size_t size, void* account) noexcept;
  static void* resize(void* at, std::size_t bytes, void* account) noexcept;
  static void give_back(void* at, void* account) noexcept;

  BlockPool& blocks_;
  std::array<Free*, kClasses> free_{};
  std::array<std::size_t, kClasses> kept_{};  // bytes
  std::size_t lent_ = 0;
};

}  // namespace weir::net::grpc
