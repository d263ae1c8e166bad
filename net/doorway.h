#pragma once

#include <functional>
#include <list>
#include <utility>

#include "core/result.h"
#include "net/listener.h"
#include "net/worker_pool.h"

namespace weir::net {

/// Where the clients of one server on one worker come in, and how the server ends: it accepts no
/// more, its connections end, and those that do not are cut. For the worker's thread, or before it
/// runs; worker and handler must outlive it.
class Doorway final : Timer {
 public:
  /// `cut` ends every connection.
  Doorway(Worker& worker, AcceptHandler& handler, std::function<void()> cut)
      : worker_(worker), handler_(handler), cut_(std::move(cut)) {}

  /// Accepts on a socket of open_listeners().
  Result<void> listen(Fd fd);
  /// Accepts the connections that wait in the kernel, and closes the listeners.
  void stop_accepting();
  /// After that: calls `stopped` once no connection is left, at the latest at `deadline`, when the
  /// rest is cut.
  void finish_by(TimePoint deadline, std::function<void()> stopped);
  void end_of_turn(std::size_t open_connections);
  /// Whether it listens.
  bool is_open() const noexcept { return !listeners_.empty(); }

 private:
  void on_timer(TimePoint /*now*/) override { cut_(); }

  Worker& worker_;
  AcceptHandler& handler_;
  const std::function<void()> cut_;
  std::list<Listener> listeners_;
  std::function<void()> stopped_;
};

}  // namespace weir::net
