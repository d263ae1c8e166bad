#pragma once

#include <memory>
#include <string>

#include "authz/check_request.h"
#include "authz/messages.h"
#include "core/spares.h"
#include "gate/judge.h"
#include "gate/unsettled.h"
#include "net/grpc/service.h"
#include "net/wheel.h"
#include "telemetry/metrics.h"

namespace weir::authz {

class CheckCall;

/// `envoy.service.auth.v3.Authorization/Check`: Envoy's external authorization over gRPC. One per
/// worker, on its thread; the worker has a gate::GateTurn. Everything given must outlive it, and
/// its calls end before it.
class CheckService final : public net::grpc::Method {
 public:
  static constexpr std::string_view kName = "envoy.service.auth.v3.Authorization";

  CheckService(const CheckRules& rules, gate::Judge& judge, gate::Unsettled& unsettled,
               net::Wheel& wheel, telemetry::MetricCells& metrics);
  ~CheckService();

  std::string_view path() const noexcept override {
    return "/envoy.service.auth.v3.Authorization/Check";
  }
  void start(net::grpc::Call& call, TimePoint now) override;
  /// Reads paths by these rules from the next call on.
  void use(const PathRules& path) { rules_.path = path; }

 private:
  friend class CheckCall;
  CheckRules rules_;
  gate::Judge& judge_;
  gate::Unsettled& unsettled_;
  net::Wheel& wheel_;
  telemetry::MetricCells& metrics_;
  TargetRoom room_;    ///< of all calls: a call that waited reads its target again
  std::string plain_;  ///< the answer that allows without any fields: the usual one
  Spares<CheckCall> calls_;
};

}  // namespace weir::authz
