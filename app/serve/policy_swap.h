#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "app/remote/list_feeds.h"
#include "app/support/log.h"
#include "core/key.h"
#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"
#include "limiter/patterns/pattern_bank.h"
#include "policies/set/policy_set.h"
#include "policies/set/view_bank.h"

namespace weir::app {

class WorkerTeam;

/// Puts another policy set in the place of the one in force: its counters, lists, patterns and
/// views are opened beside those in use, every worker takes it, and those that it does not use are
/// closed. On the control thread. Everything given must outlive the swap.
class PolicySwap {
 public:
  struct Stores {
    limiter::Bank& counters;
    limiter::ListBank& lists;
    limiter::PatternBank& patterns;
    policies::ViewBank& views;
    const HashSecret& secret;
  };
  /// `has_redis`: policies may share what they count.
  PolicySwap(Stores stores, ListFeeds& feeds, WorkerTeam& workers, bool has_redis, Log& log);

  /// Empty: `in_force` is `next`. Otherwise the reason for people: `in_force` stays, and so do its
  /// counters. If `next` comes from other texts, the log names the counters that start at 0.
  boost::asio::awaitable<std::string> replace(std::shared_ptr<policies::PolicySet>& in_force,
                                              std::shared_ptr<policies::PolicySet> next);
  /// Closes the counters, lists and patterns that `set` does not use.
  void close_unused(const policies::PolicySet& set);

 private:
  Stores stores_;
  ListFeeds& feeds_;
  WorkerTeam& workers_;
  const bool has_redis_;
  Log& log_;
};

}  // namespace weir::app
