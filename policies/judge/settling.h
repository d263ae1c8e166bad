#pragma once

#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"
#include "policies/judge/ladder.h"
#include "policies/judge/memory.h"
#include "policies/judge/pattern_judging.h"
#include "policies/judge/planning.h"
#include "policies/judge/row_reporting.h"
#include "policies/judge/store_calls.h"
#include "policies/judge/view_counting.h"

namespace weir::policies {

/// The answer side of the current judgement: reservations become counts or nothing, settled
/// readings write memory, resets. settling_shared.cc handles the counts in the store.
class Settling final {
 public:
  Settling(Judging& work, EventKeys& keys, EventMatching& matching, StoreCalls& store,
           Planning& planning, Ladder& ladder, Memory& memory, RowReporting& row_reporting,
           ViewCounting& view_counting, PatternJudging& patterns) noexcept
      : work_(work),
        keys_(keys),
        matching_(matching),
        store_(store),
        planning_(planning),
        ladder_(ladder),
        memory_(memory),
        row_reporting_(row_reporting),
        view_counting_(view_counting),
        patterns_(patterns) {}

  /// After a verdict that passes the event: whether anything is left to observe.
  bool must_observe() const noexcept;
  /// After a judgement with JudgeOptions::answer: whether this answer changes nothing, so that it
  /// need not be observed. False: call open() and answered() as usual. The event must still be
  /// there.
  bool settled_by(const Answer& answer);
  /// After a verdict that passes the event: the judgement holds all that its answer needs.
  void open();
  /// The answer (with its body, if needs_answer_body()) is here.
  void answered(const Answer& answer, Instant now);
  /// The client left after its request had reached the app: counts as a match, never for `reset`.
  void aborted(Instant now);
  /// The app gave no good answer, or got no request: reservations are released.
  void released(Instant now) noexcept;
  /// There is no memory for the answer: open reservations count as matches.
  void settle_rest(Instant now) noexcept;
  /// The replies to Judgement::closing are there: judges the rungs that depend on them.
  void closed(Instant now);
  /// Moves the end of the reservations and places in flight that the store holds for it.
  void renew();
  /// Call it last: frees the place in flight.
  void ended() noexcept;

 private:
  void end_reservations(Instant at, bool matched) noexcept;
  /// The result of a condition or an amount once the answer is known.
  enum class AnswerSays : std::uint8_t {
    no,
    yes,
    unread,   ///< unreadable
    unclear,  ///< depends on an unreadable part of the request
  };
  void look_at(const Answer& answer, Instant at);
  void settle_in_store(PlannedCounter& counter, bool looks_back);
  void read_in_store(PlannedCounter& counter);
  void keep_for_closing();
  AnswerSays came_true(const PlannedPolicy& planned);
  AnswerSays load_late_amount(const PlannedPolicy& planned, limiter::Amount& amount);
  bool settles_as_match(PlannedPolicy& planned, limiter::Amount& late, bool& late_known);
  void settle_reserved(bool every_one_matches);
  void judge_settled(const PlannedPolicy& planned);
  void apply_resets();

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
  StoreCalls& store_;
  Planning& planning_;
  Ladder& ladder_;
  Memory& memory_;
  RowReporting& row_reporting_;
  ViewCounting& view_counting_;
  PatternJudging& patterns_;
};

}  // namespace weir::policies
