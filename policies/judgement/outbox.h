#pragma once

#include "core/clock.h"
#include "policies/judgement/store_ops.h"

namespace weir::policies {

class PatternJudging;
struct Judgement;

/// The way from a Driver to the shared store, with three promises. The implementation decides
/// whether the replies come at once or later; all calls come from within calls of the driver.
class Outbox {
 public:
  virtual ~Outbox() = default;

  /// Awaited: submits the questions of the judgement (`asked`), or of its settlement (`closing`).
  /// True: all replies are there. False: they will come; the owner of the judgement then calls
  /// Driver::resume(), or Driver::replied() for `closing`.
  virtual bool ask(Judgement& judgement, StoreOps& operations, TimePoint now) = 0;

  /// Best effort: the replies are not awaited. Leaves `operations` empty.
  virtual void send(StoreOps& operations, TimePoint now) = 0;

  /// Must arrive, in this order: takes PatternJudging::messages().
  virtual void deliver(PatternJudging& patterns, TimePoint now) = 0;

  /// After every call that may have counted something: sends the exchanged counts that are due.
  virtual void exchange(TimePoint /*now*/) {}

  /// Fires deadlines of shared patterns at or before the watermark, if this outbox watches them.
  virtual void fire_due(PatternJudging& /*patterns*/, TimePoint /*watermark*/) {}
};

}  // namespace weir::policies
