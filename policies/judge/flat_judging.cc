#include "policies/judge/flat_judging.h"

#include <algorithm>

namespace weir::policies {

bool FlatJudging::charge(const Occurrence& occurrence, Instant at, const JudgeOptions& options) {
  calm_ = false;
  if (options.needs_plan || options.dry || options.keep_open || options.trace != nullptr)
    return false;
  FlatPlan* const flat = matching_.flat_plan();
  if (flat == nullptr || !work_.plan().lists.empty()) return false;
  if (!flat->outcomes.empty() && !is_foreseen(*flat, occurrence, options.answer)) return false;
  if (!find_keys(*flat, at, options.rows) || !stay_calm(*flat, at)) return false;
  flat_ = flat;
  bool calm = true;
  charged_ = 0;
  for (FlatPolicy& policy : flat->policies) {
    policy.charge(at);
    ++charged_;
    if (policy.is_calm()) continue;
    calm = false;
    if (policy.planned.reading.refused && !policy.counter->shadow) break;
  }
  calm_ = calm;
  return true;
}

/// Whether the answer is known, and none of the outcomes comes true.
bool FlatJudging::is_foreseen(FlatPlan& flat, const Occurrence& occurrence, const Answer* answer) {
  if (answer == nullptr || !flat.is_by_status || !work_.loud.is_complete()) return false;
  const auto status = static_cast<std::size_t>(answer->status);
  if (status >= flat.comes.size()) return false;
  FlatPlan::Comes& comes = flat.comes[status];
  if (comes == FlatPlan::Comes::unknown) comes = comes_of(flat, occurrence, *answer);
  return comes == FlatPlan::Comes::nothing;
}

FlatPlan::Comes FlatJudging::comes_of(const FlatPlan& flat, const Occurrence& occurrence,
                                      const Answer& answer) {
  work_.frame.look_at(answer, work_.set->of_answers, work_.set->not_kept);
  matching_.happen(work_.plan().open_events);
  const bool something =
      std::any_of(flat.outcomes.begin(), flat.outcomes.end(), [&](const FlatPolicy& outcome) {
        const auto& bindings = outcome.policy->bindings;
        return std::any_of(bindings.begin(), bindings.end(), [&](const Binding& binding) {
          return binding.counts &&
                 (matching_.happened(binding.event) || matching_.untold(binding.event));
        });
      });
  // The general way asks again, and takes the request without its answer.
  matching_.mark_planned();
  occurrence.visit(
      [&](const auto& event) { work_.frame.begin(work_.set->slots, event, work_.oracle); });
  return something ? FlatPlan::Comes::something : FlatPlan::Comes::nothing;
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

/// False: a policy has more to say about its key.
bool FlatJudging::find_keys(FlatPlan& flat, Instant at, RowSink* rows) {
  for (FlatPolicy& policy : flat.policies) {
    if (!find_key(policy, at)) return false;
    policy.place = policy.charging.find(policy.planned.key);
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

void FlatJudging::count(RowSink* rows) {
  for (const FlatPolicy& policy : flat_->policies) StatsCells::add(policy.cells->events);
  if (rows != nullptr) rows_.give_calm_rows(*rows, flat_->policies);
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
  return charged_;
}

}  // namespace weir::policies
