#include "app/doors/grpc/door.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/doors/settings.h"
#include "app/support/certificates.h"
#include "app/support/memory_plan.h"
#include "authz/check_request.h"
#include "authz/check_service.h"
#include "authz/health_service.h"
#include "authz/rate_limit_service.h"
#include "config/default_ports.h"
#include "net/connection_budget.h"
#include "net/grpc/server.h"
#include "net/tls.h"

namespace weir::app {
namespace {

// Calls of one connection keep a block each at least.
constexpr std::uint64_t kBytesOfCall = 8 << 10;
constexpr std::uint32_t kStreamsMin = 100;

const config::Endpoint kGrpcDefault{"127.0.0.1", config::kGrpcPort, ""};

/// The data that the gRPC servers of all workers share.
struct GrpcCommon {
  /// `certificates`: null serves in the clear.
  GrpcCommon(const DoorPlan& plan, std::shared_ptr<const net::TlsContext> certificates)
      : connections(plan.connections), checks(check_rules(plan.settings)), rules(plan.rules) {
    settings.buffer_bytes = grpc_buffer_bytes(plan.buffers);
    settings.message_bytes = std::min<std::uint64_t>(plan.settings.grpc.message, plan.buffers / 4);
    settings.streams = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        settings.buffer_bytes / kBytesOfCall, kStreamsMin, settings.streams));
    settings.connections = &connections;
    settings.age = plan.settings.grpc.connection_age;
    if (certificates == nullptr) return;
    tls.emplace(std::move(certificates));
    settings.tls = &*tls;
  }

  net::ConnectionBudget connections;
  std::optional<net::TlsIdentity> tls;
  net::grpc::Settings settings;
  authz::CheckRules checks;
  telemetry::RuleStats& rules;
};

/// The gRPC server of one worker, with its services.
class GrpcWorker final : public WorkerDoor {
 public:
  GrpcWorker(const DoorParts& in, GrpcCommon& common)
      : health_({"ratelimit"}),  // envoyproxy/ratelimit's name, which its probes ask for
        checks_(common.checks, in.gate, in.unsettled, in.worker.wheel(), in.metrics),
        rate_limits_(in.gate, in.metrics, common.rules),
        server_(in.worker, common.settings, in.metrics) {
    server_.add(health_);
    server_.add(health_.list());
    server_.add(health_.watch());
    add(checks_);
    add(rate_limits_);
  }

  void use(const policies::PolicySet& set) override { checks_.use(set.path_rules); }
  Result<void> listen(net::Fd fd) override { return server_.listen(std::move(fd)); }
  /// The health service reports NOT_SERVING while it drains.
  void begin_drain(bool draining) override {
    health_.serve(!draining);
    if (draining) server_.begin_drain();
  }
  void stop_accepting() override { server_.stop_accepting(); }
  void finish_by(TimePoint deadline, std::function<void()> stopped) override {
    server_.finish_by(deadline, std::move(stopped));
  }

 private:
  /// Serves this method as well, and reports the health of its service.
  void add(net::grpc::Method& method) {
    server_.add(method);
    const std::string_view path = method.path().substr(1);
    health_.add(path.substr(0, path.find('/')));
  }

  authz::HealthService health_;
  authz::CheckService checks_;
  authz::RateLimitService rate_limits_;
  net::grpc::Server server_;  // goes before the services that it calls
};

class GrpcDoor final : public FrontDoor {
 public:
  GrpcDoor(const DoorPlan& plan, std::shared_ptr<const net::TlsContext> certificates)
      : common_(plan, std::move(certificates)) {}

  std::unique_ptr<WorkerDoor> on_worker(const DoorParts& parts) override {
    return std::make_unique<GrpcWorker>(parts, common_);
  }
  void reload(const config::Server& settings, Log& log) override {
    if (!common_.tls || !settings.grpc.tls) return;
    std::string why;
    if (auto next = read_certificates(settings, why); next != nullptr)
      return common_.tls->use(std::move(next));
    log.write(Level::error,
              LogLine("the certificates of the gRPC door stay as they were").add("why", why));
  }

 private:
  GrpcCommon common_;
};

}  // namespace

DoorAddress grpc_address(const config::Server& settings) {
  const config::Server::Grpc& grpc = settings.grpc;
  if (grpc.none) return {};
  return {grpc.listen ? grpc.listen->value : kGrpcDefault, grpc.listen.has_value()};
}

std::unique_ptr<FrontDoor> make_grpc_door(const DoorPlan& plan, std::string& why) {
  auto certificates = read_certificates(plan.settings, why);
  if (plan.settings.grpc.tls && certificates == nullptr) {
    why.insert(0, "grpc.tls: ");
    return nullptr;
  }
  return std::make_unique<GrpcDoor>(plan, std::move(certificates));
}

}  // namespace weir::app
