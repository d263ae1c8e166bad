#pragma once

#include <string_view>
#include <vector>

#include "authz/messages.h"
#include "net/grpc/service.h"

namespace weir::authz {

/// `grpc.health.v1.Health/Check`, for Envoy's `grpc_health_check` and Kubernetes' gRPC probes. The
/// empty name asks for the whole server; a name that is not served here is NOT_FOUND. (`Watch` is a
/// stream: as the specification wants it of servers without it, UNIMPLEMENTED.) One per worker.
class HealthService final : public net::grpc::Method {
 public:
  static constexpr std::string_view kName = "grpc.health.v1.Health";

  /// `services`: full names, constants.
  explicit HealthService(std::vector<std::string_view> services) : services_(std::move(services)) {}

  /// Adds a service to the reported ones.
  void add(std::string_view service) { services_.push_back(service); }
  /// False: the server is about to end; clients are to go elsewhere.
  void serve(bool serving) noexcept { serving_ = serving; }

  std::string_view path() const noexcept override { return "/grpc.health.v1.Health/Check"; }
  void start(net::grpc::Call& call, TimePoint now) override;

 private:
  std::vector<std::string_view> services_;
  Messages messages_;
  bool serving_ = true;
};

}  // namespace weir::authz
