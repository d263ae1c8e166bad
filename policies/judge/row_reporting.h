#pragma once

#include <optional>
#include <span>

#include "policies/judge/event_keys.h"
#include "policies/judge/ladder.h"
#include "policies/judgement/row_sink.h"

namespace weir::policies {

struct FlatPolicy;

/// Reports judgements to a RowSink. A policy that waits for the answer gives its verdict with the
/// request, as all do, and its reading at its settlement, unless it refuses the request itself:
/// then there will be no answer.
class RowReporting final {
 public:
  RowReporting(Judging& work, EventKeys& keys, Ladder& ladder) noexcept
      : work_(work), keys_(keys), ladder_(ladder) {}

  void give_rows(RowSink& rows);
  /// Reports the policies' own lists that refuse the event.
  void give_listed_rows(RowSink& rows);
  void give_settled_rows(RowSink& rows);
  /// Reports a pattern that the answer has completed.
  void give_remembered(RowSink& rows, const PlannedPolicy& planned, const Winner& won);
  /// The readings of policies, and the rungs that only flag.
  void give_flat_rows(RowSink& rows, std::span<const FlatPolicy> policies);
  /// The reading of an outcome that has come true and under no rung.
  void give_settled_row(RowSink& rows, const FlatPolicy& outcome);

 private:
  class RowMaker;
  std::optional<Number> limit_of(const PlannedPolicy& planned, const Winner& won) const;
  const PlannedCounter* counter_of(const PlannedPolicy& planned) const;

  Judging& work_;
  EventKeys& keys_;
  Ladder& ladder_;
};

}  // namespace weir::policies
