#pragma once

#include <optional>
#include <span>

#include "policies/judge/event_keys.h"
#include "policies/judge/ladder.h"
#include "policies/judgement/row_sink.h"

namespace weir::policies {

struct FlatPolicy;

/// Reports judgements to a RowSink. A policy that waits for the answer gives its rows at its
/// settlement, unless it refuses the request itself: then there will be no answer.
class RowGiving final {
 public:
  RowGiving(Judging& work, EventKeys& keys, Ladder& ladder) noexcept
      : work_(work), keys_(keys), ladder_(ladder) {}

  void give_row(RowSink& rows, const PlannedPolicy& planned, const PlannedCounter* counter,
                const Winner& won, std::optional<Number> limit, bool settled);
  void give_rows(RowSink& rows);
  /// Of the policies' own lists that refuse the event.
  void give_listed_rows(RowSink& rows);
  void give_settled_rows(RowSink& rows);
  /// The readings of policies, and the rungs that only flag.
  void give_flat_rows(RowSink& rows, std::span<const FlatPolicy> policies);
  /// The reading of an outcome that has come true and under no rung.
  void give_settled_row(RowSink& rows, const FlatPolicy& outcome);

 private:
  class RowMaker;

  Judging& work_;
  EventKeys& keys_;
  Ladder& ladder_;
};

}  // namespace weir::policies
