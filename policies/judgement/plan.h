#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/key.h"
#include "limiter/kinds/counter_spec.h"
#include "policies/lang/extractors.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// The one instant that everything about a request sees.
struct Instant {
  TimePoint now;      ///< Clock::now(): windows over the past, lists
  TimePoint wall;     ///< Clock::wall(): `every` windows
  TimePoint event{};  ///< the event's own time, to counters of `clock: event`
  bool has_own_time =
      false;  ///< the event brings its time; otherwise it is not earlier than any other
  TimePoint of(const Counter& counter) const noexcept {
    return counter.spec.late ? event : counter.wall_clock ? wall : now;
  }
  limiter::Moment moment(const Counter& counter) const noexcept {
    return {of(counter), has_own_time || !counter.spec.late};
  }
  /// When the fixed or calendar window that it is now in ends; of other windows: when an event of
  /// now will have left it. On the counter's clock.
  TimePoint window_end(const Counter& counter) const noexcept;
  /// How long from now that is; by the clock also where events bring their own times.
  milliseconds window_left(const Counter& counter) const noexcept {
    return window_end(counter) - (counter.spec.late ? wall : of(counter));
  }
  /// How long its windows are; of a calendar, the one that it is now in.
  milliseconds window_length(const Counter& counter) const noexcept;
};

/// One counter of a request. Policies that need the same number share it: it is charged once.
struct PlannedCounter {
  std::uint16_t counter = 0;  ///< index into PolicySet::counters
  limiter::CounterKey key;
  limiter::Amount amount;
  bool counts = true;     ///< false: only read (guarded, not watched)
  bool reserves = false;  ///< outcome: settled by the answer
  /// Other policies have yet to decide elsewhere; an event that they refuse must not be counted
  /// meanwhile.
  bool provisional = false;  ///< counted by the store: reserved, settled at the verdict
  bool deferred = false;     ///< counted locally, after the others have decided
  bool has_ceiling = false;
  limiter::Ceiling ceiling;  ///< the lowest threshold that refuses
  limiter::Undo undo;
  limiter::Reading reading;
  Value datum;  ///< metric last: the value of the reading, kept in the frame's memory

  // Members for a counter that all replicas share.
  static constexpr std::uint16_t kNone = 0xffff;
  std::uint16_t shared_key = kNone;  ///< its key's spelling; kNone: it is counted here alone
  std::uint16_t asked = kNone;       ///< the operation that asks for it, in Judgement::asked
  std::uint8_t part = 0;             ///< and its part there
  bool in_store = false;             ///< the store has counted it, or holds its reservation
  bool closing = false;              ///< settled; `asked` is into Judgement::closing

  /// Whether the reading includes the event as if its answer matched. An amount that only the
  /// answer has, and that `reserve` does not estimate, is 0 until then.
  bool is_possible() const noexcept { return counts && reserves && !amount.amount.is_zero(); }

  bool counted() const noexcept { return undo.what != limiter::Undo::What::nothing || in_store; }

  /// The value that a rung compares, and the meaning of `value`; null: no value. `settled`: without
  /// the reservations of others.
  Value value(bool settled) const noexcept {
    if (!reading.has_value) return Value::null();
    if (reading.datum != nullptr) return datum;
    return Value::number(settled ? reading.settled : reading.value);
  }
};

/// One policy of a request.
struct PlannedPolicy {
  PolicyIndex policy = 0;
  std::uint16_t binding = 0;
  bool applies = true;  ///< the verdict is for this request (guard)
  bool counts = true;   ///< false: only reads
  bool reserves = false;
  bool matched = false;  ///< after settlement: the event that it reserved for has happened
  bool rowed = false;    ///< a RowSink has its reading already
  bool blind = false;    ///< the shared store is away, and the policy then has no effect
  std::int16_t reported_rung = -1;  ///< the rung that a RowSink has as its verdict
  std::uint32_t first_counter = 0;  ///< into Plan::counter_refs, one per Policy::counters
  std::uint32_t first_limit = 0;    ///< into Plan::limits, one per rung
};

/// One pattern of a request: its parts in it.
struct PlannedPattern {
  std::uint16_t pattern = 0;
  std::uint16_t binding = 0;  ///< of the first part; the key is by it
  Hash128 key;
  std::uint8_t steps = 0;       ///< bit k: it is step k for certain
  std::uint8_t open_steps = 0;  ///< bit k: the answer decides step k
  bool among = false;
  bool open_among = false;
  bool completes = false;  ///< for certain, when it was judged
  // Members for a pattern that all replicas share, as in PlannedCounter.
  std::uint16_t shared_key = PlannedCounter::kNone;
  std::uint16_t asked = PlannedCounter::kNone;
  bool looks = false;  ///< the store must be asked whether it completes one
  bool away = false;   ///< and could not be
  bool deferred() const noexcept { return open_steps != 0 || open_among; }
};

/// A list that has an entry for this request.
struct ListHit {
  ListIndex list = 0;
  TimePoint until{};
  std::uint16_t binding = 0;  ///< of a policy's own list: which of the policy's has the key
};

/// A request that is refused before any counting: a missing key part, an unreadable body, a store
/// that is away.
struct Defect {
  std::optional<PolicyIndex> policy;  ///< whose it is; or a list
  std::optional<ListIndex> list;
  int status = 0;
  std::string_view field;  ///< the unreadable field, as the policy names it; lives with the set
  MissReason why = MissReason::none;  ///< none: `field` says it all
  Tell tell = Tell::retry;
};

/// The status for a request whose body or parameters something that refuses cannot read; 0: that is
/// not why they are missing.
constexpr int defect_status(MissReason why) noexcept {
  switch (why) {
    case MissReason::too_large:
    case MissReason::too_costly:
      return 413;
    case MissReason::encoded:
      return 415;
    case MissReason::unreadable:
    case MissReason::ambiguous:
    case MissReason::path:
      return 400;
    default:
      return 0;
  }
}

/// Redis is away, and the policy has `on_error: deny`.
inline Defect store_defect(const Policy& policy) noexcept {
  return {policy.index, {}, 503, "the shared store", MissReason::none, policy.refusal_tell};
}

/// Whether a flood of new keys must not evict the counts of this rung's callers: callers that it
/// refuses or lists. Reaching a rung that only flags costs one request per key, which any client
/// can send.
inline bool holds_caller(const Rung& rung, Action effect) noexcept {
  return refuses(effect) || (effect != Action::none && rung.list.has_value());
}

/// The findings of begin() about a request. Reused: keeps its memory.
struct Plan {
  std::vector<EventIndex> bases;        ///< `request` and the base events whose routes match
  std::vector<EventIndex> events;       ///< the events that happened for certain
  std::vector<EventIndex> open_events;  ///< the events that only the answer decides
  std::vector<PlannedPolicy> policies;
  std::vector<PlannedCounter> counters;
  std::vector<std::uint16_t> counter_refs;
  std::vector<std::optional<Number>> limits;
  std::vector<PlannedPattern> patterns;
  std::vector<ListHit> lists;
  std::vector<std::uint16_t> open_views;  ///< the answer decides their counts
  std::optional<ListHit> allowed;         ///< an allow list ended judging
  std::optional<Defect> defect;
  std::vector<Defect> would_refuse;       ///< the same, of policies in shadow mode
  std::vector<EventIndex> unread_events;  ///< whose `when` depends on an unreadable field
  bool provisional = false;               ///< some counter is

  /// No policy, list or pattern applies: so it is for most records where only views count.
  bool is_silent() const noexcept {
    return policies.empty() && lists.empty() && patterns.empty() && !allowed && !defect &&
           would_refuse.empty();
  }

  void clear() {
    bases.clear();
    events.clear();
    open_events.clear();
    policies.clear();
    counters.clear();
    counter_refs.clear();
    limits.clear();
    patterns.clear();
    lists.clear();
    open_views.clear();
    allowed.reset();
    defect.reset();
    would_refuse.clear();
    unread_events.clear();
    provisional = false;
  }
};

}  // namespace weir::policies
