#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/event.h"
#include "policies/judge/event_keys.h"
#include "policies/judge/route_plans.h"
#include "policies/judgement/occurrence.h"
#include "policies/judgement/trace.h"

namespace weir::policies {

/// Finds the events that a request or a record is: events that happened for certain, events that
/// only the answer decides, and, once the answer is here, its decision.
/// Part of a Driver: one for each worker, used on the worker's thread.
class EventMatching final {
 public:
  EventMatching(Judging& work, EventKeys& keys) noexcept
      : work_(work), keys_(keys), routes_(work) {}

  const std::shared_ptr<const Loaded>& loaded() const noexcept { return work_.loaded; }
  /// The result of gather() or gather_policies().
  const std::vector<PolicySet::Watcher>& candidates() const noexcept { return *found_; }
  /// The flat plan of the event that match() has matched; null: it has none.
  FlatPlan* flat_plan() const noexcept { return route_ != nullptr ? route_->flat.get() : nullptr; }
  /// The slots to be kept for the answer.
  std::vector<SlotId>& captures() noexcept { return captures_; }
  void use(std::shared_ptr<const Loaded> loaded);
  /// Whether some policy reads the body of such a request before it is judged.
  bool wants_body(const Request& request);
  void next_epoch();
  /// Says which events it is, in the plan. `prepared` may be null.
  void match(const Occurrence& occurrence, const Prepared* prepared, Trace* trace);
  /// Makes it the judgement under way; null: none is.
  void turn_to(Judgement* judgement) noexcept { work_.judgement = judgement; }
  void mark_happened(EventIndex event) noexcept;
  void happen(const std::vector<EventIndex>& open_events);
  void mark_planned();  ///< marks the events of the plan
  bool happened(EventIndex event) const noexcept {
    return event_marks_.data()[event] == epoch_ * 4 + kHappened;
  }
  /// Call it if the answer is here and cannot be read.
  bool is_unread(EventIndex event) const noexcept {
    return event_marks_.data()[event] == epoch_ * 4 + kUnread;
  }
  bool may_happen(EventIndex event) const noexcept {
    return happened(event) || event_marks_.data()[event] == epoch_ * 4 + kOpen;
  }
  /// Collects the watchers of events that happened, or may have, in candidates_, in the order of
  /// the file.
  void gather(const std::vector<std::vector<PolicySet::Watcher>>& watchers);
  /// The same for the policies; found once for each route.
  void gather_policies();
  void note_capture(SlotId id);

 private:
  void match_request(const Request& request, const Prepared* prepared, Trace* trace);
  void match_route(const RoutePlan& route);
  void match_record(const Record& record, Trace* trace);
  void match_family(EventIndex base, Trace* trace);

  Judging& work_;
  EventKeys& keys_;
  // The meaning of a mark, besides the epoch in which it was set.
  static constexpr std::uint32_t kHappened = 1, kOpen = 2, kUnread = 3;
  std::vector<std::uint32_t> event_marks_;  // by event: epoch * 4 + state
  std::uint32_t epoch_ = 0;
  std::vector<PolicySet::Watcher> candidates_;
  const std::vector<PolicySet::Watcher>* found_ = &candidates_;
  RoutePlans routes_;
  RoutePlan* route_ = nullptr;  // of the event, if it is constant
  bool any_body_ = false;       // some event of the set needs the body of its requests
  std::vector<SlotId> captures_;
};

/// The guard for operations that continue or end an earlier judgement. While it lives, the driver
/// works with the set that judged, which a reload may have replaced since. Operations that are made
/// meanwhile belong to that set, and keep it alive until the store has replied
/// (StoreCalls::add_best_effort()). Indices of a Plan have no meaning in another set.
class SetInUse {
 public:
  /// Makes it the judgement under way as well.
  SetInUse(EventMatching& matching, Judgement& judgement) : SetInUse(matching, judgement.loaded) {
    matching.turn_to(&judgement);
    turned_ = true;
  }
  SetInUse(EventMatching& matching, const std::shared_ptr<const Loaded>& loaded)
      : matching_(matching) {
    if (loaded == matching.loaded()) return;  // nearly always
    before_ = matching.loaded();
    matching.use(loaded);
  }
  ~SetInUse() {
    if (turned_) matching_.turn_to(nullptr);
    if (before_ != nullptr) matching_.use(std::move(before_));
  }
  SetInUse(const SetInUse&) = delete;
  SetInUse& operator=(const SetInUse&) = delete;

 private:
  EventMatching& matching_;
  std::shared_ptr<const Loaded> before_;  // null: that one is in use already
  bool turned_ = false;
};

}  // namespace weir::policies
