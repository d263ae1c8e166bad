#pragma once

#include "policies/judge/ladder.h"
#include "policies/judge/list_checks.h"
#include "policies/judge/pattern_judging.h"
#include "policies/judge/planning.h"
#include "policies/judge/store_calls.h"

namespace weir::policies {

/// Counts the planned counters: charges or reserves local ones, asks the store about counters of
/// all replicas, takes its replies, and takes back the counts of a refused event.
///
/// Counts of the store are also counted locally, without limit: this is the part of this replica,
/// which `on_error: local` continues with while the store is away (counting_shared.cc).
/// Part of a Driver: one for each worker, used on the worker's thread.
class Counting final {
 public:
  Counting(Judging& work, ListChecks& lists, StoreCalls& store, Planning& planning, Ladder& ladder,
           PatternJudging& patterns) noexcept
      : work_(work),
        lists_(lists),
        store_(store),
        planning_(planning),
        ladder_(ladder),
        patterns_(patterns) {}

  bool charge(Instant at, const JudgeOptions& options);  ///< true: it asks the shared store
  /// A counter refuses after earlier counters were charged: the remaining counters are only read.
  void charge_rest(std::size_t charged, Instant at, const JudgeOptions& options);
  /// The store has replied: notes what it has counted. Then take_replies().
  void note_in_store() noexcept;
  void take_replies(const JudgeOptions& options);
  void settle_provisional(Instant at);
  void take_back(bool all, Instant at);
  /// Counts the event also where it is refused, or where a limit in shadow mode would refuse it.
  void count_whole(Instant at);
  /// The verdict is no longer needed, and the store has replied: takes all counts of the event
  /// back.
  void drop() noexcept;
  /// No verdict has been enforced: takes back all counts that are not settled.
  void take_all_back() noexcept;

 private:
  void take_back(PlannedCounter& planned) noexcept;
  bool plan_asks() const;
  void plan_asked();
  bool peek_deferred(PlannedCounter& planned, Instant at);
  void charge_deferred(const JudgeOptions& options);
  bool charge_here(PlannedCounter& planned, Instant at, bool refused, const JudgeOptions& options);
  void trace_counters(Trace& trace);
  void ask(bool refused, const JudgeOptions& options);
  void go_alone(const JudgeOptions& options);
  void mirror(PlannedCounter& planned, Instant at);
  void settle_provisional(PlannedCounter& planned, Instant at);

  Judging& work_;
  ListChecks& lists_;
  StoreCalls& store_;
  Planning& planning_;
  Ladder& ladder_;
  PatternJudging& patterns_;
};

}  // namespace weir::policies
