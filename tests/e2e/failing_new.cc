// A library to be preloaded (LD_PRELOAD): the n-th allocation of one thread of a process fails, as
// operator new does when there is no memory. FAILING_NEW names a file of `Orders`, which the test
// writes while the process runs. test_allocations.py says what must hold then.
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

struct Orders {
  char thread[16];  ///< by pthread_setname_np(3); the main thread's is the program's
  std::atomic<std::int64_t> armed;   ///< 1: allocations of that thread are counted
  std::atomic<std::int64_t> wanted;  ///< which of them fails, from 0 on
  std::atomic<std::int64_t> seen;    ///< since it was armed
  std::atomic<std::int64_t> failed;
  std::atomic<std::int64_t> trace;  ///< 1: where it was goes to stderr
};

Orders* open_orders() noexcept {
  const char* const path = std::getenv("FAILING_NEW");
  const int fd = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const at = ::mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<Orders*>(at);
}

Orders* const orders = open_orders();

bool must_fail() noexcept {
  if (orders == nullptr || orders->armed.load(std::memory_order_acquire) == 0) return false;
  char name[16] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  if (std::strncmp(name, orders->thread, sizeof name) != 0) return false;
  if (orders->seen.fetch_add(1) != orders->wanted.load()) return false;
  orders->failed.fetch_add(1);
  if (orders->trace.load() != 0) {
    void* frames[40];
    ::backtrace_symbols_fd(frames, ::backtrace(frames, 40), STDERR_FILENO);
  }
  return true;
}

void* take(std::size_t size, std::size_t alignment) noexcept {
  if (must_fail()) return nullptr;
  if (alignment == 0) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* take_or_throw(std::size_t size, std::size_t alignment) {
  void* const out = take(size, alignment);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

}  // namespace

void* operator new(std::size_t size) { return take_or_throw(size, 0); }
void* operator new[](std::size_t size) { return take_or_throw(size, 0); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size, 0); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return take(size, 0); }
void* operator new(std::size_t size, std::align_val_t a) {
  return take_or_throw(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return take_or_throw(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
