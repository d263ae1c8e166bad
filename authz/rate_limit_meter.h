#pragma once

#include <string>
#include <vector>

#include "policies/explain/rate_limit.h"
#include "policies/set/policy_set.h"
#include "telemetry/rule_stats.h"

namespace weir::authz {

/// Counts the hits of envoyproxy/ratelimit's rules, and the calls of limitador's namespaces, in
/// their own metrics. One for each worker, on its thread; no allocation for rules whose metrics are
/// not by value, once each was hit.
class RateLimitMeter {
 public:
  explicit RateLimitMeter(telemetry::RuleStats& stats) : stats_(stats) {}

  /// One descriptor of a call that counts, with what came of it. `set`: which found it.
  void count(const policies::PolicySet& set, const policies::FoundDescriptor& found,
             const Descriptor& descriptor, const policies::DescriptorStatus& status);
  /// A whole call that counts, where limitador's file has limits of its domain.
  void count_call(const policies::PolicySet& set, std::string_view domain, std::int64_t hits,
                  bool over);

 private:
  struct Space {
    std::string name;
    telemetry::SpaceRow* row;
  };
  void use(const policies::PolicySet& set);
  telemetry::RuleRow* row(const policies::FoundDescriptor& found, const Descriptor& descriptor);

  telemetry::RuleStats& stats_;
  const policies::PolicySet* set_ = nullptr;  // of rows_; with its texts, for sets come and go
  std::string hash_;
  std::vector<telemetry::RuleRow*> rows_;  // by event
  std::vector<Space> spaces_;              // limitador's, sorted by name
  std::vector<std::string> keys_;
};

}  // namespace weir::authz
