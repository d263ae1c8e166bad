#pragma once

#include <string>
#include <thread>

#include "app/support/log.h"
#include "policies/set/policy_set.h"
#include "store/views/view_sharer.h"

namespace weir::app {

/// Shares the views of `share: redis` with other replicas (store/views), on a thread of its own:
/// one call a second and view. Without such a view there is no thread and no connection. Lives on
/// the control thread.
class ViewSharing {
 public:
  ViewSharing(const store::Settings& redis, const HashSecret& secret, Log& log);
  ~ViewSharing();  ///< stop()

  /// The views of the set that is in force from now on.
  void use(const policies::PolicySet& set);
  /// With the next connection.
  void set_credentials(const store::Credentials& credentials, const store::Credentials& sentinels);
  void tick(TimePoint now);  ///< every second: says when Redis goes away and comes back
  /// Sends what was counted last, if Redis takes it within kFlushTime; then the thread ends.
  void stop();

 private:
  Log& log_;
  net::Worker worker_{0};
  store::ViewSharer sharer_;
  std::thread thread_;
  std::vector<std::shared_ptr<policies::LiveView>> views_;
  TimePoint since_{};  // a view is shared
  bool stopped_ = false;
  bool was_up_ = true;
};

}  // namespace weir::app
