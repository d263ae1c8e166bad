#pragma once

#include <functional>
#include <string>

#include "authz/limitador_counters.h"
#include "authz/rate_limit_call.h"
#include "core/spares.h"
#include "net/http/server.h"
#include "telemetry/metrics.h"

namespace weir::authz {

/// Calls of limitador's HTTP API, on one worker that has a gate::GateTurn. On its thread.
class LimitadorHttp {
 public:
  /// Told once for each call, at once or from a later turn of the worker's loop.
  using Answered = std::function<void(net::HttpReply)>;
  enum class Ask : std::uint8_t {
    check,             ///< reports the result, and counts nothing
    report,            ///< counts, and refuses nothing
    check_and_report,  ///< counts a call that is within all limits
  };

  /// `counters`: of all workers.
  LimitadorHttp(gate::Gate& gate, telemetry::MetricCells& metrics, telemetry::RuleStats& rules,
                LimitadorCounters& counters);
  ~LimitadorHttp();

  void ask(Ask what, std::string_view body, TimePoint now, Answered answered);
  /// The counters of a namespace, with what is left of them.
  void counters(std::string space, TimePoint now, Answered answered);

 private:
  class Active;
  gate::Gate& gate_;
  telemetry::MetricCells& metrics_;
  RateLimitMeter meter_;
  LimitadorCounters& counters_;
  Spares<Active> active_;
};

/// The answer to `GET /status`.
struct LimitadorStatus {
  TimePoint started, applied;  ///< wall clock; applied: the configuration in force
  std::int64_t version = 0;    ///< configurations applied since the start
  std::int64_t err_since = 0;  ///< that were not, since the one in force
};
net::HttpReply limitador_status(const LimitadorStatus& status);

/// The limits of a namespace as `GET /limits/NAMESPACE` answers them.
net::HttpReply limitador_limits(const config::Server::RateLimit& settings, std::string_view space);

}  // namespace weir::authz
