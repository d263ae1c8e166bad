#pragma once

#include <functional>
#include <string>

#include "authz/rate_limit_call.h"
#include "core/spares.h"
#include "net/http/server.h"
#include "telemetry/metrics.h"

namespace weir::authz {

/// Calls of the rate limit service that come over HTTP, on one worker that has a gate::GateTurn:
/// `POST /json` of envoyproxy/ratelimit. On its thread.
class RateLimitHttp {
 public:
  /// Told once for each call, at once or from a later turn of the worker's loop.
  using Answered = std::function<void(net::HttpReply)>;

  RateLimitHttp(gate::Gate& gate, telemetry::MetricCells& metrics, telemetry::RuleStats& rules);
  ~RateLimitHttp();

  void json(std::string_view body, TimePoint now, Answered answered);

 private:
  class Active;
  gate::Gate& gate_;
  telemetry::MetricCells& metrics_;
  RateLimitMeter meter_;
  Spares<Active> active_;
};

}  // namespace weir::authz
