#include "policies/judge/route_plans.h"

#include <algorithm>

namespace weir::policies {

void RoutePlans::forget() {
  entries_.clear();
  used_ = 0;
  last_key_ = 0;
  last_ = nullptr;
}

RoutePlan* RoutePlans::find(std::uint64_t key, const std::vector<EventIndex>& bases) {
  if (entries_.empty()) entries_.resize(2 * kPlansMax);
  std::size_t at = (key * 0x9E37'79B9'7F4A'7C15U) >> 32 & (entries_.size() - 1);
  for (; entries_[at].key != key; at = (at + 1) & (entries_.size() - 1)) {
    if (entries_[at].key != 0) continue;
    if (used_ == kPlansMax) return nullptr;
    entries_[at].plan = make(bases);
    entries_[at].key = key;
    ++used_;
    break;
  }
  last_key_ = key;
  last_ = entries_[at].plan.get();
  return last_;
}

/// As EventMatching::match_family() and gather() find out for one request.
std::unique_ptr<RoutePlan> RoutePlans::make(const std::vector<EventIndex>& bases) const {
  auto out = std::make_unique<RoutePlan>();
  const PolicySet& set = *work_.set;
  const auto has = [](const std::vector<EventIndex>& events, EventIndex event) {
    return std::find(events.begin(), events.end(), event) != events.end();
  };
  for (const EventIndex base : bases) {
    for (const EventIndex index : set.family[base]) {  // parents precede their children
      const Event& event = set.events[index];
      const bool by_answer = event.when && event.when->side() == Side::answer;
      if (event.when && !by_answer) return out;  // each request for itself
      const bool certain = !by_answer && (index == base || has(out->events, event.parent));
      (certain ? out->events : out->open_events).push_back(index);
    }
  }
  out->is_constant = true;
  for (const auto* events : {&out->events, &out->open_events}) {
    for (const EventIndex event : *events) {
      const auto& watchers = set.watchers[event];
      out->watchers.insert(out->watchers.end(), watchers.begin(), watchers.end());
    }
  }
  std::stable_sort(out->watchers.begin(), out->watchers.end(), [](const auto& a, const auto& b) {
    return a.policy != b.policy ? a.policy < b.policy : a.binding < b.binding;
  });
  out->flat = make_flat_plan(work_, out->open_events, out->watchers);
  return out;
}

}  // namespace weir::policies
