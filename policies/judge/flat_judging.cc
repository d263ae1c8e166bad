#include "policies/judge/flat_judging.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::policies {

bool FlatJudging::charge(const Occurrence& occurrence, Instant at, const JudgeOptions& options) {
  done_ = false;
  if (options.plan_of == PlanOf::all || options.dry || options.keep_open ||
      options.trace != nullptr)
    return false;
  FlatPlan* const flat = matching_.flat_plan();
  if (flat == nullptr || !work_.plan().lists.empty()) return false;
  came_ = 0;
  if (!flat->outcomes.empty() && !is_foreseen(*flat, occurrence, options.answer)) return false;
  if (!find_keys(*flat, at, options.rows) || !stay_calm(*flat, at)) return false;
  flat_ = flat;
  flagged_ = false;
  bool only_flags = options.plan_of == PlanOf::none;
  charged_ = 0;
  for (FlatPolicy& policy : flat->policies) {
    policy.charge(at);
    ++charged_;
    if (policy.is_calm()) continue;
    flagged_ = true;
    only_flags = only_flags && policy.find_flag();
    if (policy.planned.reading.refused && !policy.counter->shadow) break;
  }
  done_ = !flagged_ || only_flags;
  return true;
}

/// Whether the answer is known, and its status says which outcomes come true.
bool FlatJudging::is_foreseen(FlatPlan& flat, const Occurrence& occurrence, const Answer* answer) {
  if (answer == nullptr || !flat.is_by_status || !work_.loud.is_complete()) return false;
  const auto status = static_cast<std::size_t>(answer->status);
  if (status >= flat.by_status.size()) return false;
  std::uint8_t& known = flat.by_status[status];
  if (known == FlatPlan::kUnknown) known = foresee(flat, occurrence, *answer);
  if (known == FlatPlan::kUnclear) return false;
  came_ = flat.came.data()[known - FlatPlan::kFirst];
  return true;
}

std::uint8_t FlatJudging::foresee(FlatPlan& flat, const Occurrence& occurrence,
                                  const Answer& answer) {
  work_.frame.look_at(answer, work_.set->of_answers, work_.set->not_kept);
  matching_.happen(work_.plan().open_events);
  std::uint64_t came = 0;
  const bool clear = is_clear(flat, came);
  // The general way asks again, and takes the request without its answer.
  matching_.mark_planned();
  occurrence.visit(
      [&](const auto& event) { work_.frame.begin(work_.set->slots, event, work_.oracle); });
  const auto known = std::find(flat.came.begin(), flat.came.end(), came);
  const auto at = static_cast<std::size_t>(known - flat.came.begin());
  if (!clear || at + FlatPlan::kFirst > std::numeric_limits<std::uint8_t>::max())
    return FlatPlan::kUnclear;
  if (known == flat.came.end()) flat.came.push_back(came);
  return static_cast<std::uint8_t>(at + FlatPlan::kFirst);
}

/// Which outcomes come true by the answer that is looked at. False: there is more to ask about one.
bool FlatJudging::is_clear(const FlatPlan& flat, std::uint64_t& came) {
  for (std::size_t i = 0; i < flat.outcomes.size(); ++i) {
    const auto& bindings = flat.outcomes[i].policy->bindings;
    for (const Binding& binding : bindings) {
      if (!binding.counts) continue;
      if (matching_.is_unread(binding.event)) return false;
      if (!matching_.happened(binding.event)) continue;
      // If a policy watches several events, each has a key and conditions of its own.
      if (bindings.size() != 1 || i >= 64) return false;
      came |= std::uint64_t{1} << i;
    }
  }
  return true;
}

/// False: a part is missing, or a list of the policy's own has the key.
[[gnu::always_inline]] inline bool FlatJudging::find_key(FlatPolicy& policy, Instant at) {
  const Binding& binding = *policy.binding;
  if (!keys_.hash_key(binding.key, binding.key_id)) return false;
  static_cast<Hash128&>(policy.planned.key) = keys_.hash().owned_by(policy.counter->what);
  if (!policy.policy->own_lists.empty() && lists_.is_on_own_list(*policy.policy, at)) return false;
  if (binding.member_id == kNoKey) return true;
  const bool there = keys_.hash_key(binding.member, binding.member_id);
  policy.planned.amount.member = keys_.hash().lo;
  return there;
}

/// False: a policy needs the general path for its key.
bool FlatJudging::find_keys(FlatPlan& flat, Instant at, RowSink* rows) {
  for (FlatPolicy& policy : flat.policies) {
    if (policy.is_placed) continue;
    if (!find_key(policy, at)) return false;
    policy.put(policy.charging.find(policy.planned.key));
    if (rows != nullptr) rows->expect(*policy.policy, policy.planned.key);
  }
  return std::all_of(flat.outcomes.begin(), flat.outcomes.end(),
                     [&](FlatPolicy& policy) { return find_key(policy, at); });
}

/// An outcome that does not come true counts nothing, but until its answer the request was in
/// flight: with it, the reading must not come under a rung.
bool FlatJudging::stay_calm(FlatPlan& flat, Instant at) {
  return std::all_of(flat.outcomes.begin(), flat.outcomes.end(), [&](FlatPolicy& policy) {
    if (policy.calm > 0 && !work_.loud.may_be(policy.policy->index, policy.planned.key))
      return true;
    policy.place = policy.charging.find(policy.planned.key);
    policy.charging.move_to(policy.wall_clock ? at.wall : at.now);
    policy.planned.reading = policy.charging.peek(policy.place, policy.planned.amount);
    return policy.is_calm();
  });
}

void FlatJudging::conclude(RowSink* rows) {
  for (const FlatPolicy& policy : flat_->policies) StatsCells::add(policy.cells->events);
  if (flagged_) ladder_.flag(flat_->policies);
  if (rows != nullptr) rows_.give_flat_rows(*rows, flat_->policies);
  if (came_ != 0) settle(rows);
}

/// As Settling does when the answer comes, of readings that come under no rung.
void FlatJudging::settle(RowSink* rows) {
  each_that_came([&](FlatPolicy& outcome) {
    PlannedCounter& planned = outcome.planned;
    const Counter& counter = *outcome.counter;
    planned.reading = work_.counts.settle(counter, planned.key, work_.at.of(counter),
                                          work_.at.moment(counter), planned.amount, {}, true);
    if (!LoudKeys::stays_calm(planned.reading.value, outcome.calm))
      work_.loud.add(outcome.policy->index, planned.key);
    StatsCells::add(outcome.cells->events);
  });
  if (rows == nullptr) return;
  each_that_came([&](const FlatPolicy& outcome) { rows_.give_settled_row(*rows, outcome); });
}

void FlatJudging::take_back() noexcept {
  for (std::size_t i = 0; i < charged_; ++i) {
    const FlatPolicy& policy = flat_->policies[i];
    work_.counts.uncharge(*policy.counter, policy.planned.key, policy.planned.undo);
  }
  charged_ = 0;
}

std::size_t FlatJudging::write_plan() {
  Plan& plan = work_.plan();
  plan.policies = flat_->planned;
  plan.limits = flat_->limits;
  for (const FlatPolicy& policy : flat_->policies) {
    plan.counter_refs.push_back(static_cast<std::uint16_t>(plan.counters.size()));
    plan.counters.push_back(policy.planned);
    if (plan.counters.size() > charged_) plan.counters.back().undo = {};
  }
  const std::size_t charged = std::exchange(charged_, 0);
  if (came_ == 0) return charged;
  each_that_came([&](const FlatPolicy& outcome) {
    plan.policies.push_back(planned_of(outcome, plan.counter_refs.size(), plan.limits.size()));
    plan.policies.back().reserves = true;
    plan.limits.insert(plan.limits.end(), outcome.binding->limits.begin(),
                       outcome.binding->limits.end());
    plan.counter_refs.push_back(static_cast<std::uint16_t>(plan.counters.size()));
    plan.counters.push_back(outcome.planned);
    plan.counters.back().reserves = true;
  });
  std::stable_sort(plan.policies.begin(), plan.policies.end(),
                   [](const auto& a, const auto& b) { return a.policy < b.policy; });
  return charged;
}

}  // namespace weir::policies
