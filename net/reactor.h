#pragma once

#include <sys/epoll.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <memory>
#include <span>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "net/fd.h"
#include "net/outbox.h"
#include "net/socket.h"
#include "net/wheel.h"

namespace weir::net {

/// The owner of a registered descriptor.
class EventHandler {
 public:
  /// `events` as epoll(7) reports them. Edge-triggered: remember events that you do not use now.
  virtual void on_events(std::uint32_t events) = 0;
  /// Asked before any event of a batch is delivered, if this one's says EPOLLIN: the descriptor, if
  /// its event will make it read (Reactor::receive) and nothing else of the batch can make it read
  /// or keep it from reading but by closing it; else -1.
  virtual int reads_ahead() const noexcept { return -1; }

 protected:
  ~EventHandler() = default;

 private:
  friend class Reactor;
  EventHandler* next_ = nullptr;  // among those that continue later
  std::uint32_t asked_in_ = 0;    // the last turn in which it asked to, cut to 32 bits
  bool goes_on_ = false;          // it is among them
};

/// Runs at the end of a turn of the loop: batched work, retired objects, resumed sessions.
class TurnHook {
 public:
  virtual void end_of_turn(TimePoint now) = 0;

 protected:
  ~TurnHook() = default;
};

/// A private edge-triggered epoll nested in an Asio io_context. Asio waits for the epoll descriptor
/// as a whole and re-arms only that, once a turn; every socket is registered once and never
/// re-armed. (Asio's own sockets try every read at once: 1.8 failed recv per proxied request.) One
/// turn: read the clock, deliver up to 256 events, run due timers, run the hooks. Not thread-safe.
///
/// Long streams take turns: one that has used up its share waits for the next round (go_on_later),
/// behind all other events, so that small requests wait for a share of each, not for the streams.
///
/// Events are delivered in batches, step by step: first everything is received, then handled, then
/// sent. A request runs through more code than the first-level instruction cache holds, most of it
/// the kernel's; so each step of all requests finds its code there, from the second one on.
class Reactor {
 public:
  explicit Reactor(
      boost::asio::io_context& io);  ///< throws where the kernel has no descriptors left
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  void start();  ///< arms the wait; from then on the io_context drives it
  /// After an exception of the io_context: arms the wait unless it is armed. Throws std::bad_alloc.
  void go_on_waiting();
  void stop();  ///< cancels the wait; the io_context may run out of work

  /// `events` without EPOLLET is level-triggered. Closing the descriptor removes it (if it is not
  /// shared). The handler may still get events of the current batch after that: it must live until
  /// the turn ends (see TurnHook) and ignore what comes for a closed descriptor.
  Result<void> add(int fd, std::uint32_t events, EventHandler& handler) noexcept;
  void modify(int fd, std::uint32_t events, EventHandler& handler) noexcept;
  void remove(int fd) noexcept;

  TimePoint now() const noexcept { return now_; }           ///< read once a turn
  FineTime fine_now() const noexcept { return fine_now_; }  ///< the same moment
  std::uint64_t turn() const noexcept { return turn_; }
  Wheel& wheel() noexcept { return wheel_; }
  void add_hook(TurnHook& hook) { hooks_.push_back(&hook); }
  void remove_hook(TurnHook& hook);

  /// Where a handler is to read into: where what was read ahead for it lies, else `otherwise`.
  std::span<char> room_for(const EventHandler& reader, std::span<char> otherwise) const noexcept {
    return is_ahead_of(reader) ? ahead_->room() : otherwise;
  }
  /// net::receive, or the bytes that were read ahead; `into` is the result of room_for().
  IoResult receive(const EventHandler& reader, int fd, std::span<char> into) noexcept;
  /// Bytes were received ahead for this handler, and its event of this batch has yet to come: the
  /// socket does not show them any more.
  bool has_received(const EventHandler& reader) const noexcept;
  /// Gives this handler an event without a flag in the next round, after those that epoll has: for
  /// a handler that has used up its share of a turn and still has data to read. It must live
  /// until then, and be able to ignore it.
  void go_on_later(EventHandler& handler) noexcept;
  /// For output while events are handled.
  Outbox& outbox() noexcept { return outbox_; }

  /// Wraps work that does not come through epoll (something posted to the io_context).
  void begin_turn() noexcept;
  void end_turn();

 private:
  static constexpr int kEvents = 256;
  static constexpr std::size_t kBatch = 32;  ///< the received bytes of a batch stay in the L2 cache

  /// Bytes that were received for a handler before the delivery of its event.
  struct Ahead {
    const EventHandler* reader = nullptr;  ///< null: nothing, or taken
    IoResult result;
    std::array<char, 8 << 10> bytes;
    std::span<char> room() noexcept { return bytes; }
  };

  void wait();
  void drain();
  void run_rounds();
  void deliver(std::span<const epoll_event> batch);
  void go_on();
  bool is_ahead_of(const EventHandler& reader) const noexcept {
    return ahead_ != nullptr && ahead_->reader == &reader;
  }
  void set_alarm() noexcept;

  boost::asio::io_context& io_;
  Clock clock_;
  FineTime fine_now_;
  TimePoint now_;
  std::uint64_t turn_ = 1;
  Wheel wheel_;
  Fd epoll_;
  Fd alarm_;  // a timerfd: the wheel's next slot; unset while nothing is armed
  TimePoint alarm_at_ = TimePoint::max();
  bool running_ = false;
  bool waiting_ = false;  // something of the io_context will call drain()
  bool in_round_ = false;
  std::vector<TurnHook*> hooks_;
  EventHandler* going_on_ = nullptr;  ///< the first of those that continue later
  EventHandler** going_on_end_ = &going_on_;
  Outbox outbox_;
  std::unique_ptr<std::array<Ahead, kBatch>> received_;
  std::size_t received_size_ = 0;  ///< of the batch that is being delivered
  Ahead* ahead_ = nullptr;         ///< of the event that is being delivered
  boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> descriptor_;
  std::array<epoll_event, kEvents> events_;
};

}  // namespace weir::net
