#include "replay/event_verdicts.h"

#include "core/words.h"

namespace weir::replay {

void EventVerdicts::apply(const EventVerdicts& other, Tally& tally) {
  for (const Severe& theirs : other.severe_) {
    Action& ours = all_[theirs.at];
    if (severity(theirs.effect) <= severity(ours)) continue;
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
