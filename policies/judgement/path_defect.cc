#include "policies/judgement/path_defect.h"

#include <algorithm>

namespace weir::policies {
namespace {

constexpr std::string_view kField = "path";

/// Whether the policy counts or guards such a route; it does with those that all requests are.
bool concerns(const PolicySet& set, const Policy& policy, EventIndex route) {
  const auto is_it = [&](EventIndex event) {
    const EventIndex base = set.events[event].base;
    return base == route || base == kRequestEvent;
  };
  const auto has_it = [&](const Policy& of) {
    return std::any_of(of.bindings.begin(), of.bindings.end(),
                       [&](const Binding& binding) { return is_it(binding.event); }) ||
           std::any_of(of.guards.begin(), of.guards.end(), is_it);
  };
  return has_it(policy) ||
         std::any_of(policy.meters.begin(), policy.meters.end(),
                     [&](PolicyIndex meter) { return has_it(set.policies[meter]); });
}

Defect defect_of(const Policy& policy) {
  return {policy.index,       {}, defect_status(MissReason::path), kField, MissReason::path,
          policy.refusal_tell};
}

}  // namespace

std::optional<Defect> path_defect(const PolicySet& set, const Request& request) {
  const auto route = set.doubtful_route(set.strict, request.method, *request.readings);
  if (!route) return std::nullopt;
  for (const Policy& policy : set.policies) {
    if (policy.can_refuse && !policy.is_meter && concerns(set, policy, *route))
      return defect_of(policy);
  }
  for (ListIndex index = 0; index < set.lists.size(); ++index) {
    const List& list = set.lists[index];
    const bool acts = !list.owner && list.kind != ListKind::allow && refuses(list.effect) &&
                      std::any_of(list.bindings.begin(), list.bindings.end(), [&](const auto& use) {
                        return set.events[use.event].base == *route;
                      });
    if (!acts) continue;
    return Defect{{}, index, defect_status(MissReason::path), kField, MissReason::path, list.tell};
  }
  return std::nullopt;
}

void add_path_defects_in_shadow(const PolicySet& set, const Request& request,
                                std::vector<Defect>& out) {
  const auto route = set.doubtful_route(set.strict_in_shadow, request.method, *request.readings);
  if (!route) return;
  for (const Policy& policy : set.policies) {
    if (policy.strict_in_shadow && !policy.is_meter && concerns(set, policy, *route))
      out.push_back(defect_of(policy));
  }
}

}  // namespace weir::policies
