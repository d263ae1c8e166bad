#include <algorithm>
#include <boost/json/array.hpp>
#include <limits>

#include "admin/operator/counts.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "core/chars/ascii.h"
#include "net/http/fields.h"

namespace weir::admin {
namespace {

constexpr std::size_t kPoliciesMax = 1000;

// Whether the name has the text, whatever its case.
bool has_text(std::string_view name, std::string_view text) {
  const auto same = [](char a, char b) { return ascii::lower(a) == ascii::lower(b); };
  return std::search(name.begin(), name.end(), text.begin(), text.end(), same) != name.end();
}

}  // namespace

net::HttpReply get_policies(Call& call) {
  if (auto refused = call.refuse_unknown({"search", "limit", "after"})) return std::move(*refused);
  std::size_t limit = std::numeric_limits<std::size_t>::max(), after = 0;
  if (!call.read_count("limit", 1, kPoliciesMax, limit))
    return problem(400, "`limit` is a number from 1 to " + std::to_string(kPoliciesMax));
  if (!call.read_count("after", 0, call.set->policies.size(), after))
    return problem(400, "`after` is what a page before gave as `next`");
  const std::string search(call.query.one("search").value_or(""));
  boost::json::array rows, disabled;
  std::size_t found = 0;
  boost::json::value next;
  for (std::size_t i = 0; i < call.set->policies.size(); ++i) {
    const policies::Policy& policy = call.set->policies[i];
    if (policy.is_meter || !has_text(policy.name, search)) continue;
    ++found;
    if (i < after || !next.is_null()) continue;
    if (rows.size() == limit)
      next = i;
    else
      rows.push_back(policy_view(call, policy));
  }
  for (const std::string& name : call.set->disabled) {
    if (has_text(name, search)) disabled.emplace_back(name);
  }
  return json_reply({{"policies", std::move(rows)},
                     {"disabled", std::move(disabled)},
                     {"found", found},
                     {"next", std::move(next)}});
}

net::HttpReply get_policy(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  const policies::Policy* const policy = call.set->find_policy(call.name());
  if (policy == nullptr && is_disabled(*call.set, call.name()))
    return json_reply(disabled_policy_view(call, call.name()));
  if (policy == nullptr) return problem(404, why_no_policy(*call.set, call.name()));
  if (policy->is_meter) {
    return problem(404, "this is a metric, not a policy: see the metrics of " +
                            policy->name.substr(0, policy->name.rfind('.')));
  }
  return json_reply(policy_view(call, *policy));
}

}  // namespace weir::admin
