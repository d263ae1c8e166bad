#pragma once

#include <cstdint>
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
  /// Does not wait for a name server that is silent.
  ~ReplayStore();

  const policies::Sharing& sharing() const noexcept { return sharing_; }
  /// Fills the replies.
  void ask(policies::StoreOps& operations, TimePoint now);
  /// The first error of an operation, for people; empty: there was none.
  const std::string& failure() const noexcept { return failure_; }

 private:
  /// A loop with a thread of its own, and the store on it.
  struct Loop {
    explicit Loop(store::Settings settings, std::uint64_t origin);
    net::WorkerPool pool{1};
    store::RedisStore store;
  };
  explicit ReplayStore(store::Settings settings);

  std::unique_ptr<Loop> loop_;
  bool asks_names_;
  policies::Sharing sharing_;
  std::string failure_;
};

}  // namespace weir::app
