#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "admin/call.h"
#include "policies/explain/explain.h"

namespace weir::admin {

/// Drivers of the control thread's own, for dry judgements on the live counters, those of all
/// replicas included. Its statistics are its own too: explanations are counted nowhere.
class Explainer {
 public:
  explicit Explainer(const Stores& stores);
  ~Explainer();

  /// Asks the shared store where the request needs it. `request` must live until the answer.
  boost::asio::awaitable<policies::Explanation> explain(const Call& call, const Request& request,
                                                        policies::Instant at);

 private:
  class Mute;

  /// By the set in use; one that a question is under way with lives on with it.
  std::shared_ptr<policies::Driver> driver_of(
      const std::shared_ptr<const policies::PolicySet>& set);
  std::shared_ptr<policies::Driver> make_driver() const;

  const Stores& stores_;
  policies::StatsBank stats_;
  std::unique_ptr<Mute> outbox_;
  std::shared_ptr<policies::Driver> driver_;
  std::shared_ptr<const policies::PolicySet> set_;
};

}  // namespace weir::admin
