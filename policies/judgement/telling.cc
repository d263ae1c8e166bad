#include "policies/judgement/telling.h"

#include "policies/judgement/loaded.h"

namespace weir::policies {

void Telling::clear() {
  loaded.reset();
  key.clear();
  place.clear();
  payload.clear();
  verb = limiter::SharedVerb::add;
  steps = 0;
  enforced = shadow = -1;
  waits = among = remembered = was_certain = again = kept = false;
}

void append(const Telling& telling, Instant now, bool forgets, Asking& out) {
  const Pattern& pattern = telling.loaded->set->patterns[telling.pattern];
  limiter::PatternAsk ask;
  ask.pattern = pattern.shared.get();
  ask.key = telling.place;
  ask.event = {telling.time, telling.line, telling.steps, telling.among, {}};
  if (telling.waits) ask.event.payload = telling.payload;
  ask.forgets = forgets;
  Asking::Item& item = out.add_pattern(telling.verb, telling.key, ask, telling.id);
  const bool done = telling.verb == limiter::SharedVerb::done;
  item.op.at = done ? telling.time : now.wall - (now.now - telling.time);
  item.op.again = telling.again;
}

}  // namespace weir::policies
