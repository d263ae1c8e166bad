#include "policies/judgement/judgement.h"

#include <algorithm>

#include "core/assert.h"

namespace weir::policies {
namespace {

/// Whether one of the events that it is, or may be, is marked.
bool is_any_marked(const Plan& plan, const std::vector<bool>& marks) {
  const auto is_marked = [&](EventIndex event) { return marks[event]; };
  return std::any_of(plan.open_events.begin(), plan.open_events.end(), is_marked) ||
         std::any_of(plan.events.begin(), plan.events.end(), is_marked);
}

}  // namespace

bool Judgement::needs_answer_body() const {
  WEIR_ASSERT(is_open());
  return is_any_marked(plan, loaded->set->needs_answer_body);
}

bool Judgement::wants_readable_answer() const {
  WEIR_ASSERT(is_open());
  const PolicySet& set = *loaded->set;
  return set.any_readable_answer && is_any_marked(plan, set.wants_readable_answer);
}

void Judgement::begin(Instant now, TimePoint when, std::uint64_t where) {
  WEIR_ASSERT(is_closed() && loaded == nullptr);
  phase = Phase::planned;
  observes = reserved = open_patterns = settling = ended = false;
  plan.clear();
  at = now;
  happened = when;
  line = where;
  if (!asked.empty()) asked.clear();
}

}  // namespace weir::policies
