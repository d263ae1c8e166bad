#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "core/address.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/number.h"
#include "limiter/lists/lists.h"
#include "policies/set/actions.h"

/// What workers tell the control thread, as values of fixed size: a worker copies, and never waits.
namespace weir::app {

/// Text cut to N bytes.
template <std::size_t N>
class ShortText {
 public:
  ShortText& operator=(std::string_view text) noexcept {
    size_ = static_cast<std::uint16_t>(std::min(text.size(), N));
    if (size_ != 0) std::memcpy(bytes_.data(), text.data(), size_);  // an empty view may be null
    return *this;
  }
  void clear() noexcept { size_ = 0; }
  std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  static_assert(N < 65536);
  std::uint16_t size_ = 0;
  std::array<char, N> bytes_;
};

/// A verdict, or a key that a rung has put on a list (or would notify of).
struct News {
  enum class Kind : std::uint8_t { verdict, listed };
  Kind kind = Kind::verdict;
  policies::Action effect = policies::Action::none;
  bool shadow = false;
  bool created = false;  ///< listed: a new entry
  bool list = false;     ///< verdict: `decider` is a list; listed: `list_name` is one
  std::uint16_t status = 0;
  TimePoint time{};
  TimePoint until{};  ///< epoch: not known
  milliseconds window{0};
  Number value;
  std::optional<Number> limit;
  Address client;
  ShortText<16> method;
  ShortText<200> path;
  ShortText<64> event;          ///< verdict: of one that did not come as a request; else empty
  ShortText<64> decider;        ///< policy or list
  ShortText<64> list_name;      ///< listed
  ShortText<64> notify;         ///< listed: empty: nobody asked
  ShortText<160> key;           ///< listed: printable parts
  ShortText<64> field;          ///< verdict: what of the request could not be read
  ShortText<48> why;            ///< and why
  limiter::ListId shared_list;  ///< listed: if replicas share it; then also `hash`
  Hash128 hash;                 ///< of the key, in that list
};

/// A bounded queue from one thread to one other. push and pop never wait and never allocate.
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

}  // namespace weir::app
