#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"
#include "policies/judge/flat_plan.h"
#include "policies/judge/ladder.h"
#include "policies/judge/list_checks.h"
#include "policies/judge/row_reporting.h"
#include "policies/judgement/judge_options.h"

namespace weir::policies {

/// The fast path: every policy needs only its key (FlatPlan), the answer is known if a policy
/// depends on it, and no rung holds, or only rungs that flag. No plan is written, and outcomes that
/// come true are settled at once. The general path gives the same result; the tests compare both.
class FlatJudging final {
 public:
  FlatJudging(Judging& work, EventKeys& keys, EventMatching& matching, const ListChecks& lists,
              Ladder& ladder, RowReporting& rows) noexcept
      : work_(work),
        keys_(keys),
        matching_(matching),
        lists_(lists),
        ladder_(ladder),
        rows_(rows) {}

  /// After match(). Counts the event; false: nothing has been counted, and the general path
  /// continues.
  bool charge(const Occurrence& occurrence, Instant at, const JudgeOptions& options);
  /// No rung holds, or only rungs that flag: only finish() is left to do.
  bool is_done() const noexcept { return done_; }
  /// If it is done: the verdict, the statistics and the rows.
  void finish(RowSink* rows) {
    if (std::exchange(done_, false)) conclude(rows);
  }
  /// Call it if the event is not done because a rung may hold. Writes the plan as the general path
  /// would have written and charged it so far. Returns how many counters have been charged: the
  /// others were refused, or wait for the answer.
  std::size_t write_plan();
  /// Before the next event.
  void forget() noexcept { charged_ = 0; }
  /// Whether it has charged counters, and write_plan() has not handed them over.
  bool has_charged() const noexcept { return charged_ != 0; }
  /// The event's judgement has ended early: takes back what it has charged.
  void take_back() noexcept;

 private:
  void conclude(RowSink* rows);
  bool is_foreseen(FlatPlan& flat, const Occurrence& occurrence, const Answer* answer);
  std::uint8_t foresee(FlatPlan& flat, const Occurrence& occurrence, const Answer& answer);
  bool is_clear(const FlatPlan& flat, std::uint64_t& came);
  void settle(RowSink* rows);
  /// Calls use(outcome) for those that come true.
  template <class Use>
  void each_that_came(Use use) {
    for (std::uint64_t left = came_; left != 0; left &= left - 1)
      use(flat_->outcomes.data()[std::countr_zero(left)]);
  }
  bool find_keys(FlatPlan& flat, Instant at, RowSink* rows);
  bool find_key(FlatPolicy& policy, Instant at);
  bool stay_calm(FlatPlan& flat, Instant at);

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
  const ListChecks& lists_;
  Ladder& ladder_;
  RowReporting& rows_;
  FlatPlan* flat_ = nullptr;  // of the event under judgement
  std::size_t charged_ = 0;   // of its policies
  bool done_ = false;
  bool flagged_ = false;    // some rung holds
  std::uint64_t came_ = 0;  // by bit: outcomes that come true
};

}  // namespace weir::policies
