#include "policies/set/checks/door_checks.h"

#include <algorithm>

namespace weir::policies {
namespace {

bool watches_answers(const Policy& policy) {
  return std::any_of(policy.bindings.begin(), policy.bindings.end(),
                     [](const Binding& binding) { return binding.counts && binding.outcome; });
}

bool reads_body(const PolicySet& set, const Binding& binding) {
  const auto needs = [](const std::optional<Expression>& one) { return one && one->needs_body(); };
  if (needs(binding.when)) return true;
  for (EventIndex event = binding.event;; event = set.events[event].parent) {
    if (needs(set.events[event].when)) return true;
    if (set.events[event].parent == event) break;
  }
  return std::any_of(binding.key.begin(), binding.key.end(),
                     [&](const KeySlot& part) { return set.slots[part.slot].needs_body; }) ||
         std::any_of(binding.arguments.begin(), binding.arguments.end(),
                     [](const Expression& one) { return one.needs_body(); });
}

/// Whether a condition of the event, or of the policy for it, reads the body of every request.
bool reads_every_body(const PolicySet& set, const Binding& binding) {
  const auto needs = [](const std::optional<Expression>& one) { return one && one->needs_body(); };
  return set.events[binding.event].base == kRequestEvent &&
         (needs(binding.when) || needs(set.events[binding.event].when));
}

}  // namespace

void warn_of_bodies(const PolicySet& set, config::Problems& problems) {
  for (const Policy& policy : set.policies) {
    if (!policy.strict || policy.is_meter) continue;
    if (std::any_of(policy.bindings.begin(), policy.bindings.end(),
                    [&](const Binding& one) { return one.counts && reads_every_body(set, one); })) {
      problems.warning(policy.where,
                       "policy \"" + policy.name +
                           "\" has a condition on the body of every request: each request whose "
                           "body weir cannot read (a file, a text) is refused",
                       "watch an event with a match: POST /path");
    }
  }
}

void warn_of_doors(const config::Server& server, const PolicySet& set, config::Problems& problems) {
  const bool ext_authz = !server.api.none && server.api.ext_authz.has_value();
  const bool forward_auth = !server.api.none && !server.api.forward_auth.empty();
  const bool grpc = !server.grpc.none && server.grpc.listen.has_value();
  if (!ext_authz && !forward_auth && !grpc) return;
  const std::string door = ext_authz ? "ext_authz" : forward_auth ? "forward_auth" : "grpc";
  for (const Policy& policy : set.policies) {
    const std::string name = "policy \"" + policy.name + "\" ";
    if (watches_answers(policy)) {
      problems.warning(policy.where,
                       name + "watches the answer, which the door " + door + " does not see",
                       "the app must report it: POST /v1/events with the request_id of "
                       "X-Weir-Request-Id and the status; weir does not count answers that the app "
                       "does not report");
    } else if (policy.metric == Metric::in_flight && policy.has_metric) {
      problems.warning(
          policy.where,
          name + "counts requests in flight, and the door " + door + " does not see when one ends",
          "the app must tell of it (POST /v1/events with the request_id), or a request "
          "counts for all of authz.settle");
    }
    const bool body = std::any_of(policy.bindings.begin(), policy.bindings.end(),
                                  [&](const Binding& binding) { return reads_body(set, binding); });
    if (body && forward_auth) {
      problems.warning(policy.where,
                       name + "reads the body, which no proxy sends to the door forward_auth",
                       "what it reads is missing there; say what happens then: missing: same or "
                       "missing: deny, or let Envoy ask, with_request_body");
    }
  }
}

}  // namespace weir::policies
