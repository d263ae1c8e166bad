#pragma once

#include "core/clock.h"
#include "core/event.h"
#include "gate/judge.h"
#include "net/wheel.h"

/// The steps that every front door takes around its Judge.
namespace weir::gate {

/// Judges a request, or resumes its judgement that waited for the store, and parks it if it
/// has to wait. A request that finds the queue full is judged once more, and does not wait for
/// others then. Effect `wait`: the request is parked.
inline Decision judge_or_park(Judge& judge, const Request& request, TimePoint now, bool may_wait,
                              Waiter& waiter) {
  Decision decision = waiter.waits_for_store() ? judge.resume(request, now, may_wait, waiter)
                                               : judge.judge(request, now, may_wait, waiter);
  while (decision.effect.kind == Effect::Kind::wait && !judge.park(waiter, decision, now)) {
    decision = judge.judge(request, now, false, waiter);
  }
  return decision;
}

/// The part of Waiter::resume() that is the same at every door. `judge_again(may_wait)` calls
/// judge_or_park(), and returns whether the request is parked again. If it is not, the wait ends:
/// the next request of this waiter gets a deadline of its own. False: the wait has ended.
template <class JudgeAgain>
bool judge_resumed(Judge& judge, Waiter& waiter, TimePoint now, JudgeAgain judge_again) {
  if (judge_again(now < judge.waiting_until(waiter))) return true;
  judge.unpark(waiter);
  return false;
}

/// Arms the timer of a door for a request that is parked, and whose caller waits until `deadline`
/// (max: it is unknown). The judge bounds the wait for others; the caller may wait for less. The
/// shared store answers within its own budget, and a second judgement in that time would count the
/// event twice: then there is no timer.
inline void expect_others_by(TimePoint deadline, const Waiter& waiter, net::Wheel& wheel,
                             net::Timer& timer) noexcept {
  net::Wheel::disarm(timer);
  if (!waiter.waits_for_store() && deadline != TimePoint::max()) wheel.arm(timer, deadline);
}

}  // namespace weir::gate
