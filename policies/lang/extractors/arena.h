#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weir::policies {

/// Scratch memory of one evaluation: bumps a pointer, forgets everything in O(1), keeps its blocks.
/// So it allocates only until it has seen its largest request. Bounded: beyond kMax bytes in one
/// evaluation it gives null, and the expression that asked fails. The result does not depend on the
/// blocks that earlier evaluations have left. Not thread-safe.
class Arena {
 public:
  static constexpr std::size_t kMax = std::size_t{4} << 20;

  void reset() noexcept { block_ = 0, used_ = 0, given_ = 0, was_full_ = false; }
  /// Aligned to 8; null when full.
  char* allocate(std::size_t bytes);
  /// Gives back the tail of the newest allocation, which was `bytes` long.
  void shrink(std::size_t bytes, std::size_t kept) noexcept;
  template <class T>
  T* make(const T& value) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
    char* at = allocate(sizeof(T));
    return at == nullptr ? nullptr : new (at) T(value);
  }
  std::size_t capacity() const noexcept { return capacity_; }
  /// Whether something has got no room since reset().
  bool was_full() const noexcept { return was_full_; }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size;
  };
  char* refuse() noexcept {
    was_full_ = true;
    return nullptr;
  }

  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0, capacity_ = 0;
  std::size_t given_ = 0;  // since reset()
  bool was_full_ = false;
};

}  // namespace weir::policies
