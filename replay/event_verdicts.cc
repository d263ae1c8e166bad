#include "replay/event_verdicts.h"

#include "policies/set/actions.h"

namespace weir::replay {

void EventVerdicts::add(TimePoint time, policies::Action effect) {
  if (keep_ == Keep::all) all_.push_back(effect);
  if (keep_ == Keep::severe && effect != policies::Action::none)
    severe_.push_back({count_, time, effect});
  ++count_;
}

void EventVerdicts::apply(const EventVerdicts& other, Tally& tally) {
  for (const Severe& theirs : other.severe_) {
    policies::Action& ours = all_[theirs.at];
    if (policies::severity(theirs.effect) <= policies::severity(ours)) continue;
    tally.change(theirs.time, ours, theirs.effect);
    ours = theirs.effect;
  }
}

void EventVerdicts::clear() {
  count_ = 0;
  all_.clear();
  severe_.clear();
}

}  // namespace weir::replay
