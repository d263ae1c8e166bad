#include <algorithm>

#include "core/words.h"
#include "policies/set/compiler.h"

/// Where it matters how an app reads a path: on the routes of events that something which can
/// refuse counts or guards. Elsewhere the reading is the app's own business.
namespace weir::policies {

void note_strict_paths(PolicySet& set) {
  set.strict_events.assign(set.events.size(), false);
  const auto note = [&](EventIndex event) {
    const EventIndex base = set.events[event].base;
    if (base == kRequestEvent) set.strict_everywhere = true;
    set.strict_events[base] = true;
  };
  const auto note_policy = [&](const Policy& policy) {
    for (const Binding& binding : policy.bindings) note(binding.event);
    for (const EventIndex guard : policy.guards) note(guard);
  };
  for (const Policy& policy : set.policies) {
    if (!policy.can_refuse) continue;
    note_policy(policy);
    for (const PolicyIndex meter : policy.meters) note_policy(set.policies[meter]);
  }
  for (const List& list : set.lists) {
    const bool can_refuse = !list.owner && list.kind != ListKind::allow && refuses(list.effect);
    if (!can_refuse) continue;
    for (const List::Binding& binding : list.bindings) {
      // A list of fields that every request has acts on each request, whatever its path.
      if (binding.event != kRequestEvent) note(binding.event);
    }
  }
}

bool PolicySet::refuses_path(std::string_view method, const PathReadings& readings) const {
  if (!readings.is_ambiguous() && readings.named.empty()) return false;
  const auto is_strict = [&](std::string_view path) {
    bool found = false;
    if (path.empty()) return false;
    routes.match(method, path, [&](std::uint16_t id) { found = found || strict_events[id]; });
    return found;
  };
  if (readings.is_ambiguous()) {
    return strict_everywhere || is_strict(readings.path) || is_strict(readings.forward) ||
           is_strict(readings.lax) || is_strict(readings.named) || is_strict(readings.merged);
  }
  // A route that an app runs which does not fold, and that is not there for policies, which do:
  // `/users/.../pay`, `/graphql/..;/x`.
  bool dodges = false;
  routes.match(method, readings.named, [&](std::uint16_t id) {
    if (!strict_events[id]) return;
    bool judged = false;
    routes.match(method, readings.path, [&](std::uint16_t also) { judged = judged || also == id; });
    dodges = dodges || !judged;
  });
  return dodges;
}

}  // namespace weir::policies
