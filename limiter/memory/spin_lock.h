#pragma once

#include <atomic>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::limiter {

/// A lock for some hundred instructions. Four bytes, no queue: a waiting thread reads its own
/// cached copy, and yields its core when the holder seems to have lost its own (more threads than
/// cores).
class SpinLock {
 public:
  [[gnu::always_inline]] void lock() noexcept {
    if (held_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
      wait();
  }
  void unlock() noexcept { held_.store(0, std::memory_order_release); }

 private:
  static constexpr unsigned kSpins = 128;
  [[gnu::noinline]] void wait() noexcept {
    unsigned tries = 0;
    do {
      while (held_.load(std::memory_order_relaxed) != 0) {
        if (++tries % kSpins == 0) {
          std::this_thread::yield();
        } else {
          pause();
        }
      }
    } while (held_.exchange(1, std::memory_order_acquire) != 0);
  }
  static void pause() noexcept {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }
  std::atomic<unsigned> held_{0};
};

}  // namespace weir::limiter
