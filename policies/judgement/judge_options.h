#pragma once

#include <cstdint>
#include <optional>

#include "core/clock.h"
#include "core/event.h"
#include "policies/judgement/prepared.h"
#include "policies/judgement/row_sink.h"
#include "policies/judgement/trace.h"

namespace weir::policies {

/// The events for which Judgement::plan is read. Other events need no plan.
enum class PlanOf : std::uint8_t {
  all,
  loud,  ///< those of which some rung holds
  none,  ///< only verdicts and rows are read
};

/// How an event is to be judged.
struct JudgeOptions {
  bool may_wait = true;  ///< a Verdict of kind wait may be given
  /// A `delay` that holds the event for longer refuses it instead. Below 0: each does, because
  /// nothing more can be held.
  milliseconds longest_hold = milliseconds::max();
  bool dry = false;  ///< change nothing, only compute the verdict
  /// Count the event in every counter, even if a policy refuses it.
  bool insists = false;
  /// An event that is passed stays open although its answer changes nothing: the caller reads the
  /// result (Driver::value()).
  bool keep_open = false;
  PlanOf plan_of = PlanOf::all;
  Trace* trace = nullptr;
  RowSink* rows = nullptr;  ///< takes the readings and verdicts, also at the answer; for replay
  /// The time of the event for patterns and views; none: now. Live, their deadlines and windows end
  /// by the clock, so an event happens when it is reported; files have the times of their rows.
  std::optional<TimePoint> happened;
  /// The event's own time, for policies of `clock: event`; none: it has none, so that it happens
  /// now. Nothing happens later than now.
  std::optional<TimePoint> own_time;
  std::uint64_t line =
      0;  ///< the number of the event's line in its file; 0: nowhere, or as its Record says
  /// The app's answer, if it is already known, as in a log: nothing needs to be reserved for it,
  /// and most answers leave nothing to observe.
  const Answer* answer = nullptr;
  const Prepared* prepared = nullptr;  ///< of a request that arrived as one; null: nothing is known
};

}  // namespace weir::policies
