#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gate/judge.h"
#include "proxy/tunnel.h"

namespace weir::proxy {

/// One downstream connection and the request that is under way on it: a plain state machine.
///
///     reading_head -> [reading_body] -> judge -> exchanging -> reading_head ...
///                                         |  \-> held, parked -> exchanging
///                                         \-> local answer -> [draining] -> reading_head
///     exchanging -> tunnelling (101);  any -> closing -> lingering -> closed
///
/// It is built in layers, each in a header of its own: Downstream (the client's socket), Exchange
/// (the app's half), Tunnel (after a 101), and this one, which knows the states and judges.
///
/// Reads go to the worker's scratch buffer; the session keeps bytes only while a head or a judged
/// body is incomplete, while its request waits, while a write was short, or while a request may
/// have to be sent again. Lives on one worker, in its pool of sessions; not thread-safe.
class Session final : public Tunnel, gate::Waiter {
 public:
  explicit Session(Context& context) noexcept : Tunnel(context) {}

  /// `counted`: it has a place of its address in the connection budget; close() gives it back.
  void open(net::Fd fd, const Address& peer, bool counted);
  /// Goes on after resume(); for the end of a turn.
  void run_resumed();
  /// No further request is accepted: closes the connection if no request is in progress.
  void stop_if_idle();
  void abort();  ///< at the drain's deadline: whatever is under way is cut

  /// Between two requests, with nothing on its way either way.
  bool is_idle() const noexcept;
  using Timer::deadline;  ///< while it is idle: the lowest has been idle for longest
  /// Closes it if it is idle, and its next request is not there yet. False: it is not closed.
  bool recycle();

  // For make_room():
  std::size_t held_bytes() const noexcept;
  int eviction_rank() const noexcept;  ///< the lowest goes first
  TimePoint time() const noexcept { return time_; }
  void evict();
  Session* next_open() const noexcept { return next_open_; }

 private:
  friend class Server;

  // session.cc: the connection
  void on_events(std::uint32_t events) override;
  void take_events(std::uint32_t events);
  int reads_ahead() const noexcept override;
  void on_timer(TimePoint now) override;
  void take_timer();
  void resume(TimePoint now) override;
  void advance() override;
  void client_ended() override;
  void client_gone() override;
  void stall_over() override;
  void next_request() override;
  void begin_close() override;
  void finish_close();
  void discard_input();
  void close() override;
  void out_of_memory() noexcept override;

  // judging.cc: from the head to the effect
  bool read_head();
  std::size_t take_requests(std::span<char> input);
  std::size_t on_head(std::span<char> input);
  bool read_body();
  bool judge_kept(bool may_wait);
  bool want_body(Request& request, std::span<char> input);
  std::size_t judge(Request& request, std::span<char> input, bool may_wait);
  std::size_t hold(const gate::Decision& decision);
  void release_held(bool client_left);
  void refuse(net::HttpRefusal refusal) override;
  void reply_problem(int status, std::string_view lines = {}) override;
  void reply(LocalAnswer answer);
  void begin_draining() override;
  bool drain_body();
  void expect_body(std::size_t received) noexcept;

  std::uint32_t drained_ = 0;
  net::HeadProgress progress_in_;
  TimePoint time_{};  // of the request
  Session* next_resumed_ = nullptr;
  Session* previous_open_ = nullptr;
  Session* next_open_ = nullptr;  // also links retired and free sessions
};

// The promise of docs/architecture.md: an idle connection is one small object.
static_assert(sizeof(Session) <= 528);

}  // namespace weir::proxy
