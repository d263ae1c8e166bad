#pragma once

#include <cstdint>
#include <queue>
#include <vector>

namespace weir::load {

/// Nanoseconds of CLOCK_MONOTONIC.
using Nanos = std::int64_t;
Nanos now_nanos() noexcept;

/// The one loop: level-triggered epoll and a heap of timers. One thread; owns no descriptor but its
/// own.
class Reactor {
 public:
  class Handler {
   public:
    virtual void on_ready(std::uint32_t events) = 0;  ///< EPOLLIN, EPOLLOUT, EPOLLHUP, ...
    virtual void on_timer(std::uint64_t token) { (void)token; }

   protected:
    ~Handler() = default;
  };

  Reactor();
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  void add(int fd, Handler& handler, std::uint32_t events);
  void modify(int fd, Handler& handler, std::uint32_t events);
  /// on_timer(token) once `when` has come. Timers cannot be taken back: the token carries a
  /// generation.
  void at(Nanos when, Handler& handler, std::uint64_t token);
  /// Waits until something is ready, a timer is due or `until` has come, and handles it. A signal
  /// ends the wait early.
  void turn(Nanos until);

 private:
  struct Timer {
    Nanos when;
    std::uint64_t order;  // timers of one instant fire in the order they were set
    Handler* handler;
    std::uint64_t token;
    bool operator<(const Timer& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  int fd_;
  std::uint64_t order_ = 0;
  std::priority_queue<Timer> timers_;
};

}  // namespace weir::load
