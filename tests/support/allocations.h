#pragma once

#include <cstddef>

namespace weir::test {

/// Calls of operator new on this thread since the program began. Linking this replaces the
/// operators.
std::size_t allocations() noexcept;

/// While it lives, one call of operator new on this thread fails: the n-th from now on, from 0.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::size_t n) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether there have been so many calls.
  bool has_failed() const noexcept;

 private:
  std::size_t at_;
};

}  // namespace weir::test
