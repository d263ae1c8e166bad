#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace weir::telemetry {

/// A bounded queue from one thread to one other. Nothing here waits or allocates but the
/// constructor.
template <class T, std::size_t Size>
class Ring {
 public:
  Ring() : slots_(new T[Size]) {}

  /// The writer's next place, to be filled before publish(). Null: full.
  T* reserve() noexcept {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_seen_ == Size) {
      head_seen_ = head_.load(std::memory_order_acquire);
      if (tail - head_seen_ == Size) return nullptr;
    }
    return &slots_[tail % Size];
  }
  void publish() noexcept {
    tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /// The reader's next entry, valid until drop(). Null: empty.
  const T* front() const noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    return head == tail_.load(std::memory_order_acquire) ? nullptr : &slots_[head % Size];
  }
  void drop() noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  std::unique_ptr<T[]> slots_;
  alignas(64) std::atomic<std::size_t> tail_{0};  // the writer's
  std::size_t head_seen_ = 0;                     // the writer's
  alignas(64) std::atomic<std::size_t> head_{0};  // the reader's
};

}  // namespace weir::telemetry
