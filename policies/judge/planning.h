#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"
#include "policies/judge/list_checks.h"
#include "policies/judge/store_calls.h"
#include "policies/judgement/judge_options.h"
#include "policies/judgement/trace.h"

namespace weir::policies {

/// The value that `last` remembers; none: null, an error, a list, or a text that is too long.
limiter::Datum datum_of(const Value& value);
/// An address as its canonical text, which `last` can remember; other values as they are.
Value spelled(Frame& frame, const Value& value);

/// Whether a binding of a policy decides about an event. none: the next binding is tried; takes:
/// this one decides, counted or not; unread: its condition cannot be read.
enum class BindingResult : std::uint8_t { none, takes, unread };

/// Plans the counting of an event for a policy: its key, its amount, its limits, and the counters
/// that it charges or reads. Reports missing parts.
/// Part of a Driver: one for each worker, used on the worker's thread.
class Planning final {
 public:
  Planning(Judging& work, EventKeys& keys, EventMatching& matching, ListChecks& lists,
           StoreCalls& store) noexcept
      : work_(work), keys_(keys), matching_(matching), lists_(lists), store_(store) {}

  BindingResult plan_policy(const Policy& policy, std::uint16_t binding_index, bool is_last,
                            bool as_if, Instant at, const JudgeOptions& options);
  void plan_plain(const Policy& policy, const Binding& binding, std::uint16_t binding_index);
  bool load_policy_key(const Policy& policy, const Binding& binding, Trace* trace) {
    return keys_.hash_key(binding.key, binding.key_id) || hash_with_gaps(policy, binding, trace);
  }
  void plan_unread_events(Instant at, const JudgeOptions& options);
  /// Applies `missing:` for a field that the event lacks. True: the policy continues without it
  /// (`missing: same`).
  bool missing(const Policy& policy, std::size_t field, std::string_view name, MissReason reason,
               Skip skip, Trace* trace);
  void keep_datum(PlannedCounter& planned);
  void note_ceilings(const Policy& policy, const Binding& binding, const PlannedPolicy& planned);

 private:
  bool in_time(const Policy& policy, bool counts, Instant at, bool dry);
  bool hash_with_gaps(const Policy& policy, const Binding& binding, Trace* trace);
  /// gap: the amount is missing, and `missing: same` judges the event by the present count.
  /// skips: the policy does without the event.
  enum class AmountLoad : std::uint8_t { loaded, missing_same, skips };
  AmountLoad load_amount(const Policy& policy, const Binding& binding, limiter::Amount& amount,
                         Trace* trace);
  std::optional<std::size_t> load_member(const Binding& binding, std::uint64_t& member);
  std::uint64_t member_with_gaps(const Binding& binding);
  bool refuses_unread(const Policy& policy, std::string_view name, MissReason reason);
  bool plan_limits(const Policy& policy, const Binding& binding);
  std::optional<Number> load_limit(const Limit& limit);
  void plan_counters(const Policy& policy, const Binding& binding, const limiter::Amount& amount,
                     PlannedPolicy& planned);
  PlannedCounter* find_planned(std::uint16_t index, const limiter::CounterKey& key);

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
  ListChecks& lists_;
  StoreCalls& store_;
  std::vector<std::optional<std::string_view>> dimensions_;
  std::vector<std::string> dimension_texts_;  // canonical
  std::uint32_t open_dimensions_ = 0;         // of the last table (ThresholdTable::find)
};

}  // namespace weir::policies
