#include "policies/judgement/settlement.h"

namespace weir::policies {

void Settlement::clear() {
  loaded.reset();
  captured.clear();
  events.clear();
  open_events.clear();
  policies.clear();
  counters.clear();
  counter_refs.clear();
  limits.clear();
  in_flight.clear();
  asked.clear();
  closing.clear();
  views.clear();
  judged = true;
  patterns.clear();
  reserved = false;
}

}  // namespace weir::policies
