#include "policies/judgement/loaded.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weir::policies {

namespace {

/// Whether a condition of the policy or of its events may depend on unreadable fields. It is
/// counted under `when`, unless a part of the key has this name.
bool reads_conditions(const PolicySet& set, const Policy& policy) {
  const auto asks = [](const std::optional<Expression>& when) {
    return when && when->side() == Side::request && when->client_asserted();
  };
  const auto asks_of = [&](const Binding& binding) {
    if (asks(binding.when)) return true;
    for (EventIndex at = binding.event;; at = set.events[at].parent) {
      if (asks(set.events[at].when)) return true;
      if (set.events[at].parent == at) return false;
    }
  };
  const auto& names = policy.key_names;
  return std::find(names.begin(), names.end(), "when") == names.end() &&
         std::any_of(policy.bindings.begin(), policy.bindings.end(), asks_of);
}

}  // namespace

std::shared_ptr<const Loaded> load_on_worker(std::shared_ptr<const PolicySet> set, StatsBank& stats,
                                             std::size_t worker) {
  auto loaded = std::make_shared<Loaded>();
  for (const Policy& policy : set->policies) {
    std::vector<std::string> fields = policy.key_names;
    for (const Expression& argument : policy.bindings.front().arguments)
      fields.push_back(argument.canonical());
    if (reads_conditions(*set, policy)) fields.emplace_back("when");
    loaded->policy_cells.push_back(stats.open("policy", policy.name, worker, fields));
  }
  for (const List& list : set->lists) {
    loaded->list_cells.push_back(stats.open("list", list.name, worker));
  }
  loaded->set = std::move(set);
  return loaded;
}

}  // namespace weir::policies
