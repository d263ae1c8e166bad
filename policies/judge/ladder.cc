#include "policies/judge/ladder.h"

#include <algorithm>
#include <cmath>

#include "policies/judge/flat_plan.h"
#include "policies/judgement/unread.h"

namespace weir::policies {
namespace {

constexpr milliseconds kCrowdedRetry{1000};

inline bool compares(Compare compare, Number value, Number limit) {
  switch (compare) {
    case Compare::over:
      return value > limit;
    case Compare::at:
      return value >= limit;
    case Compare::under:
      return limit.is_finite() && value < limit;  // `unlimited` asks for nothing
    case Compare::none:
      break;
  }
  return true;
}
/// Whether the threshold of a rung, if it has one, is exceeded; `limit`: none, if it is unknown.
inline bool breaks(const Rung& rung, const Value& value, const std::optional<Number>& limit) {
  if (rung.compare == Compare::none) return true;
  return limit && value.is_number() && compares(rung.compare, value.as_number(), *limit);
}
/// True: all its readings are so low that no rung of the policy holds. So it is nearly always, and
/// then nothing more needs to be asked.
inline bool is_calm(const Policy& policy, const PlannedPolicy& planned, const Plan& plan) {
  const Binding& binding = policy.bindings.data()[planned.binding];
  if (!binding.calm) return false;
  const std::uint16_t* ref = plan.counter_refs.data() + planned.first_counter;
  for (const std::uint16_t* const end = ref + policy.counters.size(); ref != end; ++ref) {
    const limiter::Reading& reading = plan.counters.data()[*ref].reading;
    const bool low = !reading.value.is_real() && reading.value.integer() <= *binding.calm &&
                     !reading.settled.is_real() && reading.settled.integer() <= *binding.calm;
    if (!low || reading.datum != nullptr) return false;
  }
  return true;
}
/// False: by its thresholds alone, no rung of the policy holds.
bool may_hold(const Policy& policy, const PlannedPolicy& planned, const Plan& plan) {
  if (!policy.has_metric) return true;
  const std::optional<Number>* limits = plan.limits.data() + planned.first_limit;
  const std::uint16_t* const refs = plan.counter_refs.data() + planned.first_counter;
  for (const Rung& rung : policy.rungs) {
    const std::optional<Number>& limit = *limits++;
    if (rung.compare == Compare::none) return true;
    const limiter::Reading& reading = plan.counters.data()[refs[rung.counter]].reading;
    if (!limit || !reading.has_value) continue;
    if (reading.datum != nullptr || compares(rung.compare, reading.value, *limit) ||
        compares(rung.compare, reading.settled, *limit)) {
      return true;
    }
  }
  return false;
}
/// Whether some reading contains unsettled parts: reservations of others, also where the policy
/// only reads, or counts of other replicas that may have expired. Then memory is judged separately.
bool is_open(const Plan& plan) {
  return plan.provisional ||
         std::any_of(plan.counters.begin(), plan.counters.end(), [](const PlannedCounter& counter) {
           const limiter::Reading& reading = counter.reading;
           return reading.doubtful || reading.in_flight != 0 || reading.value != reading.settled;
         });
}
/// How long a request waits until the rate would have let it through: the bucket then holds all
/// that the rung allows.
milliseconds paced_hold(const Rung& rung, const Value& value, const std::optional<Number>& limit) {
  if (!limit || !value.is_number()) return milliseconds{0};
  const double over = value.as_number().as_real() - limit->as_real();
  return milliseconds{static_cast<std::int64_t>(std::ceil(std::max(over, 0.0) * rung.pace))};
}
/// When a reading over its limit can be expected to have fallen.
milliseconds falls_within(const Counter& counter, Instant at) {
  const milliseconds left = at.window_left(counter);
  return left.count() > 0 ? left : kCrowdedRetry;
}
/// A refusal of the request itself, which no rung brought about.
Standing standing_of_defect(const Defect& defect, bool shadow) {
  Standing standing;
  standing.policy = defect.policy;
  standing.list = defect.list;
  standing.effect = Action::deny;
  standing.shadow = shadow;
  standing.status = defect.status;
  standing.tell = defect.tell;
  standing.field = defect.field;
  standing.why = defect.why;
  return standing;
}

}  // namespace

/// Whether a value may be under a limit only because an earlier, smaller `keep` dropped events.
bool Ladder::may_lack(const Policy& policy, const Rung& rung, const Value& value) const {
  if (rung.compare != Compare::under || !policy.has_metric || !value.is_number()) return false;
  const Counter& counter = work_.set->counters[policy.counters[rung.counter]];
  return work_.bank.may_lack(counter.id, work_.at.moment(counter), value.as_number());
}

bool Ladder::rung_holds(const Policy& policy, const Binding& binding, std::size_t r,
                        const Value& value, std::optional<Number> limit) {
  const Rung& rung = policy.rungs[r];
  if (rung.overflows) {
    const Number capacity = work_.set->counters[policy.counters[rung.counter]].spec.capacity;
    if (!value.is_number() || !(value.as_number() > capacity)) return false;
  } else if (!breaks(rung, value, limit)) {
    return false;
  }
  if (may_lack(policy, rung, value)) return false;
  const auto& condition = binding.rungs[r].condition;
  if (!condition)
    return rung.overflows || rung.compare != Compare::none || policy.pattern.has_value();
  work_.frame.set_event(work_.set->events[binding.event].name);
  work_.frame.set_rung(value, limit ? Value::number(*limit) : Value::null());
  const Value holds = condition->eval(work_.frame);
  if (holds.is_true()) return true;
  // An unreadable part of the request is no way around a refusal.
  return holds.is_error() && refuses(rung.effect) && unread_in(work_.frame, *work_.set, *condition);
}

/// Sets the values of a policy's `metrics` for its rungs.
void Ladder::set_metrics(const Policy& policy, bool settled) {
  const std::vector<PlannedPolicy>& policies = work_.plan().policies;
  for (std::size_t k = 0; k < policy.meters.size(); ++k) {
    const auto meter = std::find_if(
        policies.begin(), policies.end(),
        [&](const PlannedPolicy& planned) { return planned.policy == policy.meters[k]; });
    work_.frame.set_metric(k, meter == policies.end()
                                  ? Value::null()
                                  : work_.planned_counter(*meter, 0).value(settled));
  }
}

Winner Ladder::winner(const Policy& policy, const PlannedPolicy& planned, bool shadow, bool settled,
                      Trace* trace) {
  const Binding& binding = work_.binding_of(planned);
  if (planned.blind) return {};
  if (!policy.meters.empty()) {
    set_metrics(policy, settled);
  }
  const std::optional<Number>* const limits = work_.plan().limits.data() + planned.first_limit;
  return best_rung(policy, shadow, [&](std::size_t r, const Rung& rung, Value& value) {
    if (policy.has_metric) {
      value = work_.planned_counter(planned, rung.counter).value(settled);
    } else if (policy.pattern) {
      value = Value::integer(work_.set->patterns[*policy.pattern].spec.steps);
    } else if (policy.reads_score) {
      value = Value::integer(shadow ? (settled ? scores_.all_settled : scores_.all)
                                    : (settled ? scores_.settled : scores_.enforced));
    }
    // Most rungs do not hold, and the comparison with their threshold is enough to know it.
    const bool holds = (rung.overflows || breaks(rung, value, limits[r])) &&
                       rung_holds(policy, binding, r, value, limits[r]);
    if (trace != nullptr) trace->rung(policy, r, value, limits[r], holds);
    return holds;
  });
}

void Ladder::add_list_standings() {
  for (const ListHit& hit : work_.plan().lists) {
    const List& list = work_.set->lists[hit.list];
    Standing standing;
    standing.list = hit.list;
    standing.policy = list.owner;
    standing.shadow = list.shadow;
    standing.effect =
        list.kind == ListKind::gray && list.effect == Action::flag ? Action::graylist : list.effect;
    standing.hold = list.hold;
    standing.status = list.status;
    standing.tell = list.tell;
    standing.until = hit.until;
    if (standing.effect != Action::none) work_.verdict.standings.push_back(standing);
  }
}

const Won* Ladder::won_by(std::size_t planned) const noexcept {
  const auto found = std::find_if(won_.begin(), won_.end(),
                                  [&](const Won& won) { return won.planned == planned; });
  return found == won_.end() ? nullptr : &*found;
}

void Ladder::add_standing(const PlannedPolicy& planned, const Winner& won, bool shadow) {
  const Policy& policy = work_.policy_of(planned);
  const auto r = static_cast<std::size_t>(won.rung);
  const Rung& rung = policy.rungs[r];
  if (!shadow && rung.score) work_.verdict.score += *rung.score;
  if (won.effect == Action::none && !rung.score) return;
  Standing standing =
      standing_of(policy, won, work_.plan().limits[planned.first_limit + r], shadow);
  standing.possible = policy.has_metric && planned.reserves &&
                      work_.planned_counter(planned, rung.counter).is_possible();
  work_.verdict.standings.push_back(standing);
}

Standing Ladder::standing_of(const Policy& policy, const Winner& won, std::optional<Number> limit,
                             bool shadow) const {
  const Rung& rung = policy.rungs[static_cast<std::size_t>(won.rung)];
  Standing standing;
  standing.policy = policy.index;
  standing.rung = won.rung;
  standing.effect = won.effect;
  standing.shadow = shadow;
  standing.has_value = won.value.is_number();
  if (standing.has_value) standing.value = won.value.as_number();
  standing.limit = limit;
  standing.window = policy.has_metric
                        ? work_.at.window_length(work_.set->counters[policy.counters[rung.counter]])
                        : rung.window;
  standing.hold = rung.pace > 0 ? paced_hold(rung, won.value, standing.limit) : rung.hold;
  standing.status = rung.status;
  standing.tell = rung.tell;
  return standing;
}

void Ladder::flag(std::span<const FlatPolicy> policies) {
  for (const FlatPolicy& of : policies) {
    if (of.held < 0) continue;
    const Winner won{of.held, Action::flag, of.planned.value(false)};
    work_.verdict.standings.push_back(
        standing_of(*of.policy, won, of.binding->limits[static_cast<std::size_t>(of.held)], false));
    StatsCells::add(of.cells->verdicts[static_cast<std::size_t>(Action::flag)]);
  }
  work_.verdict.decider = 0;  // all are as severe
  work_.verdict.effect = Action::flag;
  finish_verdict(work_.at);
}

/// The rungs of one policy that win, and their effect on the request.
void Ladder::judge_planned(std::size_t at, const JudgeOptions& options) {
  const PlannedPolicy& planned = work_.plan().policies[at];
  const Policy& policy = work_.policy_of(planned);
  Won all{at, {}, {}, {}, {}};
  const bool apart = planned.reserves || policy.reads_score || is_open(work_.plan());
  if (policy.enforced_rungs) {
    all.enforced = winner(policy, planned, false, false, options.trace);
    all.settled = apart ? winner(policy, planned, false, true, nullptr) : all.enforced;
  }
  if (policy.shadow_rungs) {
    all.shadow = winner(policy, planned, true, false, options.trace);
    all.shadow_settled = apart ? winner(policy, planned, true, true, nullptr) : all.shadow;
  }
  if (all.enforced.rung < 0 && all.settled.rung < 0 && all.shadow.rung < 0 &&
      all.shadow_settled.rung < 0) {
    return;
  }
  won_.push_back(all);
  if (!planned.applies) return;
  const auto score_of = [&](const Winner& won) {
    if (won.rung < 0) return std::int64_t{0};
    return policy.rungs[static_cast<std::size_t>(won.rung)].score.value_or(0);
  };
  scores_.enforced += score_of(all.enforced);
  scores_.settled += score_of(all.settled);
  scores_.all += score_of(all.enforced) + score_of(all.shadow);
  scores_.all_settled += score_of(all.settled) + score_of(all.shadow_settled);
  if (all.enforced.rung >= 0) add_standing(planned, all.enforced, false);
  if (all.shadow.rung >= 0) add_standing(planned, all.shadow, true);
}

void Ladder::decide(const JudgeOptions& options) {
  if (work_.plan().allowed) {
    work_.verdict.exempt = true;
    return;
  }
  if (work_.plan().defect) {
    work_.verdict.standings.push_back(standing_of_defect(*work_.plan().defect, false));
    work_.verdict.kind = Verdict::Kind::refuse;
    work_.verdict.effect = Action::deny;
    work_.verdict.decider = 0;
    work_.verdict.defect = work_.plan().defect->field;
    return;
  }
  add_list_standings();
  for (const Defect& defect : work_.plan().would_refuse)
    work_.verdict.standings.push_back(standing_of_defect(defect, true));
  scores_ = {};
  for (std::size_t i = 0; const PlannedPolicy& planned : work_.plan().policies) {
    const Policy& policy = work_.policy_of(planned);
    const std::size_t at = i++;
    if (options.trace == nullptr &&
        (is_calm(policy, planned, work_.plan()) || !may_hold(policy, planned, work_.plan()))) {
      continue;
    }
    if (!policy.reads_score) judge_planned(at, options);
  }
  if (work_.set->any_scores) {  // last, when the others have given their scores
    for (std::size_t i = 0; i < work_.plan().policies.size(); ++i) {
      if (work_.policy_of(work_.plan().policies[i]).reads_score) judge_planned(i, options);
    }
    std::sort(won_.begin(), won_.end(),
              [](const Won& a, const Won& b) { return a.planned < b.planned; });
  }
  choose_decider();
  if (work_.verdict.decider < 0) return;
  const Standing& standing =
      work_.verdict.standings[static_cast<std::size_t>(work_.verdict.decider)];
  work_.verdict.effect = standing.effect;
  if (refuses(standing.effect)) {
    const bool waits = work_.verdict.crowded && options.may_wait;
    work_.verdict.kind = waits ? Verdict::Kind::wait : Verdict::Kind::refuse;
  } else if (standing.effect == Action::delay) {
    work_.verdict.kind = Verdict::Kind::hold;
    if (standing.hold > options.longest_hold) {
      work_.verdict.kind = Verdict::Kind::refuse;
      work_.verdict.crowded = true;
      // A client whose wait is shorter than the hold retries after the hold; otherwise there may be
      // room at any time.
      if (options.longest_hold >= milliseconds{0}) work_.verdict.retry_after = standing.hold;
    }
  }
}

/// How many others' reservations it refuses for, at least; 0: not for them alone.
std::uint32_t Ladder::crowd_of(const Standing& standing) {
  if (standing.rung < 0 || !refuses(standing.effect)) return 0;
  const std::vector<PlannedPolicy>& planned = work_.plan().policies;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned[i].policy != standing.policy) continue;
    const Won* const won = won_by(i);
    if (won != nullptr && refuses(won->settled.effect)) return 0;
    const Policy& policy = work_.policy_of(planned[i]);
    const auto rung = static_cast<std::size_t>(standing.rung);
    std::uint32_t others = 0;
    if (policy.has_metric)
      others = work_.planned_counter(planned[i], policy.rungs[rung].counter).reading.in_flight;
    for (const PlannedPolicy& meter : planned) {
      if (std::find(policy.meters.begin(), policy.meters.end(), meter.policy) !=
          policy.meters.end())
        others = std::max(others, work_.planned_counter(meter, 0).reading.in_flight);
    }
    // A score, or counts of other replicas, do not show how many.
    return std::max<std::uint32_t>(others, 1);
  }
  return 0;
}

/// The severest wins. A refusal that rests on others' reservations alone gives way to one that does
/// not, and if there is none, the request waits for them to settle.
void Ladder::choose_decider() {
  const Standing* best = nullptr;
  for (Standing& standing : work_.verdict.standings) {
    if (standing.shadow) continue;
    standing.in_flight = crowd_of(standing);
    const bool crowded = standing.in_flight != 0;
    const bool certain = !crowded && refuses(standing.effect);
    const bool severer = best != nullptr && severity(standing.effect) > severity(best->effect);
    const bool gives_way =
        crowded && !work_.verdict.crowded && best != nullptr && refuses(best->effect);
    if (best == nullptr || (work_.verdict.crowded && certain) || (severer && !gives_way)) {
      best = &standing;
      work_.verdict.crowded = crowded;
    }
  }
  work_.verdict.decider =
      best == nullptr ? -1 : static_cast<int>(best - work_.verdict.standings.data());
}

void Ladder::finish_verdict(Instant at) {
  if (work_.verdict.decider < 0) return;
  const Standing& standing =
      work_.verdict.standings[static_cast<std::size_t>(work_.verdict.decider)];
  work_.verdict.hold = standing.hold;
  work_.verdict.status = standing.status;
  work_.verdict.tell = standing.tell;
  if (work_.verdict.crowded) {
    work_.verdict.status = 429;
    work_.verdict.tell = Tell::retry;
    work_.verdict.retry_after = std::max(work_.verdict.retry_after, kCrowdedRetry);
  } else if (standing.until) {
    if (*standing.until < limiter::kForever) work_.verdict.retry_after = *standing.until - at.now;
  } else if (work_.plan().defect) {
    if (work_.plan().defect->why == MissReason::none)
      work_.verdict.retry_after = kCrowdedRetry;  // Redis
  } else if (standing.rung >= 0) {
    const Policy& policy = work_.set->policies[*standing.policy];
    const Rung& rung = policy.rungs[static_cast<std::size_t>(standing.rung)];
    work_.verdict.retry_after =
        policy.has_metric ? falls_within(work_.set->counters[policy.counters[rung.counter]], at)
                          : kCrowdedRetry;
  }
}

Winner Ladder::settled_winner(const PlannedPolicy& planned, bool shadow) {
  if (planned.blind) return {};  // on_error: allow
  const Policy& policy = work_.policy_of(planned);
  const Binding& binding = work_.binding_of(planned);
  return best_rung(policy, shadow, [&](std::size_t r, const Rung& rung, Value& value) {
    if (policy.has_metric) value = work_.planned_counter(planned, rung.counter).value(true);
    return rung_holds(policy, binding, r, value, work_.plan().limits[planned.first_limit + r]);
  });
}

}  // namespace weir::policies
