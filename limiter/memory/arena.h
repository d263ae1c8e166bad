#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "limiter/memory/spin_lock.h"

namespace weir::limiter {

/// Zeroed memory from the kernel, which comes page by page when it is first touched.
class Mapping {
 public:
  Mapping() noexcept = default;
  explicit Mapping(std::size_t bytes);  ///< throws std::bad_alloc
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  /// Lets the kernel back it with 2 MiB pages. Not at the start: the first key would cost 2 MiB.
  void advise_huge() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Blocks of 64 B << order in one mapping of fixed size: a buddy allocator (Knowlton, 1965). It
/// splits and joins in at most kOrders steps, so no call has a long tail, and freed blocks join
/// again. A side table of one byte per 64 bytes says which free blocks begin there. Thread-safe,
/// noexcept; no system calls.
class Arena {
 public:
  static constexpr std::size_t kGranule = 64;
  static constexpr unsigned kOrders = 16;  ///< up to 2 MiB

  /// `bytes` counts the side table too; may be 0.
  explicit Arena(std::size_t bytes);

  /// A block of 64 << order bytes, with anything in it; 0 if there is none.
  std::uint32_t allocate(unsigned order) noexcept;
  void free(std::uint32_t block, unsigned order) noexcept;
  std::byte* at(std::uint32_t block) const noexcept {
    return memory_.data() + (std::size_t{block} - 1) * kGranule;
  }
  static constexpr std::size_t bytes_of(unsigned order) noexcept { return kGranule << order; }
  static unsigned order_for(std::size_t bytes) noexcept;

  /// Reserves bytes of the limit for memory outside of the arena. False: they are in use.
  bool withhold(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept;
  void advise_huge() noexcept { memory_.advise_huge(); }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  unsigned largest_order() const noexcept { return top_; }

 private:
  struct Links {  // in the first bytes of a free block
    std::uint32_t next, previous;
  };
  Links& links(std::uint32_t block) const noexcept;
  void push(std::uint32_t block, unsigned order) noexcept;
  void remove(std::uint32_t block, unsigned order) noexcept;
  bool carve() noexcept;

  unsigned top_;
  std::size_t limit_;       // bytes that may be carved
  std::size_t carved_ = 0;  // bytes at the front that were ever in use
  std::size_t withheld_ = 0;
  SpinLock lock_;
  std::array<std::uint32_t, kOrders> heads_{};
  std::atomic<std::size_t> used_{0};
  Mapping memory_;
  Mapping free_order_;  // per granule: 0, or 1 + order of the free block that begins here
};

}  // namespace weir::limiter
