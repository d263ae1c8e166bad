#pragma once

#include <functional>
#include <memory>

#include "core/result.h"
#include "net/doorway.h"
#include "net/grpc/service.h"
#include "net/grpc/settings.h"
#include "net/worker_pool.h"
#include "telemetry/metrics.h"

namespace weir::net::grpc {

class Connection;
struct Context;

/// The gRPC server of one worker: unary calls over HTTP/2, on TCP and Unix sockets, in the worker's
/// own loop. In the clear (h2c with prior knowledge, as clients of Envoy and gRPC do), or over TLS.
/// Construct it before the worker runs, or on the worker's thread; call everything else on that
/// thread. Destroy it after the worker has stopped, and before the methods. Settings and cells must
/// outlive it.
///
/// Peers may be hostile. Each connection has a budget (FrameMeter) for frames that ask for nothing
/// and for calls that it resets. Each frame, message, answer and write has a deadline. Lists of
/// fields and messages have a limit. Settings::buffer_bytes bounds the memory of all connections
/// together, libnghttp2's memory included; beyond it, the connection that holds the most is closed.
/// A closed peer gets ENHANCE_YOUR_CALM.
class Server final : AcceptHandler, TurnHook {
 public:
  Server(Worker& worker, const Settings& settings, telemetry::MetricCells& metrics);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Before listen(). The method must outlive the server.
  void add(Method& method);
  /// Accepts on a socket of net::open_listeners().
  Result<void> listen(Fd fd);

  // Drain, in this order:
  /// Still accepts and serves. Peers get the first GOAWAY.
  void begin_drain();
  /// Accepts and serves what the kernel has already accepted, and closes the listeners. Connected
  /// peers get both GOAWAYs.
  void stop_accepting();
  /// Calls `stopped` once no connection is left, at the latest at `deadline`, when the rest is cut.
  void finish_by(TimePoint deadline, std::function<void()> stopped);

  std::size_t open_connections() const noexcept;
  std::size_t kept_bytes() const noexcept;  ///< that connections keep

 private:
  void on_accept(Fd fd, const Address& peer) override;
  void end_of_turn(TimePoint now) override;
  void abort_all();
  bool make_place();
  void bound_handshakes();
  void reclaim();

  std::unique_ptr<Context> context_;
  Doorway doorway_;
};

}  // namespace weir::net::grpc
