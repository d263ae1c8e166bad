#include "policies/set/checks/call_checks.h"

#include <algorithm>

#include "config/sections/descriptors.h"

namespace weir::policies {
namespace {

constexpr const char* kWatchRequests =
    "the rate limit service does not see when a request ends; watch `request` at ext_authz";

bool is_call(const PolicySet& set, EventIndex event) {
  return !set.events[set.events[event].base].calls.empty();
}

/// Reports something that only requests can do. It is an error if the configuration watches nothing
/// but calls: it would never happen.
void report(bool calls_alone, const config::Where& where, const std::string& message,
            config::Problems& problems) {
  if (calls_alone) {
    problems.error(where, message, kWatchRequests);
  } else {
    problems.warning(where, message, kWatchRequests);
  }
}

/// Envoy may send the hits after the answer of the app (`apply_on_stream_done`), for which it does
/// not ask whether they may pass.
void warn_of_late_hits(const config::PolicyDef& def, const config::PolicyDef& owner,
                       const PolicySet& set, const Policy& policy, config::Problems& problems) {
  if (def.charge.value == config::Charge::always || config::is_count_of_hits(def.metric)) return;
  if (std::none_of(owner.then.begin(), owner.then.end(),
                   [](const config::Rung& rung) { return refuses(rung.action.value); }))
    return;
  const auto hits = set.slots.find("hits_addend");
  if (!hits) return;
  const bool sums =
      std::any_of(policy.bindings.begin(), policy.bindings.end(), [&](const Binding& binding) {
        return binding.counts && is_call(set, binding.event) &&
               std::any_of(binding.arguments.begin(), binding.arguments.end(),
                           [&](const Expression& amount) {
                             const auto slots = amount.slots();
                             return std::find(slots.begin(), slots.end(), *hits) != slots.end();
                           });
      });
  if (!sums) return;
  problems.warning(def.metric.where,
                   "policy \"" + policy.name +
                       "\" does not count hits that would go over its limit, and hits that Envoy "
                       "sends after the answer (apply_on_stream_done) are spent by then",
                   "write charge: always, which counts them too");
}

}  // namespace

void check_event_of_calls(const config::EventDef& def, const PolicySet& set, EventIndex index,
                          config::Problems& problems) {
  const Event& event = set.events[index];
  if (!event.when || event.when->side() != Side::answer || !is_call(set, index)) return;
  problems.error(def.when->where,
                 "event \"" + event.name +
                     "\" depends on an answer, and a call of the rate limit service has none",
                 kWatchRequests);
}

void check_view_of_calls(const config::ViewDef& def, const PolicySet& set,
                         const View::Binding& binding, config::Problems& problems) {
  if (!binding.outcome || set.events[binding.event].outcome || !is_call(set, binding.event)) return;
  problems.error(def.when ? def.when->where : def.name.where,
                 "view \"" + def.name.value +
                     "\" depends on an answer, and a call of the rate limit service has none",
                 kWatchRequests);
}

void check_counts_of_calls(const config::PolicyDef& def, const config::PolicyDef& owner,
                           const PolicySet& set, const Policy& policy, config::Problems& problems) {
  bool calls = false, others = false, outcome = false;
  for (const Binding& binding : policy.bindings) {
    if (!binding.counts) continue;
    const bool call = is_call(set, binding.event);
    calls = calls || call;
    others = others || !call;
    // Events that an answer decides are reported themselves.
    outcome = outcome || (call && binding.outcome && !set.events[binding.event].outcome);
  }
  if (!calls) return;
  const std::string name = "policy \"" + policy.name + "\" ";
  if (policy.has_metric && policy.metric == Metric::in_flight) {
    report(!others, def.metric.where,
           name +
               "counts requests in flight, and a call of the rate limit service is never in "
               "flight",
           problems);
  } else if (outcome) {
    report(!others, def.when ? def.when->where : def.name.where,
           name + "depends on an answer, and a call of the rate limit service has none", problems);
  }
  warn_of_late_hits(def, owner, set, policy, problems);
}

void warn_of_rungs_over_calls(const config::PolicyDef& def, const PolicySet& set,
                              const Policy& policy, config::Problems& problems) {
  if (std::none_of(policy.bindings.begin(), policy.bindings.end(),
                   [&](const Binding& binding) { return is_call(set, binding.event); }))
    return;
  const std::string rung = "a rung of policy \"" + policy.name + "\" ";
  for (const config::Rung& one : def.then) {
    if (one.action.value == Action::delay) {
      problems.warning(one.action.where,
                       rung +
                           "holds requests, and the rate limit service answers at once: a "
                           "request that is over passes",
                       "write do: deny, or watch `request` at ext_authz");
    } else if (one.action.value == Action::challenge) {
      problems.warning(one.action.where,
                       rung +
                           "challenges, and the rate limit service only says that a request is "
                           "over: Envoy refuses it with 429",
                       "write do: deny, or watch `request` at ext_authz");
    } else if (one.status && one.status->value != 429) {
      problems.warning(one.status->where,
                       rung +
                           "has a status, and the rate limit service does not say one: Envoy "
                           "answers 429",
                       "write rate_limited_status in Envoy's rate limit filter, or watch `request` "
                       "at ext_authz");
    }
  }
}

}  // namespace weir::policies
