#include <boost/json/array.hpp>

#include "admin/routes.h"
#include "admin/views.h"

namespace weir::admin {

net::HttpReply get_policies(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  boost::json::array rows, disabled;
  for (const policies::Policy& policy : call.set->policies) {
    if (!policy.is_meter) rows.push_back(policy_view(call, policy));
  }
  for (const std::string& name : call.set->disabled) disabled.emplace_back(name);
  return json_reply({{"policies", std::move(rows)}, {"disabled", std::move(disabled)}});
}

net::HttpReply get_policy(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  const policies::Policy* const policy = call.set->find_policy(call.name());
  if (policy == nullptr) return problem(404, "there is no policy of that name");
  if (policy->is_meter) {
    return problem(404, "this is a metric, not a policy: see the metrics of " +
                            policy->name.substr(0, policy->name.rfind('.')));
  }
  return json_reply(policy_view(call, *policy));
}

}  // namespace weir::admin
