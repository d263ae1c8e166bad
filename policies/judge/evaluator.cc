#include "policies/judge/evaluator.h"

namespace weir::policies {

std::shared_ptr<const Loaded> load_on_worker(std::shared_ptr<const PolicySet> set, StatsBank& stats,
                                             std::size_t worker) {
  auto loaded = std::make_shared<Loaded>();
  for (const Policy& policy : set->policies) {
    std::vector<std::string> fields = policy.key_names;
    for (const Expression& argument : policy.bindings.front().arguments)
      fields.push_back(argument.canonical());
    loaded->policy_cells.push_back(stats.open("policy", policy.name, worker, fields));
  }
  for (const List& list : set->lists) {
    loaded->list_cells.push_back(stats.open("list", list.name, worker));
  }
  loaded->set = std::move(set);
  return loaded;
}

Evaluator::Evaluator(limiter::Bank& counters, limiter::ListBank& lists, const HashSecret& secret,
                     Observer* observer)
    : bank_(counters), counts_(counters), list_bank_(lists), secret_(secret), observer_(observer) {}

void Evaluator::use(std::shared_ptr<const Loaded> loaded) {
  loaded_ = std::move(loaded);
  set_ = loaded_->set.get();
  if (event_marks_.size() < set_->events.size()) event_marks_.resize(set_->events.size());
  if (hashed_.size() < set_->keys) hashed_.resize(set_->keys);
  parts_.clear();
  no_parts_ = key_hash();
}

}  // namespace weir::policies
