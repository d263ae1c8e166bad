#include "policies/judge/pattern_judging.h"

#include <algorithm>

#include "core/assert.h"
#include "limiter/memory/frame.h"
#include "policies/judgement/unread.h"

namespace weir::policies {
namespace {

bool is_pair(const Pattern& pattern) {
  return pattern.spec.kind == limiter::PatternSpec::Kind::pair;
}

}  // namespace

PatternJudging::Parts PatternJudging::parts_of(const Policy& policy, const Pattern& pattern,
                                               std::uint16_t binding_index) {
  Parts out;
  const Binding& binding = policy.bindings[binding_index];
  const bool sure = matching_.happened(binding.event);
  if (!sure && !matching_.may_happen(binding.event)) return out;
  work_.frame.set_event(work_.set->events[binding.event].name);
  enum class Holds : std::uint8_t { no, yes, open, unread };
  const bool answered = work_.frame.answer() != nullptr;
  const auto holds = [&](const std::optional<Expression>& condition) {
    if (!condition) return Holds::yes;
    if (condition->side() == Side::answer && !answered) return Holds::open;
    const Value value = condition->eval(work_.frame);
    if (value.is_true()) return Holds::yes;
    if (answered) {  // a field that the answer lacks follows `missing`
      const bool untold = hangs_on_unread(work_.frame, *condition, value);
      return untold && policy.missing != Missing::skip ? Holds::yes : Holds::no;
    }
    const Unread unread =
        value.is_error() ? unread_in(work_.frame, *work_.set, *condition) : Unread{};
    if (!unread) return Holds::no;
    out.unread = unread;
    return Holds::unread;
  };
  const Holds common = holds(binding.when);
  for (std::size_t k = 0; k < pattern.steps.size(); ++k) {
    if (pattern.steps[k].binding != binding_index || common == Holds::no) continue;
    const Holds own = holds(pattern.steps[k].when);
    if (own == Holds::no) continue;
    const bool open = !sure || common == Holds::open || own == Holds::open;
    const auto bit = static_cast<std::uint8_t>(1U << k);
    (open ? out.open_steps : out.steps) |= bit;
    if (common == Holds::unread || own == Holds::unread) out.unread_steps |= bit;
  }
  const bool is_among =
      std::find(pattern.among.begin(), pattern.among.end(), binding_index) != pattern.among.end();
  out.among = is_among && sure;
  out.open_among = is_among && !sure;
  return out;
}

/// Handles an event for which it cannot be decided whether it is a step. False: the policy
/// continues without these steps, or refuses the request.
bool PatternJudging::takes_unread(const Policy& policy, std::uint16_t binding, Parts& parts,
                                  Trace* trace) {
  const Binding& of = policy.bindings[binding];
  const std::size_t field = of.key.size() + of.arguments.size();
  if (planning_.missing(policy, field, parts.unread.name, parts.unread.why, Skip::when_unread,
                        trace)) {
    return true;
  }
  const auto others = static_cast<std::uint8_t>(~parts.unread_steps);
  parts.steps &= others;
  parts.open_steps &= others;
  return false;
}

void PatternJudging::plan_pattern(const Policy& policy, Instant at, Trace* trace) {
  const Pattern& pattern = work_.set->patterns[*policy.pattern];
  const std::size_t first = work_.plan().patterns.size();
  bool looked_at_lists = false;
  bool any = false;
  for (std::uint16_t b = 0; b < policy.bindings.size(); ++b) {
    Parts parts = parts_of(policy, pattern, b);
    if (parts.unread_steps != 0 && !takes_unread(policy, b, parts, trace)) {
      if (work_.plan().defect) return;
    }
    if (!parts.any()) continue;
    any = true;
    if (!planning_.load_policy_key(policy, policy.bindings[b], trace)) {
      if (work_.plan().defect) return;
      continue;
    }
    // Bindings of steps come first: the list does not act on an event that is only `among`.
    if (!looked_at_lists && policy.bindings[b].counts) {
      looked_at_lists = true;
      if (lists_.own_lists_refuse(policy, b, at)) {
        if (trace != nullptr) trace->skipped(policy, Skip::listed, {}, MissReason::none);
        return;
      }
    }
    const Hash128 key = keys_.hash().owned_by(pattern.identity);
    auto planned =
        std::find_if(work_.plan().patterns.begin() + static_cast<std::ptrdiff_t>(first),
                     work_.plan().patterns.end(), [&](const auto& p) { return p.key == key; });
    if (planned == work_.plan().patterns.end()) {
      work_.plan().patterns.push_back({*policy.pattern, b, key});
      planned = std::prev(work_.plan().patterns.end());
      plan_asking(pattern, policy.bindings[b], *planned);
    }
    planned->steps |= parts.steps;
    planned->open_steps |= parts.open_steps;
    planned->among = planned->among || parts.among;
    planned->open_among = planned->open_among || parts.open_among;
  }
  if (!any && trace != nullptr) trace->skipped(policy, Skip::when_false, {}, MissReason::none);

  for (std::size_t i = first; i < work_.plan().patterns.size(); ++i) {
    PlannedPattern& planned = work_.plan().patterns[i];
    if (planned.shared_key != PlannedCounter::kNone) {
      must_ask(pattern, planned, trace != nullptr);
      continue;
    }
    limiter::PatternView view;
    if (pattern_bank_ != nullptr) {
      view = pattern_bank_->peek(
          pattern.id, planned.key,
          {work_.judgement->happened, work_.judgement->line, planned.steps, planned.among, {}});
    }
    planned.completes = view.completes;
    if (trace != nullptr) trace->pattern(policy, planned, view);
    if (planned.completes) judge_pattern(policy, pattern, planned);
  }
}

/// Its rungs are judged, as those of a policy that counts, in the order of the file.
void PatternJudging::judge_pattern(const Policy& policy, const Pattern& pattern,
                                   const PlannedPattern& planned) {
  PlannedPolicy judged;
  judged.policy = policy.index;
  judged.binding = is_pair(pattern) ? planned.binding : pattern.steps.back().binding;
  judged.counts = false;
  judged.first_limit = static_cast<std::uint32_t>(work_.plan().limits.size());
  work_.plan().limits.resize(work_.plan().limits.size() + policy.rungs.size());
  auto at = work_.plan().policies.end();
  while (at != work_.plan().policies.begin() && std::prev(at)->policy > judged.policy) --at;
  work_.plan().policies.insert(at, judged);
}

/// Whether the rung that this match brought about refuses the request.
bool PatternJudging::own_rung_refuses(const PlannedPattern& planned) const {
  const Policy& policy = work_.set->policies[work_.set->patterns[planned.pattern].policy];
  for (std::size_t i = 0; planned.completes && i < work_.plan().policies.size(); ++i) {
    if (work_.plan().policies[i].policy != policy.index) continue;
    const Won* const won = ladder_.won_by(i);
    return won != nullptr && refuses((policy.shadow ? won->shadow : won->enforced).effect);
  }
  return false;
}

/// After the verdict: an event that is not passed upstream has not happened, as for counters.
void PatternJudging::feed_patterns() {
  if (work_.plan().patterns.empty() || work_.plan().defect || pattern_bank_ == nullptr) return;
  const bool refused = work_.verdict.kind == Verdict::Kind::refuse;
  for (const PlannedPattern& planned : work_.plan().patterns) {
    const Pattern& pattern = work_.set->patterns[planned.pattern];
    const Policy& policy = work_.set->policies[pattern.policy];
    const bool own = own_rung_refuses(planned);
    if (pattern.always || !(refused || (policy.shadow && own))) {
      if (planned.deferred() && !refused) continue;  // the answer decides
      if (is_shared(pattern)) {
        const bool remembered = refused || (planned.away && planned.completes);
        tell(planned, planned.steps, planned.among, work_.judgement->happened,
             work_.judgement->line, remembered);
      } else {
        feed(planned, planned.steps, planned.among, work_.judgement->happened,
             work_.judgement->line);
      }
    } else if (own) {
      report_refused(planned, policy);
    }
  }
}

/// Passes the event to the pattern; matches_ are the matches that it completes.
void PatternJudging::feed(const PlannedPattern& planned, std::uint8_t steps, bool among,
                          TimePoint time, std::uint64_t line) {
  const Pattern& pattern = work_.set->patterns[planned.pattern];
  const Policy& policy = work_.set->policies[pattern.policy];
  limiter::PatternEvent event{time, line, steps, among, {}};
  const bool waits =
      is_pair(pattern) ||
      (pattern.spec.kind == limiter::PatternSpec::Kind::absence && (steps & 1U) != 0);
  if (waits) event.payload = payload_of(policy, planned);
  matches_.clear();
  pattern_bank_->feed(pattern.id, planned.key, event, matches_);
  report_matches(policy, policy.bindings[planned.binding]);
}

void PatternJudging::keep_patterns() {
  for (const PlannedPattern& planned : work_.plan().patterns) {
    if (!planned.deferred()) continue;
    work_.judgement->open_patterns = true;
    for (const Binding& binding :
         work_.set->policies[work_.set->patterns[planned.pattern].policy].bindings) {
      if (!matching_.may_happen(binding.event)) continue;
      for (const SlotId slot : binding.captures) matching_.note_capture(slot);
    }
  }
}

/// Passes on events that waited for the answer. told: the answer is here; otherwise only the events
/// that were certain without it happened.
void PatternJudging::feed_answered(Instant now, bool told) {
  Judgement& judgement = *work_.judgement;
  if (!std::exchange(judgement.open_patterns, false) || pattern_bank_ == nullptr) return;
  std::optional<PolicyIndex> last;  // as at the request: an event is counted once a policy
  for (const PlannedPattern& planned : judgement.plan.patterns) {
    if (!planned.deferred()) continue;
    const Pattern& pattern = work_.set->patterns[planned.pattern];
    const Policy& policy = work_.set->policies[pattern.policy];
    std::uint8_t steps = planned.steps;
    bool among = planned.among;
    for (std::size_t k = 0; told && k < pattern.steps.size(); ++k) {
      if ((planned.open_steps >> k & 1U) == 0) continue;
      steps |= static_cast<std::uint8_t>(parts_of(policy, pattern, pattern.steps[k].binding).steps &
                                         (1U << k));
    }
    for (const std::uint16_t b : pattern.among) {
      among = among || (told && planned.open_among && matching_.happened(policy.bindings[b].event));
    }
    if ((steps != 0 || among) && last != policy.index) {
      StatsCells::add(work_.loaded->policy_cells[policy.index]->events);
      last = policy.index;
    }
    if (is_shared(pattern)) {
      tell(planned, steps, among, judgement.happened, judgement.line,
           planned.away && planned.completes);
      continue;
    }
    feed(planned, steps, among, judgement.happened, judgement.line);
    // Certain events were judged, and remembered, at the request.
    if (matches_.empty() || planned.completes) continue;
    const std::uint16_t binding = is_pair(pattern) ? planned.binding : pattern.steps.back().binding;
    const Value value = Value::integer(matches_.front().count);
    PlannedPolicy judged;
    judged.policy = policy.index;
    judged.binding = binding;
    bool told_row = work_.rows == nullptr;
    for_winning_rungs(policy, policy.bindings[binding], matches_.front().count, [&](std::size_t r) {
      const Rung& rung = policy.rungs[r];
      if (!std::exchange(told_row, true)) {
        row_reporting_.give_remembered(*work_.rows, judged,
                                       {static_cast<int>(r), rung.effect, value});
      }
      memory_.remember(policy, judged, rung, r, value, std::nullopt, now);
    });
  }
}

}  // namespace weir::policies
