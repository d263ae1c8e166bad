#pragma once

#include "limiter/kinds/kinds.h"

namespace weir::limiter {

/// A log keeps the events of a key, oldest first, in a journal. Its range says which of them a
/// reading looks at, its fold computes their value (log_range.h, log_fold.h).
///
/// In time: of the last W or the last n; and every window of events that bring their own times.
extern const KindOps kLogOfAmounts, kLogOfMembers, kLogOfPresence;
/// Within a radius: one slot for each cell of a PlaceGrid. An event is added to its own cell. A
/// reading looks at that cell and up to eight around it. All nine are locked for that time, so that
/// add-if-below holds across their borders.
extern const KindOps kNearAmounts, kNearMembers, kNearPresence;

}  // namespace weir::limiter
