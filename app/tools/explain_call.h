#pragma once

#include <memory>
#include <string>
#include <vector>

#include "authz/rate_limit_call.h"
#include "gate/gate.h"
#include "policies/explain/explain.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// A call of Envoy's rate limit service, from a file, and its outcome: the call is judged
/// and counted as the service does it, and each descriptor is explained as the ones before it left
/// the counters.
class CallExplanation final : authz::RateLimitCall::Waiting, authz::RateLimitCall::Watching {
 public:
  /// The counters and lists of `shared` are for this call alone.
  CallExplanation(std::shared_ptr<const policies::PolicySet> set, gate::Shared& shared);
  ~CallExplanation();

  /// Reads a RateLimitRequest as JSON, and judges it. Returns what is wrong; empty: nothing.
  std::string judge(const std::string& file, TimePoint now);

  bool is_over() const noexcept { return call_.is_over(); }
  std::string to_text(bool colour) const;
  std::string to_json() const;

 private:
  struct Part {
    std::string unjudged;  ///< why it is not judged; empty: see `told`
    policies::Explanation told;
  };
  struct Message;

  void judged(authz::RateLimitCall&, TimePoint) override {}
  void failed(authz::RateLimitCall&) override {}
  void will_judge(std::size_t index, const policies::FoundDescriptor& found,
                  const policies::Record* record) override;
  std::string status_text(std::size_t index) const;

  telemetry::Metrics metrics_{1};
  gate::Gate gate_;
  authz::RateLimitMeter meter_{metrics_.rules()};
  authz::RateLimitCall call_{gate_, meter_};
  policies::Driver driver_;  ///< explains; the gate's own one counts
  std::unique_ptr<Message> message_;
  std::vector<Part> parts_;
  policies::Instant at_{};
};

}  // namespace weir::app
