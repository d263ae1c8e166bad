#pragma once

#include <functional>
#include <memory>
#include <string>

#include "authz/door_context.h"
#include "core/result.h"
#include "net/doorway.h"
#include "net/worker_pool.h"

namespace weir::authz {

/// The doors over HTTP of one worker: proxies ask here about requests. They run in the workers,
/// because a check costs the proxy's users time. A connection whose first request is for something
/// else is handed over at once, so that slow events do not delay checks. When all connections are
/// taken, the one that has been idle for the longest is closed.
///
/// Construct it before the worker runs, after the judge's GateTurn; call everything else on its
/// thread. Settings, judge and cells must outlive it.
class DoorServer final : net::AcceptHandler, net::TurnHook {
 public:
  DoorServer(net::Worker& worker, const DoorSettings& settings, gate::Judge& judge,
             gate::Unsettled& unsettled, telemetry::MetricCells& metrics);
  ~DoorServer();
  DoorServer(const DoorServer&) = delete;
  DoorServer& operator=(const DoorServer&) = delete;

  /// Sets the receiver of connections whose request is for no door, with the bytes that they have
  /// sent so far.
  void give_others_to(std::function<void(net::Fd, std::string)> taker);
  /// The rules of the policies in force, after a reload.
  void use(const PathRules& path);
  /// Accepts on a socket of net::open_listeners().
  Result<void> listen(net::Fd fd);

  // Drain, in this order, as of proxy::Server.
  void begin_drain(bool draining = true);
  void stop_accepting();
  void finish_by(TimePoint deadline, std::function<void()> stopped);
  std::size_t open_connections() const noexcept;

 private:
  void on_accept(net::Fd fd, const Address& peer) override;
  void end_of_turn(TimePoint now) override;
  void abort_all();
  bool make_room();

  std::unique_ptr<DoorContext> context_;
  net::Doorway doorway_;
};

}  // namespace weir::authz
