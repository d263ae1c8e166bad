#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "gate/judge.h"
#include "net/doorway.h"
#include "net/worker_pool.h"
#include "proxy/settings.h"
#include "telemetry/latency.h"
#include "telemetry/metrics.h"
#include "telemetry/request_sink.h"

namespace weir::proxy {

struct Context;
class Session;

/// The reverse proxy of one worker: listeners, sessions, connections to the app. Construct it
/// before the worker runs or on its thread, after the judge's GateTurn; call everything else on its
/// thread (net::Worker::post). Destroy it after the worker has stopped. Settings, judge and cells
/// must outlive it.
class Server final : net::AcceptHandler, net::TurnHook {
 public:
  Server(net::Worker& worker, const Settings& settings, gate::Judge& judge,
         telemetry::MetricCells& metrics);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Accepts on a socket of net::open_listeners().
  Result<void> listen(net::Fd fd);

  /// After a reload: the fields that policies read (lower case), and how paths are read.
  void use(std::vector<std::string> names, const PathRules& path);

  /// Sets the addresses of the app; none: they are unknown, and requests get 503.
  void use_upstreams(std::vector<net::SocketAddress> addresses);

  /// Where histograms, access log and traces go; null: nowhere. While there is no
  /// connection.
  void observe(telemetry::RequestSink* sink, telemetry::LatencyCells* latency) noexcept;

  // Drain, in this order:
  /// Still accepts; every response says Connection: close. `draining` false ends that again.
  void begin_drain(bool draining = true);
  void stop_accepting();  ///< accepts waiting connections, closes listeners and idle clients
  /// Calls `stopped` once no connection is left, at the latest at `deadline`, when the rest is cut.
  void finish_by(TimePoint deadline, std::function<void()> stopped);

  std::size_t open_connections() const noexcept;

 private:
  void on_accept(net::Fd fd, const Address& peer) override;
  void end_of_turn(TimePoint now) override;
  bool counts_address(const Address& peer) const noexcept;
  bool recycle_idlest();
  void find_idlest();
  void cut_all();
  void reclaim();

  struct Idle {
    Session* session;
    TimePoint since;
  };
  static constexpr std::size_t kIdlest = 64;

  std::unique_ptr<Context> context_;
  net::Doorway doorway_;
  std::vector<Idle> idlest_;  ///< found idle, the idlest last
};

}  // namespace weir::proxy
