#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/redis/redis_store.h"
#include "store/views/view_sync.h"

namespace weir::store {

/// A view that replicas share, as a policy set names it.
struct ViewToShare {
  std::string name;
  Hash128 identity;  ///< the same at every replica
  std::shared_ptr<limiter::SharedView> view;
  friend bool operator==(const ViewToShare&, const ViewToShare&) = default;
};

/// Shares views with other replicas through Redis: one per process, on a loop of its own or of
/// whatever is not hot; all calls on that loop's thread. One call a second and view; the calls of
/// all views go out in one write.
class ViewSharer final : net::Timer {
 public:
  /// `secret`: the one that all replicas hash keys with. `origin`: random, of this process.
  /// `fold_age`: ViewSync::kFoldAge but in tests.
  ViewSharer(net::Worker& worker, const HashSecret& secret, Settings settings, std::uint64_t origin,
             milliseconds fold_age = ViewSync::kFoldAge);
  ~ViewSharer();

  void start();
  void stop();
  /// Sends what was counted since the last call; `then` hears when Redis has it, or when this
  /// fails.
  /// One at a time.
  void flush(std::function<void()> then);
  /// Shares these views from now on; views that stay continue without interruption.
  void use(std::vector<ViewToShare> views);
  void set_credentials(const Credentials& credentials, const Credentials& sentinels) {
    store_.set_credentials(credentials, sentinels);
  }

 private:
  class Exchange;

  void on_timer(TimePoint now) override { turn(now); }
  void turn(TimePoint now);

  net::Worker& worker_;
  const HashSecret secret_;
  const std::uint64_t origin_;
  const milliseconds fold_age_;
  RedisStore store_;
  bool running_ = false;
  TimePoint since_{};
  std::vector<std::unique_ptr<Exchange>> exchanges_;
  std::vector<std::unique_ptr<Exchange>> retired_;  // whose call is still on its way
  std::function<void()> flushed_;                   // null: nobody waits
};

}  // namespace weir::store
