#pragma once

#include <cstdint>

#include "core/clock.h"

namespace weir::store {

/// Waits that double from `first` to `most`, each shortened at random by up to a half, so that
/// replicas which lost the same server do not come back together. Deterministic by its seed.
class Backoff {
 public:
  Backoff(milliseconds first, milliseconds most, std::uint64_t seed) noexcept
      : first_(first), most_(most), next_(first), random_(seed | 1U) {}
  milliseconds next() noexcept;
  void reset() noexcept { next_ = first_; }

 private:
  milliseconds first_, most_, next_;
  std::uint64_t random_;
};

/// Keeps a slow or silent node from costing every request its budget: after kFailures late
/// operations in a row, only a probe is sent now and then, until one returns in time. Time is an
/// argument. Not thread-safe.
class Breaker {
 public:
  /// closed: calls go to the server; open: they fail at once; half_open: a probe is under way.
  enum class State : std::uint8_t { closed, open, half_open };
  static constexpr int kFailures = 8;

  Breaker(milliseconds budget, std::uint64_t seed) noexcept
      : budget_(budget), backoff_(milliseconds(25), milliseconds(400), seed) {}

  State state() const noexcept { return state_; }
  bool admits() const noexcept { return state_ == State::closed; }
  void succeeded() noexcept { failures_ = 0; }
  void failed(TimePoint now) noexcept;  ///< one operation got no answer in time
  void trip(TimePoint now) noexcept;    ///< the connection is gone
  /// When to send the next probe. Only while open.
  TimePoint probe_at() const noexcept { return probe_at_; }
  void probe_sent(TimePoint now) noexcept;
  /// The probe was answered. Closes if that took no longer than the budget (a tick of the clock
  /// more), else waits for the next probe.
  void probe_answered(TimePoint now) noexcept;
  void close() noexcept;

 private:
  milliseconds budget_;
  Backoff backoff_;
  State state_ = State::open;  // until the first connection is established
  int failures_ = 0;
  TimePoint probe_at_{}, sent_{};
};

/// Decides whether a request waits for another attempt at an operation that the server has refused
/// for now (READONLY, TRYAGAIN, LOADING, BUSY). After kFailures refused repetitions in a row, only
/// one operation now and then waits, until a repetition helps. First attempts are always sent: each
/// costs a round trip and shows the state of the server. Time is an argument. Not thread-safe.
class Repeats {
 public:
  static constexpr int kFailures = 8;

  explicit Repeats(std::uint64_t seed) noexcept
      : backoff_(milliseconds(200), milliseconds(2'000), seed) {}

  /// Whether to repeat now. True while closed, and for one operation whenever the wait is over.
  bool worth(TimePoint now) noexcept;
  void failed(TimePoint now) noexcept;  ///< a repeated operation was refused once more
  void helped() noexcept;               ///< a repeated operation was carried out
  bool open() const noexcept { return failures_ >= kFailures; }

 private:
  Backoff backoff_;
  int failures_ = 0;
  TimePoint again_at_{};  // while open
};

}  // namespace weir::store
