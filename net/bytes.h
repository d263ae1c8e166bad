#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weir::net {

/// Blocks of 1 KiB, 2 KiB, 4 KiB ... for the bytes that a connection must keep: an incomplete head,
/// the rest of a short write. Freed blocks are kept for the next taker, up to a bound per size;
/// after warm-up nothing is allocated. Taken and kept blocks together never exceed limit(). From
/// high_water() on, a taker must make room (see is_short()). One per worker; not thread-safe.
class BlockPool {
 public:
  /// The head of a block; `capacity` bytes follow it.
  struct Block {
    BlockPool* pool;
    std::uint32_t capacity;
    char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  };

  /// A user that keeps freed memory elsewhere, of which limit() is the limit as well.
  class Keeper {
   public:
    /// Gives the kept memory back to the system, and reports it by dropped().
    virtual void trim() noexcept = 0;

   protected:
    ~Keeper() = default;
  };

  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// This pool is a share of `whole`, which must outlive it: its blocks are blocks of `whole` and
  /// count against the limits of both, and `whole` keeps those that are freed. Before the first
  /// take(); no keeper and no charge() here.
  void draw_on(BlockPool& whole) noexcept { whole_ = &whole; }
  /// Sets the limit of the memory of all blocks, in bytes. Default: no limit.
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t high_water() const noexcept { return limit_ - limit_ / 8; }
  std::size_t low_water() const noexcept { return limit_ - limit_ / 4; }
  std::size_t in_use() const noexcept { return in_use_; }
  /// More is in use than should be: other users should give blocks back before more are taken.
  bool is_short() const noexcept { return in_use_ > high_water(); }

  /// At most 1 GiB. Throws std::bad_alloc over the limit.
  Block* take(std::size_t at_least);
  void give_back(Block* block) noexcept;
  void trim() noexcept;  ///< returns the kept blocks to the system

  /// Counts bytes that a caller keeps elsewhere as in use here. False: over the limit.
  bool charge(std::size_t bytes) noexcept;
  void discharge(std::size_t bytes) noexcept { in_use_ -= bytes; }

  /// One for each pool. Null: there is none.
  void set_keeper(Keeper* keeper) noexcept { keeper_ = keeper; }
  /// The keeper keeps bytes that were charged; uses kept ones, which are charged then; drops them.
  void kept(std::size_t bytes) noexcept {
    in_use_ -= bytes;
    kept_ += bytes;
  }
  void reused(std::size_t bytes) noexcept {
    kept_ -= bytes;
    in_use_ += bytes;
  }
  void dropped(std::size_t bytes) noexcept { kept_ -= bytes; }

 private:
  static constexpr std::size_t kClasses = 22;
  static constexpr std::size_t kSmallest = 1024;
  static constexpr std::size_t kKeepBytes = std::size_t{2} << 20;  // per class

  struct Free {
    Free* next;
  };
  struct Class {
    Free* first = nullptr;
    std::size_t bytes = 0;
  };
  std::array<Class, kClasses> classes_{};
  std::size_t limit_ = std::size_t{1} << 62;
  std::size_t in_use_ = 0;
  std::size_t kept_ = 0;  // also by the keeper
  Keeper* keeper_ = nullptr;
  BlockPool* whole_ = nullptr;
};

/// A queue of bytes in one block: filled at the end, read at the front; holds no block while empty.
/// 16 bytes, because every connection has some.
class Bytes {
 public:
  Bytes() noexcept = default;
  ~Bytes() { clear(); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  Bytes(Bytes&& other) noexcept { swap(other); }
  Bytes& operator=(Bytes&& other) noexcept {
    if (this != &other) {
      clear();
      swap(other);
    }
    return *this;
  }

  bool empty() const noexcept { return begin_ == end_; }
  std::size_t size() const noexcept { return end_ - begin_; }
  std::size_t held() const noexcept {
    return block_ == nullptr ? 0 : block_->capacity;
  }  ///< of the pool
  char* data() noexcept { return block_ == nullptr ? nullptr : block_->data() + begin_; }
  std::string_view view() const noexcept {
    return block_ == nullptr ? std::string_view{}
                             : std::string_view{block_->data() + begin_, size()};
  }

  void append(BlockPool& pool, std::string_view bytes) {
    if (!bytes.empty()) append_some(pool, bytes);
  }
  /// Room after the bytes for at least `at_least`; fill it and call added(). Views become invalid.
  std::span<char> room(BlockPool& pool, std::size_t at_least);
  void added(std::size_t n) noexcept { end_ += static_cast<std::uint32_t>(n); }
  void consume(std::size_t n) noexcept;      ///< from the front; the last byte gives the block back
  void truncate(std::size_t size) noexcept;  ///< from the end
  void clear() noexcept {                    ///< gives the block back
    if (block_ != nullptr) give_back();
  }

 private:
  void append_some(BlockPool& pool, std::string_view bytes);
  void give_back() noexcept;
  void swap(Bytes& other) noexcept;

  BlockPool::Block* block_ = nullptr;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace weir::net
