#pragma once

#include <cstdint>

#include "net/connection_list.h"
#include "proxy/intake.h"

namespace weir::proxy {

/// One downstream connection and the request that is under way on it: a plain state machine.
///
///     reading_head -> [reading_body] -> judge -> exchanging -> reading_head ...
///                                         |-> held -> exchanging
///                                         |-> parked -> judge
///                                         \-> local answer -> [draining] -> reading_head
///     exchanging -> tunnelling (101)
///     exchanging -> reading_on (the client has left) -> closed
///     any -> closing -> lingering -> closed
///
/// It is built in layers, each in a header of its own: net::ClientEnd and net::ClientConnection
/// (the client's socket, the requests that come in by it), Downstream (what the proxy notes of
/// them), Exchange (the app's half), Tunnel (after a 101), Intake (from a request's head to its
/// effect), and this one, which knows how each state ends.
///
/// Reads go to the worker's scratch buffer; the session keeps bytes only while a head or a judged
/// body is incomplete, while its request waits, while a write was short, or while a request may
/// have to be sent again. Lives on one worker, in its pool of sessions; not thread-safe.
class Session final : public Intake {
 public:
  explicit Session(Context& context) noexcept : Intake(context) {}

  /// `counted`: it has a place of its address in the connection budget; close() gives it back.
  void open(net::Fd fd, const Address& peer, bool counted);
  /// No further request is accepted: closes the connection if no request is in progress. A
  /// connection that has not sent anything yet has until Settings::silence.
  void stop_if_idle();
  void abort();
  /// At the drain's deadline: stops waiting for the request in progress. True: there was one.
  bool cut_at_drain();

  /// Between two requests or before its first byte, with nothing on its way either way.
  bool is_idle() const noexcept;
  /// It is idle, and has never sent anything.
  bool is_silent() const noexcept { return !served_; }
  TimePoint idle_since() const noexcept;  ///< while it is idle
  /// Closes it if it is idle, and its next request is not there yet. False: it is not closed.
  bool recycle();

  // For make_room():
  std::size_t held_bytes() const noexcept;
  int eviction_rank() const noexcept;  ///< the lowest goes first
  TimePoint time() const noexcept { return time_; }
  void evict();

 private:
  friend net::ConnectionList<Session>;

  bool relay() override;
  /// For a head, from its first byte on.
  milliseconds head_time() const noexcept;
  void take_timer() override;
  void resume(TimePoint now) override;
  void client_ended() override;
  void client_gone() override;
  void expect_by_state() noexcept override;
  void next_request() override;
  void drop_request() override;
  void close() override;
  void out_of_memory() noexcept override;

  net::ConnectionLink<Session> link_;
};

// docs/architecture.md says how much an idle connection costs.
static_assert(sizeof(Session) <= 528);

}  // namespace weir::proxy
