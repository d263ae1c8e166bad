#pragma once

#include <optional>
#include <string_view>

#include "core/value.h"
#include "limiter/kinds/counter_spec.h"
#include "policies/judgement/plan.h"
#include "policies/lang/extractors.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Why a policy did not take part in a judgement.
enum class Skip : std::uint8_t {
  disabled,        ///< mode: disabled
  not_watched,     ///< no event that it watches or guards happened
  when_false,      ///< its `when` is false
  when_null,       ///< its `when` reads something missing, or failed
  when_unread,     ///< it is unknown whether its `when`, or its event's, holds
  key_missing,     ///< a key part is missing
  amount_missing,  ///< the amount or a member is missing
  amount_refused,  ///< a negative or non-finite amount
  exempt,          ///< an allow list ended judging
  late,            ///< later than `late` allows: not counted
  listed,          ///< its own list refuses the key: uncounted
  denied,          ///< a deny list ended judging
};
std::string_view skip_text(Skip skip) noexcept;

/// Follows one judgement, for `explain`: the hot path has none. Called in the order of the
/// decisions, with the data of each decision.
class Trace {
 public:
  virtual ~Trace() = default;
  enum class Happened : std::uint8_t {
    yes,
    no,
    open,    ///< the answer decides
    unread,  ///< undecidable: its `when` depends on an unreadable value
  };
  virtual void event(const Event& event, Happened happened) = 0;
  virtual void list(const List& list, std::optional<TimePoint> until, std::string_view why) = 0;
  virtual void skipped(const Policy& policy, Skip skip, std::string_view field,
                       MissReason reason) = 0;
  virtual void counted(const Policy& policy, const Binding& binding, const Counter& counter,
                       const PlannedCounter& planned) = 0;
  virtual void rung(const Policy& policy, std::size_t rung, const Value& value,
                    std::optional<Number> limit, bool holds) = 0;
  /// The role of the event in a pattern, and the open matches of its key.
  virtual void pattern(const Policy& policy, const PlannedPattern& planned,
                       const limiter::PatternView& view) = 0;
};

}  // namespace weir::policies
