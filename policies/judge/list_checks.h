#pragma once

#include <span>

#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"

namespace weir::policies {

/// Looks an event up in the lists: the lists that the event's fields belong to, a policy's own
/// lists, and `inList()` of expressions.
/// Part of a Driver: one for each worker, used on the worker's thread.
class ListChecks final : public ListOracle {
 public:
  ListChecks(Judging& work, EventKeys& keys, EventMatching& matching) noexcept
      : work_(work), keys_(keys), matching_(matching) {}

  /// False: a list decides, and no policy judges the event.
  bool look_at_lists(Instant at, Trace* trace) {
    return !work_.set->any_lists || ask_lists(at, trace);
  }
  bool contains(std::size_t list_index, std::span<const Value> key) const noexcept override;
  bool own_lists_refuse(const Policy& policy, std::uint16_t binding, Instant at);
  /// Whether one of the policy's own lists has an entry for the key that was hashed last.
  bool is_on_own_list(const Policy& policy, Instant at) const;
  bool refused_by_list() const;

 private:
  bool ask_lists(Instant at, Trace* trace);
  bool may_release(const List& list) const noexcept;

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
  mutable KeyBuilder list_builder_;  // inList(): an expression may ask while a key is half built
};

}  // namespace weir::policies
