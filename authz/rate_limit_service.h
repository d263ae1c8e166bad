#pragma once

#include "authz/messages.h"
#include "authz/rate_limit_call.h"
#include "core/spares.h"
#include "net/grpc/service.h"
#include "telemetry/metrics.h"

namespace weir::authz {

/// `envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`. One for each worker, on its
/// thread. Calls that wait for the shared store do so beside each other; a call without domain or
/// descriptors, with too many of them, or whose descriptor brings a limit without unit along, is
/// INVALID_ARGUMENT.
class RateLimitService final : public net::grpc::Method {
 public:
  static constexpr std::string_view kName = "envoy.service.ratelimit.v3.RateLimitService";

  RateLimitService(gate::Gate& gate, telemetry::MetricCells& metrics, telemetry::RuleStats& rules);
  ~RateLimitService();

  std::string_view path() const noexcept override {
    return "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  }
  void start(net::grpc::Call& call, TimePoint now) override;

 private:
  class Active;
  gate::Gate& gate_;
  telemetry::MetricCells& metrics_;
  RateLimitMeter meter_;
  Spares<Active> active_;
};

}  // namespace weir::authz
