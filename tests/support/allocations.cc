#include "tests/support/allocations.h"

#include <cstdlib>
#include <limits>
#include <new>

namespace {
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

thread_local std::size_t count = 0;
thread_local std::size_t fails_at = kNever;

void* counted(std::size_t size) {
  if (count++ == fails_at) throw std::bad_alloc();
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
}  // namespace

namespace weir::test {

std::size_t allocations() noexcept { return count; }

FailingAllocation::FailingAllocation(std::size_t n) noexcept : at_(count + n) { fails_at = at_; }
FailingAllocation::~FailingAllocation() { fails_at = kNever; }
bool FailingAllocation::has_failed() const noexcept { return count > at_; }

}  // namespace weir::test

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
// The sanitizers' own nothrow forms would not come back to the two above.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (count++ == fails_at) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
