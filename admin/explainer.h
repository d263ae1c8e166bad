#pragma once

#include <memory>

#include "admin/operations.h"
#include "policies/explain/explain.h"

namespace weir::admin {

/// A driver of the control thread's own, for dry judgements on the live counters. Its
/// statistics are its own too: what is only explained is counted nowhere.
class Explainer {
 public:
  explicit Explainer(const Stores& stores)
      : stats_(1), driver_(stores.counters, stores.lists, stores.secret) {
    driver_.use_patterns(stores.patterns);
  }

  policies::Explanation explain(const std::shared_ptr<const policies::PolicySet>& set,
                                const Request& request, policies::Instant at) {
    if (set_ != set) {
      driver_.use(policies::load_on_worker(set, stats_, 0));
      set_ = set;
    }
    return policies::explain(driver_, request, at);
  }

 private:
  policies::StatsBank stats_;
  policies::Driver driver_;
  std::shared_ptr<const policies::PolicySet> set_;
};

}  // namespace weir::admin
