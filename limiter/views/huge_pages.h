#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace weir::limiter {

/// An allocator for tables that are read at random places: large tables ask for huge pages, because
/// a miss of the TLB costs as much as the line itself. The answer of the kernel does not matter.
template <class T>
struct HugePages {
  using value_type = T;
  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) noexcept {}  // NOLINT(google-explicit-constructor)

  static constexpr std::size_t kPage = std::size_t{2} << 20;
  static constexpr std::size_t kLarge = 2 * kPage;

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLarge) return std::allocator<T>().allocate(count);
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = std::aligned_alloc(kPage, whole);
    if (memory == nullptr) throw std::bad_alloc();
    ::madvise(memory, whole, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    if (count * sizeof(T) < kLarge) {
      std::allocator<T>().deallocate(memory, count);
    } else {
      std::free(memory);
    }
  }
  friend bool operator==(const HugePages&, const HugePages&) noexcept { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace weir::limiter
