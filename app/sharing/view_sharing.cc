#include "app/sharing/view_sharing.h"

#include <memory>
#include <utility>
#include <vector>

#include "app/sharing/flush_and_stop.h"
#include "app/support/shared_store.h"
#include "app/support/thread.h"

namespace weir::app {
namespace {

// A Redis that restarts is not worth a line in the log; one that is away is.
constexpr milliseconds kViewsAway{5'000};

}  // namespace

ViewSharing::ViewSharing(const store::Settings& redis, const HashSecret& secret, Log& log)
    : log_(log), sharer_(worker_, secret, redis, random_origin()) {}

ViewSharing::~ViewSharing() { stop(); }

void ViewSharing::use(const policies::PolicySet& set) {
  std::vector<store::ViewToShare> views;
  views_.clear();
  for (const policies::View& view : set.views) {
    if (view.live == nullptr || !view.live->is_shared()) continue;
    views.push_back({view.name, view.identity, view.live});
    views_.push_back(view.live);
  }
  if (stopped_ || (views.empty() && !thread_.joinable())) return;
  if (!thread_.joinable()) thread_ = start_thread("weir/views", [this] { worker_.run(); });
  worker_.post([this, views = std::move(views)] {
    sharer_.use(views);
    sharer_.start();
  });
}

void ViewSharing::set_credentials(const store::Credentials& credentials,
                                  const store::Credentials& sentinels) {
  if (!thread_.joinable()) return sharer_.set_credentials(credentials, sentinels);
  worker_.post([this, credentials, sentinels] { sharer_.set_credentials(credentials, sentinels); });
}

void ViewSharing::tick(TimePoint now) {
  if (views_.empty()) return;
  if (since_ == TimePoint{}) since_ = now;
  const policies::LiveView* late = nullptr;
  std::string why;
  for (const auto& view : views_) {
    const limiter::ViewSharing sharing = view->sharing();
    if (std::max(since_, sharing.synced) + kViewsAway >= now) continue;
    late = view.get();
    why = sharing.why;
    break;
  }
  const bool up = late == nullptr;
  if (!up && was_up_) {
    log_.write(Level::warn,
               LogLine("views do not exchange with other replicas now")
                   .add("view", late->name())
                   .add("reason", why)
                   .add("effect", "counts of this replica are kept, and sent when Redis is back"));
  } else if (up && !was_up_) {
    log_.write(Level::info, LogLine("views exchange with other replicas again"));
  }
  was_up_ = up;
}

void ViewSharing::stop() {
  if (std::exchange(stopped_, true) || !thread_.joinable()) return;
  flush_and_stop(sharer_, worker_, thread_);
}

}  // namespace weir::app
