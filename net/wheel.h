#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/clock.h"

namespace weir::net {

/// Something with a deadline. Embed it by inheritance; it unlinks itself when destroyed.
class Timer {
 public:
  Timer() noexcept = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// The deadline has passed (never early, at most one tick late). The timer is disarmed; it may be
  /// armed again, and any timer of the wheel may be armed, disarmed or destroyed from here.
  virtual void on_timer(TimePoint now) = 0;

  bool armed() const noexcept { return deadline_ != kNever; }
  TimePoint deadline() const noexcept { return deadline_; }

 protected:
  ~Timer() { unlink(); }

 private:
  friend class Wheel;
  static constexpr TimePoint kNever = TimePoint::max();
  bool linked() const noexcept { return next_ != nullptr; }
  void unlink() noexcept;

  Timer* previous_ = nullptr;
  Timer* next_ = nullptr;
  TimePoint deadline_ = kNever;
  std::int64_t tick_ = 0;  // where it is linked: never later than the deadline
};

/// A coarse timer wheel: 1024 slots of 8 ms. Re-arming to a later time is one store: the timer
/// stays where it is linked and is looked at again when that slot comes (Varghese and Lauck's
/// scheme 6, lazy). A wheel with nothing linked has no next(): its owner sleeps. Not thread-safe.
class Wheel {
 public:
  static constexpr milliseconds kTick{8};

  explicit Wheel(TimePoint now) noexcept;
  ~Wheel();
  Wheel(const Wheel&) = delete;
  Wheel& operator=(const Wheel&) = delete;

  void arm(Timer& timer, TimePoint deadline) noexcept;
  /// Lazy: the timer stays linked until its slot comes, and then nothing happens.
  static void disarm(Timer& timer) noexcept { timer.deadline_ = Timer::kNever; }
  /// Calls on_timer of everything whose deadline is at or before now.
  void advance(TimePoint now);
  /// When advance() has something to look at; nullopt: never.
  std::optional<TimePoint> next() const noexcept;

 private:
  static constexpr std::int64_t kSlots = 1024;
  // The head of a circular list; a Timer cannot be one, being abstract.
  struct Slot final : Timer {
    void on_timer(TimePoint) override {}
  };

  void link(Timer& timer, std::int64_t tick) noexcept;
  void run_slot(Slot& slot, TimePoint now);
  void set_bit(std::int64_t slot) noexcept { occupied_[word(slot)] |= bit(slot); }
  void clear_bit(std::int64_t slot) noexcept { occupied_[word(slot)] &= ~bit(slot); }
  static std::size_t word(std::int64_t slot) noexcept {
    return static_cast<std::size_t>(slot) / 64;
  }
  static std::uint64_t bit(std::int64_t slot) noexcept { return std::uint64_t{1} << (slot % 64); }

  std::int64_t current_;  // ticks up to and including this one have run
  std::array<std::uint64_t, kSlots / 64> occupied_{};  // a set bit may belong to an empty slot
  std::array<Slot, kSlots> slots_;
};

}  // namespace weir::net
