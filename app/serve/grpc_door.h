#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "authz/check_request.h"
#include "authz/check_service.h"
#include "authz/health_service.h"
#include "authz/rate_limit_service.h"
#include "config/model.h"
#include "gate/gate.h"
#include "gate/unsettled.h"
#include "net/connection_budget.h"
#include "net/grpc/server.h"
#include "net/listener.h"
#include "net/tls.h"
#include "net/worker_pool.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// What the gRPC servers of all workers have in common. Outlives them.
struct GrpcDoor {
  /// `buffers`: bytes that one worker's connections may keep, of all doors together.
  /// `certificates`: null serves in the clear.
  GrpcDoor(const config::Server& settings, std::uint64_t buffers, std::uint64_t connections_max,
           telemetry::RuleStats& rules, std::shared_ptr<const net::TlsContext> certificates);

  net::ConnectionBudget connections;
  std::optional<net::TlsIdentity> tls;
  net::grpc::Settings settings;
  authz::CheckRules checks;
  telemetry::RuleStats& rules;
};

/// The gRPC server of one worker, with its services. On the worker's thread, but for construction
/// and destruction.
class GrpcWorker {
 public:
  /// Judges by `judge`, and leaves to `unsettled` what it let pass.
  GrpcWorker(net::Worker& in, GrpcDoor& door, gate::Gate& gate, gate::Unsettled& unsettled,
             telemetry::MetricCells& cells);

  /// Serves this method as well, and says so to who asks for the health of its service. Before
  /// listen(); the method must outlive this.
  void add(net::grpc::Method& method);
  /// Reads paths by these rules from the next call on.
  void use(const PathRules& path) { checks_.use(path); }
  Result<void> listen(net::Fd fd) { return server_.listen(std::move(fd)); }
  /// Health says no, and peers are told to go elsewhere. `draining` false: health says yes again.
  void begin_drain(bool draining);
  void stop_accepting() { server_.stop_accepting(); }
  void finish_by(TimePoint deadline, std::function<void()> stopped) {
    server_.finish_by(deadline, std::move(stopped));
  }

 private:
  authz::HealthService health_;
  authz::CheckService checks_;
  authz::RateLimitService rate_limits_;
  net::grpc::Server server_;  // goes before the services that it calls
};

}  // namespace weir::app
