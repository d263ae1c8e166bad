#pragma once

#include <cstddef>
#include <vector>

namespace weir::store {

/// A queue in a circle that grows and never shrinks: no allocation once it has been as long as it
/// gets. T is a plain value.
template <class T>
class Ring {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  T& front() noexcept { return items_[first_]; }
  T& operator[](std::size_t i) noexcept { return items_[(first_ + i) & (items_.size() - 1)]; }
  void push(const T& item) {
    if (size_ == items_.size()) grow();
    items_[(first_ + size_++) & (items_.size() - 1)] = item;
  }
  T pop() noexcept {
    const T item = items_[first_];
    first_ = (first_ + 1) & (items_.size() - 1);
    --size_;
    return item;
  }
  void clear() noexcept { first_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 64 : items_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    items_.swap(larger);
    first_ = 0;
  }
  std::vector<T> items_;
  std::size_t first_ = 0, size_ = 0;
};

}  // namespace weir::store
