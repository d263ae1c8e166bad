#pragma once

#include "net/fd.h"
#include "net/reactor.h"
#include "net/socket.h"

namespace weir::net {

/// Receives accepted connections.
class AcceptHandler {
 public:
  /// Non-blocking, TCP_NODELAY; `peer` is unspecified (::) behind a Unix socket.
  virtual void on_accept(Fd fd, const Address& peer) = 0;

 protected:
  ~AcceptHandler() = default;
};

/// Accepts on one listening socket of one worker. Out of descriptors or memory it pauses for 100 ms
/// instead of spinning on a backlog that it cannot take. Not thread-safe.
class Listener final : EventHandler, Timer {
 public:
  Listener(Reactor& reactor, Fd fd, AcceptHandler& handler) noexcept;
  ~Listener();

  Result<void> start() noexcept;
  /// Accepts the connections that wait in the kernel, at most kBacklog, then closes.
  void stop();

 private:
  void on_events(std::uint32_t events) override;
  void on_timer(TimePoint now) override;
  bool accept_some(int at_most);  // false: nothing left to accept
  void close() noexcept;

  Reactor& reactor_;
  Fd fd_;
  AcceptHandler& handler_;
};

}  // namespace weir::net
