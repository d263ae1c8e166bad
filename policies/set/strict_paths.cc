#include <algorithm>
#include <string>

#include "core/words.h"
#include "policies/set/compiler.h"

/// Where it matters how an app reads a path: on the routes of events that something which can
/// refuse counts or guards. Elsewhere the reading is the app's own business.
namespace weir::policies {
namespace {

void note(PolicySet& set, StrictRoutes& routes, EventIndex event, std::size_t reader) {
  const EventIndex base = set.events[event].base;
  if (base == kRequestEvent) routes.everywhere = true;
  routes.events[base] = true;
  if (!routes.has_reader(base, reader)) routes.readers[base].push_back(reader);
}

void note_policy(PolicySet& set, StrictRoutes& routes, const Policy& policy) {
  const auto note_events = [&](const Policy& of) {
    for (const Binding& binding : of.bindings) note(set, routes, binding.event, policy.index);
    for (const EventIndex guard : of.guards) note(set, routes, guard, policy.index);
  };
  note_events(policy);
  for (const PolicyIndex meter : policy.meters) note_events(set.policies[meter]);
}

/// Calls `use(path)` for each way to read a path of which PHP may run a segment: the script alone,
/// the segments after it, and the path without the first script.
template <class F>
void for_each_script_reading(std::string_view path, F use) {
  bool first = true;
  any_php_script(path, [&](std::size_t end) {
    const std::string_view script = path.substr(0, end), rest = path.substr(end);
    use(script);
    use(rest);
    const std::size_t start = script.rfind('/');
    if (first && start > 0) use(std::string(script.substr(0, start)).append(rest));
    first = false;
    return false;
  });
}

}  // namespace

bool StrictRoutes::has_reader(EventIndex event, std::size_t reader) const noexcept {
  return std::find(readers[event].begin(), readers[event].end(), reader) != readers[event].end();
}

void note_strict_paths(PolicySet& set) {
  for (StrictRoutes* routes : {&set.strict, &set.strict_in_shadow}) {
    routes->events.assign(set.events.size(), false);
    routes->readers.assign(set.events.size(), {});
  }
  for (const Policy& policy : set.policies) {
    if (policy.can_refuse) note_policy(set, set.strict, policy);
    if (policy.strict_in_shadow) note_policy(set, set.strict_in_shadow, policy);
  }
  for (std::size_t l = 0; l < set.lists.size(); ++l) {
    const List& list = set.lists[l];
    const bool can_refuse = !list.owner && list.kind != ListKind::allow && refuses(list.effect);
    if (!can_refuse) continue;
    for (const List::Binding& binding : list.bindings) {
      // A list of fields that every request has acts on each request, whatever its path.
      if (binding.event != kRequestEvent)
        note(set, set.strict, binding.event, set.policies.size() + l);
    }
  }
}

std::optional<EventIndex> PolicySet::doubtful_route(const StrictRoutes& of, std::string_view method,
                                                    const PathReadings& readings) const {
  if (!readings.is_ambiguous() && readings.named.empty() && !readings.has_script)
    return std::nullopt;
  std::optional<EventIndex> found;
  const auto look = [&](std::string_view path) {
    if (found || path.empty()) return;
    routes.match(method, path, [&](std::uint16_t id) {
      if (!found && of.events[id]) found = id;
    });
  };
  if (readings.is_ambiguous()) {
    look(readings.path);
    look(readings.forward);
    look(readings.lax);
    look(readings.named);
    look(readings.merged);
    for_each_script_reading(readings.lax, look);
    return found || !of.everywhere ? found : std::optional(kRequestEvent);
  }
  // A route that an app runs which reads the path in such a way, and a policy of which does not
  // see the request.
  const auto look_for_others = [&](std::string_view path) {
    if (found || path.empty()) return;
    routes.match(method, path, [&](std::uint16_t id) {
      if (found || !of.events[id]) return;
      const auto judges = [&](std::size_t reader) {
        bool sees = of.has_reader(kRequestEvent, reader);
        routes.match(method, readings.path,
                     [&](std::uint16_t also) { sees = sees || of.has_reader(also, reader); });
        return sees;
      };
      if (!std::all_of(of.readers[id].begin(), of.readers[id].end(), judges)) found = id;
    });
  };
  look_for_others(readings.named);  // `/users/.../pay`, `/graphql/..;/x`
  if (readings.has_script) for_each_script_reading(readings.path, look_for_others);
  return found;
}

}  // namespace weir::policies
