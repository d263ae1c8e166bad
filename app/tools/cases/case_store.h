#pragma once

#include "limiter/exchange/synced_bank.h"
#include "policies/judge/driver.h"
#include "policies/judge/immediate_outbox.h"
#include "store/memory_store.h"

namespace weir::app {

/// The shared store of one case, in this process: policies with `share` take the way that they take
/// in front of a Redis, as its only replica. Its time is the case's. Counts with `sync` are
/// exchanged when their interval ends.
class CaseStore final : public policies::ImmediateOutbox {
 public:
  /// `counters`: where the case counts; must outlive this.
  CaseStore(const limiter::BankLimits& limits, limiter::Bank& counters);
  /// Whether something of the set is shared through a store.
  static bool is_needed_by(const policies::PolicySet& set);

  /// Lets the driver share. Both must outlive the use.
  void serve(policies::Driver& driver);
  /// Runs each exchange that is due until `now`, at its time.
  void advance(TimePoint now);
  limiter::SyncedBank::Stats exchange_stats() const noexcept { return synced_.stats(); }

  void exchange(TimePoint now) override;

 private:
  void ask(policies::StoreOps& operations, TimePoint now);
  void send_counts(TimePoint now);

  TimePoint now_{};  // of the operations under way
  store::MemoryStore store_;
  policies::Sharing sharing_;
  limiter::SyncTable table_;
  limiter::SyncedBank synced_;
  limiter::SharedId id_;  // of the last count that was sent
  std::vector<limiter::SyncedBank::Push> pushes_;
  policies::StoreOps counts_;
};

}  // namespace weir::app
