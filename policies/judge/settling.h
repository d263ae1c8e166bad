#pragma once

#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"
#include "policies/judge/ladder.h"
#include "policies/judge/memory.h"
#include "policies/judge/pattern_judging.h"
#include "policies/judge/planning.h"
#include "policies/judge/row_giving.h"
#include "policies/judge/store_calls.h"
#include "policies/judge/view_counting.h"

namespace weir::policies {

/// The answer side: reservations become counts or nothing, settled readings write memory, resets.
/// settling_shared.cc is about what the store holds of it.
class Settling final {
 public:
  Settling(Judging& work, EventKeys& keys, EventMatching& matching, StoreCalls& store,
           Planning& planning, Ladder& ladder, Memory& memory, RowGiving& row_giving,
           ViewCounting& view_counting, PatternJudging& patterns) noexcept
      : work_(work),
        keys_(keys),
        matching_(matching),
        store_(store),
        planning_(planning),
        ladder_(ladder),
        memory_(memory),
        row_giving_(row_giving),
        view_counting_(view_counting),
        patterns_(patterns) {}

  /// After a verdict that passes the request: whether anything is left to observe, and what.
  bool must_observe() const noexcept;
  /// After a judgement with Options::answer: this answer changes nothing, so that it need not be
  /// observed. False: keep() and answered(), as ever. The request must still be there.
  bool settled_by(const Answer& answer);
  /// Takes it, out of the plan: plan() is empty then but for its list hits and its defect.
  void keep(Settlement& into);
  /// The answer (with its body, if answer_needs_body()) is here.
  bool answer_needs_body(const Settlement& settlement) const;
  /// Whether an enforced policy does, so that the app must be asked for one that can be read.
  bool wants_readable_answer(const Settlement& settlement) const;
  /// After answered(): why the body that policies asked for could not be read; none if it could, or
  /// nobody asked.
  MissReason unread_answer() const noexcept;
  void answered(Settlement& settlement, const Answer& answer, Instant now);
  /// The client left after its request had reached the app: counts as a match, never for `reset`.
  void aborted(Settlement& settlement, Instant now);
  /// The app gave no good answer, or got no request: reservations are released.
  void released(Settlement& settlement, Instant now);
  /// The replies to Settlement::closing are there: what rests on them is judged.
  void closed(Settlement& settlement, Instant now);
  /// Every so often while the request lasts: moves the end of the reservations and places in flight
  /// that the store holds for it. A request younger than `least` has nothing to renew yet.
  void renew(const Settlement& settlement, TimePoint now, milliseconds least);
  /// Last: gives back the place in flight.
  void ended(Settlement& settlement);

 private:
  /// What the answer says of something.
  enum class Told : std::uint8_t {
    no,
    yes,
    unread,   ///< it cannot be read
    unclear,  ///< it hangs on something of the request that cannot be read
  };
  void settle_in_store(Settlement& settlement, PlannedCounter& counter, bool looks_back);
  void read_in_store(Settlement& settlement, PlannedCounter& counter);
  void keep_for_closing(Settlement& settlement);
  Told came_true(const PlannedPolicy& planned);
  Told load_late_amount(const PlannedPolicy& planned, limiter::Amount& amount);
  bool settles_as_match(PlannedPolicy& planned, limiter::Amount& late, bool& late_known);
  void settle_reserved(Settlement& settlement, Instant now, bool every_one_matches);
  void judge_settled(Settlement& settlement, const PlannedPolicy& planned, Instant now);
  void apply_resets(Settlement& settlement, Instant now);

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
  StoreCalls& store_;
  Planning& planning_;
  Ladder& ladder_;
  Memory& memory_;
  RowGiving& row_giving_;
  ViewCounting& view_counting_;
  PatternJudging& patterns_;
};

}  // namespace weir::policies
