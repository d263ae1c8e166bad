#include "policies/set/checks/refuses_all.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "policies/lang/extractors.h"

namespace weir::policies {
namespace {

/// Whether the condition says nothing.
bool always_holds(const std::optional<Expression>& condition) {
  if (!condition) return true;
  const auto constant = condition->constant();
  return constant && constant->is_true();
}

/// `request`, an event that is one without a condition of its own, or the route of any path.
bool is_every_request(const PolicySet& set, EventIndex index) {
  for (;; index = set.events[index].parent) {
    const Event& event = set.events[index];
    if (!always_holds(event.when)) return false;
    if (event.parent != index) continue;
    return index == kRequestEvent || event.route == "* /*";
  }
}

/// Whether each request has this field, whatever its client sends.
bool is_always_there(const Slot& slot) {
  constexpr std::string_view kAlways[] = {"ip", "method", "path", "url", "host", "scheme", "time"};
  return slot.extractor != nullptr && std::find(std::begin(kAlways), std::end(kAlways),
                                                slot.extractor->name) != std::end(kAlways);
}

bool grows_by_one(Metric metric) {
  return metric == Metric::count || metric == Metric::distinct || metric == Metric::in_flight;
}

/// Whether the rung holds for a request of a key of which nothing has been counted.
bool holds_at_once(const PolicySet& set, const Policy& policy, const Binding& binding,
                   std::size_t k) {
  const Rung& rung = policy.rungs[k];
  if (!always_holds(binding.rungs[k].condition) || rung.overflows) return false;
  if (rung.compare == Compare::none) return true;
  const auto* const limit = std::get_if<Number>(&binding.rungs[k].limit.source);
  if (limit == nullptr || !grows_by_one(policy.metric)) return false;
  const double reading = binding.counts ? 1 : 0;  // with the request itself
  switch (rung.compare) {
    case Compare::over:
      return reading > limit->as_real();
    case Compare::at:
      return reading >= limit->as_real();
    default:  // refused events are not counted, so that the count stays under the limit
      return binding.counts && !set.counters[policy.counters[rung.counter]].always &&
             reading < limit->as_real();
  }
}

const Rung* refusing_rung(const PolicySet& set, const Policy& policy, const Binding& binding) {
  for (std::size_t k = 0; k < policy.rungs.size(); ++k) {
    const Rung& rung = policy.rungs[k];
    if (!rung.shadow && !rung.disabled && refuses(rung.effect) &&
        holds_at_once(set, policy, binding, k))
      return &rung;
  }
  return nullptr;
}

/// Whether a verdict on the event, or on one that it is a kind of, applies.
bool is_judged(const PolicySet& set, const Policy& policy, EventIndex index) {
  if (!policy.guarded_only) return true;
  for (;; index = set.events[index].parent) {
    const bool guarded =
        std::find(policy.guards.begin(), policy.guards.end(), index) != policy.guards.end();
    if (guarded || set.events[index].parent == index) return guarded;
  }
}

/// A request that the policy may count holds a place until its answer: a threshold
/// that one event passes refuses it, and nothing is ever counted.
bool refuses_before_answers(const PolicySet& set, const Policy& policy, const Binding& binding) {
  const bool reserves = binding.counts && binding.outcome &&
                        (policy.metric == Metric::count || policy.metric == Metric::distinct);
  if (!reserves || !is_judged(set, policy, binding.event)) return false;
  const Rung* const rung = refusing_rung(set, policy, binding);
  return rung != nullptr && (rung->compare == Compare::over || rung->compare == Compare::at);
}

/// The fields without which the policy ignores a request: parts of the key, and the metric's
/// argument.
std::vector<std::string_view> missing_fields(const PolicySet& set, const Policy& policy,
                                             const Binding& binding) {
  std::vector<std::string_view> out;
  if (policy.missing != Missing::skip) return out;
  for (const KeySlot& part : binding.key) {
    const Slot& slot = set.slots[part.slot];
    if (!is_always_there(slot)) out.push_back(slot.text);
  }
  if (!takes_members(policy.metric)) return out;
  for (const Expression& argument : binding.arguments) {
    const auto slot = argument.slot();
    if (!slot || !is_always_there(set.slots[*slot])) out.push_back(argument.canonical());
  }
  return out;
}

/// `for which body.user has a value and path == "/a" holds and `; empty: all of them.
std::string condition_text(const PolicySet& set, const Policy& policy, const Binding& binding) {
  std::string out;
  for (const std::string_view field : missing_fields(set, policy, binding)) {
    out += out.empty() ? "for which " : " and ";
    out.append(field).append(" has a value");
  }
  if (!always_holds(binding.when)) {
    out += out.empty() ? "for which " : " and ";
    out += binding.when->canonical() + " holds";
  }
  return out.empty() ? out : out + " and ";
}

}  // namespace

void warn_of_refusing_all(const PolicySet& set, config::Problems& problems) {
  const bool some_pass = std::any_of(set.lists.begin(), set.lists.end(),
                                     [](const List& list) { return list.kind == ListKind::allow; });
  for (const Policy& policy : set.policies) {
    if (policy.is_meter || policy.pattern || policy.shadow || policy.reads_score) continue;
    for (const Binding& binding : policy.bindings) {
      if (refuses_before_answers(set, policy, binding)) {
        problems.warning(
            policy.where,
            "policy \"" + policy.name + "\" refuses every request " +
                condition_text(set, policy, binding) + "that may turn out to be \"" +
                set.events[binding.event].name +
                "\": each counts as one until its answer, the first one too",
            "write over: 1, which refuses once one has been counted and leaves room for the "
            "request itself");
        break;
      }
      if (some_pass) continue;
      const bool guarded = std::find(policy.guards.begin(), policy.guards.end(), binding.event) !=
                           policy.guards.end();
      if (policy.guarded_only ? !guarded : !binding.counts) continue;
      if (!always_holds(binding.when) || !is_every_request(set, binding.event)) continue;
      if (!missing_fields(set, policy, binding).empty()) continue;
      const Rung* const rung = refusing_rung(set, policy, binding);
      if (rung == nullptr) continue;
      problems.warning(
          policy.where,
          "policy \"" + policy.name + "\" refuses every request, the first one of a key too",
          !binding.counts
              ? "a guarded request is judged by the same rungs: with window: 1h and over: 0 only "
                "those keys are refused for which an event was counted"
          : rung->compare == Compare::none
              ? "watch an event, such as a login, or write when: or if: with a condition"
              : "raise the threshold, or watch an event, such as a login");
      break;
    }
  }
}

}  // namespace weir::policies
