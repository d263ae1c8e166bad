#include "policies/judgement/pattern_message.h"

#include "policies/judgement/loaded.h"
#include "policies/judgement/plan.h"

namespace weir::policies {

void PatternMessage::clear() {
  loaded.reset();
  key.clear();
  place.clear();
  payload.clear();
  verb = limiter::SharedVerb::add;
  steps = 0;
  enforced = shadow = -1;
  refusals = 0;
  waits = among = remembered = was_certain = again = kept = false;
}

void append(const PatternMessage& message, Instant now, bool forgets, StoreOps& out) {
  const Pattern& pattern = message.loaded->set->patterns[message.pattern];
  limiter::PatternAsk ask;
  ask.pattern = pattern.shared.get();
  ask.key = message.place;
  ask.event = {message.time, message.line, message.steps, message.among, {}};
  if (message.waits) ask.event.payload = message.payload;
  ask.forgets = forgets;
  StoreOps::Item& item = out.add_pattern(message.verb, message.key, ask, message.id);
  const bool done = message.verb == limiter::SharedVerb::done;
  item.op.at = done ? message.time : now.wall - (now.now - message.time);
  item.op.again = message.again;
}

}  // namespace weir::policies
