#pragma once

#include <cstddef>
#include <utility>

#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"
#include "policies/judge/flat_plan.h"
#include "policies/judge/list_checks.h"
#include "policies/judge/row_giving.h"
#include "policies/judgement/judge_options.h"

namespace weir::policies {

/// The short way of most events, from their keys to their counts: every policy needs nothing but
/// its key (FlatPlan), the answer is known if one asks about it, and no rung holds. Then no plan is
/// written. It says and counts what the general way does; the tests compare both.
class FlatJudging final {
 public:
  FlatJudging(Judging& work, EventKeys& keys, EventMatching& matching, const ListChecks& lists,
              RowGiving& rows) noexcept
      : work_(work), keys_(keys), matching_(matching), lists_(lists), rows_(rows) {}

  /// After match(). Counts the event; false: nothing has been counted, and the general way goes on.
  bool charge(const Occurrence& occurrence, Instant at, const JudgeOptions& options);
  /// No rung holds: only finish() is left to do.
  bool is_calm() const noexcept { return calm_; }
  /// Counts the event for the statistics and the rows, if it is calm.
  void finish(RowSink* rows) {
    if (std::exchange(calm_, false)) count(rows);
  }
  /// Some rung may hold: the plan, as the general way would have written and charged it so far.
  /// Returns how many counters have been charged: the others have been refused by then.
  std::size_t write_plan();

 private:
  void count(RowSink* rows);
  bool is_foreseen(FlatPlan& flat, const Occurrence& occurrence, const Answer* answer);
  FlatPlan::Comes comes_of(const FlatPlan& flat, const Occurrence& occurrence,
                           const Answer& answer);
  bool find_keys(FlatPlan& flat, Instant at, RowSink* rows);
  bool find_key(FlatPolicy& policy, Instant at);
  bool stay_calm(FlatPlan& flat, Instant at);

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
  const ListChecks& lists_;
  RowGiving& rows_;
  FlatPlan* flat_ = nullptr;  // of the event under judgement
  std::size_t charged_ = 0;   // of its policies
  bool calm_ = false;
};

}  // namespace weir::policies
