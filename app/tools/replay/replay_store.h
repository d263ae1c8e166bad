#pragma once

#include <memory>
#include <string>

#include "net/worker_pool.h"
#include "policies/judgement/store_ops.h"
#include "policies/set/sharing.h"
#include "store/redis/redis_store.h"

namespace weir::app {

/// The shared store of `weir replay --store`: asks, and waits. Its times are the rows', not the
/// server's. Keys have a prefix of this run: nothing meets the counts of others.
class ReplayStore {
 public:
  /// Null: `problem` says why there is none.
  static std::unique_ptr<ReplayStore> connect(const std::string& url, std::string& problem);
  ~ReplayStore();

  const policies::Sharing& sharing() const noexcept { return sharing_; }
  /// Fills the replies.
  void ask(policies::StoreOps& operations, TimePoint now);
  /// The first error of an operation, for people; empty: there was none.
  const std::string& failure() const noexcept { return failure_; }

 private:
  explicit ReplayStore(store::Settings settings);

  net::WorkerPool pool_;
  store::RedisStore store_;  // on the pool's thread
  policies::Sharing sharing_;
  std::string failure_;
};

}  // namespace weir::app
