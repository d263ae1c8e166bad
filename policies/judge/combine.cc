#include <algorithm>
#include <cmath>

#include "policies/judge/evaluator.h"

/// Many outcomes, one verdict. Only here are shadow mode, guards and others' reservations weighed
/// against each other; a front door sees nothing but the resulting Effect.
namespace weir::policies {
namespace {

constexpr milliseconds kCrowdedRetry{1000};

inline bool compares(config::Rung::Compare compare, Number value, Number limit) {
  switch (compare) {
    case config::Rung::Compare::over:
      return value > limit;
    case config::Rung::Compare::at:
      return value >= limit;
    case config::Rung::Compare::under:
      return limit.is_finite() && value < limit;  // `unlimited` asks for nothing
    case config::Rung::Compare::none:
      break;
  }
  return true;
}

/// Whether the threshold of a rung, if it has one, is broken; `limit`: none, if it could not be
/// told.
inline bool breaks(const Rung& rung, const Value& value, const std::optional<Number>& limit) {
  if (rung.compare == config::Rung::Compare::none) return true;
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

/// False: no rung of the policy holds, for its thresholds alone say so.
bool may_hold(const Policy& policy, const PlannedPolicy& planned, const Plan& plan) {
  if (!policy.has_metric) return true;
  const std::optional<Number>* limits = plan.limits.data() + planned.first_limit;
  const std::uint16_t* const refs = plan.counter_refs.data() + planned.first_counter;
  for (const Rung& rung : policy.rungs) {
    const std::optional<Number>& limit = *limits++;
    if (rung.compare == config::Rung::Compare::none) return true;
    const limiter::Reading& reading = plan.counters.data()[refs[rung.counter]].reading;
    if (!limit || !reading.has_value) continue;
    if (reading.datum != nullptr || compares(rung.compare, reading.value, *limit) ||
        compares(rung.compare, reading.settled, *limit)) {
      return true;
    }
  }
  return false;
}

/// Whether some reading has what is not settled: reservations of others, also where the policy only
/// reads, or what other replicas may have no more. Then what is remembered is judged by itself.
bool is_open(const Plan& plan) {
  return plan.provisional ||
         std::any_of(plan.counters.begin(), plan.counters.end(), [](const PlannedCounter& counter) {
           const limiter::Reading& reading = counter.reading;
           return reading.doubtful || reading.in_flight != 0 || reading.value != reading.settled;
         });
}

/// How long a request waits until the rate would have let it through: the bucket then holds what
/// the rung allows.
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

}  // namespace

TimePoint Instant::window_end(const Counter& counter) const noexcept {
  switch (counter.spec.window) {
    case limiter::Window::every:
      return of(counter) +
             (counter.window - milliseconds{to_ms(of(counter)) % counter.window.count()});
    case limiter::Window::calendar:
      return counter.spec.zone->span(counter.spec.unit, of(counter)).end;
    case limiter::Window::leaky:
      return now + milliseconds{static_cast<std::int64_t>(std::ceil(counter.spec.ms_of_one()))};
    default:
      return of(counter) + counter.window;
  }
}

milliseconds Instant::window_length(const Counter& counter) const noexcept {
  if (counter.spec.window != limiter::Window::calendar) return counter.window;
  const TimeZone::Span span = counter.spec.zone->span(counter.spec.unit, of(counter));
  return span.end - span.begin;
}

namespace {

/// A refusal of the request itself, which no rung brought about.
Standing standing_of(const Defect& defect, bool shadow) {
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

/// With the event's own time: what it says, unless that has not come yet.
Instant with_own_time(Instant at, const Evaluator::Options& options) {
  at.told = options.own_time.has_value();
  at.event = std::min(options.own_time.value_or(at.wall), at.wall);
  return at;
}

}  // namespace

const Verdict& Evaluator::judge(const Request& request, Instant now, const Options& options) {
  const Instant at = with_own_time(now, options);
  return begin(request, at, options) ? ask_first() : finish_judging(request, options);
}

const Verdict& Evaluator::judge(const Record& record, Instant now, const Options& options) {
  const Instant at = with_own_time(now, options);
  return begin(record, at, options) ? ask_first() : finish_judging(record, options);
}

const Verdict& Evaluator::ask_first() {
  verdict_.clear();
  verdict_.kind = Verdict::Kind::ask;
  return verdict_;
}

template <class Occurrence>
const Verdict& Evaluator::finish_judging(const Occurrence& occurrence, const Options& options) {
  conclude(at_, options);
  if (!options.dry && verdict_.kind != Verdict::Kind::wait && observer_ != nullptr &&
      !verdict_.standings.empty()) {
    observer_->judged(*set_, occurrence, verdict_);
  }
  return verdict_;
}

template const Verdict& Evaluator::finish_judging(const Request&, const Options&);
template const Verdict& Evaluator::finish_judging(const Record&, const Options&);

const Verdict& Evaluator::conclude(Instant at, const Options& options) {
  verdict_.clear();
  won_.clear();
  if (plan_.is_silent()) {
    if (!options.dry) observe_views(at);
    return verdict_;
  }
  decide(options);
  if (verdict_.kind == Verdict::Kind::wait) {
    take_back(true, at);
    return verdict_;
  }
  if (!options.dry) {
    // What became of the event first: a rung that clears empties the counter of this event too.
    take_back(false, at);
    if (plan_.provisional) settle_provisional(at);
    write_memory(at);
    feed_patterns();
  }
  finish_verdict(at);
  if (!options.dry) {
    count_standings();
    observe_views(at);
  }
  rows_ = options.rows;
  if (rows_ != nullptr) give_rows(*rows_);
  return verdict_;
}

bool Evaluator::rung_holds(const Policy& policy, const Binding& binding, std::size_t r,
                           const Value& value, std::optional<Number> limit) {
  const Rung& rung = policy.rungs[r];
  if (rung.overflows) {
    const Number capacity = set_->counters[policy.counters[rung.counter]].spec.capacity;
    if (!value.is_number() || !(value.as_number() > capacity)) return false;
  } else if (!breaks(rung, value, limit)) {
    return false;
  }
  const auto& condition = binding.rungs[r].condition;
  if (!condition)
    return rung.overflows || rung.compare != config::Rung::Compare::none ||
           policy.pattern.has_value();
  frame_.set_event(set_->events[binding.event].name);
  frame_.set_rung(value, limit ? Value::number(*limit) : Value::null());
  const Value holds = condition->eval(frame_);
  if (holds.is_true()) return true;
  // What nobody can read of the request is no way around a refusal.
  return holds.is_error() && refuses(rung.effect) && unread_in(frame_, *set_, *condition);
}

/// What the names of a policy's `metrics` mean in its rungs.
void Evaluator::set_metrics(const Policy& policy, const std::vector<PlannedPolicy>& policies,
                            const std::vector<PlannedCounter>& counters,
                            const std::vector<std::uint16_t>& refs, bool settled) {
  for (std::size_t k = 0; k < policy.meters.size(); ++k) {
    const auto meter = std::find_if(
        policies.begin(), policies.end(),
        [&](const PlannedPolicy& planned) { return planned.policy == policy.meters[k]; });
    frame_.set_metric(k, meter == policies.end()
                             ? Value::null()
                             : counters[refs[meter->first_counter]].value(settled));
  }
}

Evaluator::Winner Evaluator::winner(const Policy& policy, const PlannedPolicy& planned, bool shadow,
                                    bool settled, Trace* trace) {
  const Binding& binding = binding_of(planned);
  if (planned.blind) return {};
  if (!policy.meters.empty()) {
    set_metrics(policy, plan_.policies, plan_.counters, plan_.counter_refs, settled);
  }
  const std::optional<Number>* const limits = plan_.limits.data() + planned.first_limit;
  return best_rung(policy, shadow, [&](std::size_t r, const Rung& rung, Value& value) {
    if (policy.has_metric) {
      value = planned_counter(planned, rung.counter).value(settled);
    } else if (policy.pattern) {
      value = Value::integer(set_->patterns[*policy.pattern].spec.steps);
    } else if (policy.reads_score) {
      value = Value::integer(shadow ? (settled ? scores_.all_settled : scores_.all)
                                    : (settled ? scores_.settled : scores_.enforced));
    }
    // Most rungs do not hold, and their threshold alone says so.
    const bool holds = (rung.overflows || breaks(rung, value, limits[r])) &&
                       rung_holds(policy, binding, r, value, limits[r]);
    if (trace != nullptr) trace->rung(policy, r, value, limits[r], holds);
    return holds;
  });
}

void Evaluator::add_list_standings() {
  for (const ListHit& hit : plan_.lists) {
    const List& list = set_->lists[hit.list];
    Standing standing;
    standing.list = hit.list;
    standing.policy = list.owner;
    standing.shadow = list.shadow;
    standing.effect = list.kind == config::ListKind::gray && list.effect == Action::flag
                          ? Action::graylist
                          : list.effect;
    standing.hold = list.hold;
    standing.status = list.status;
    standing.tell = list.tell;
    standing.until = hit.until;
    if (standing.effect != Action::none) verdict_.standings.push_back(standing);
  }
}

const Evaluator::Won* Evaluator::won_by(std::size_t planned) const noexcept {
  const auto found = std::find_if(won_.begin(), won_.end(),
                                  [&](const Won& won) { return won.planned == planned; });
  return found == won_.end() ? nullptr : &*found;
}

void Evaluator::add_standing(const PlannedPolicy& planned, const Winner& won, bool shadow) {
  const Policy& policy = policy_of(planned);
  const auto r = static_cast<std::size_t>(won.rung);
  const Rung& rung = policy.rungs[r];
  if (!shadow && rung.score) verdict_.score += *rung.score;
  if (won.effect == Action::none && !rung.score) return;
  Standing standing;
  standing.policy = planned.policy;
  standing.rung = won.rung;
  standing.effect = won.effect;
  standing.shadow = shadow;
  standing.has_value = won.value.is_number();
  if (standing.has_value) standing.value = won.value.as_number();
  standing.limit = plan_.limits[planned.first_limit + r];
  standing.window = rung.window;
  if (policy.has_metric) {
    standing.window = at_.window_length(counter_of(planned_counter(planned, rung.counter)));
  }
  standing.hold = rung.pace > 0 ? paced_hold(rung, won.value, standing.limit) : rung.hold;
  standing.status = rung.status;
  standing.tell = rung.tell;
  verdict_.standings.push_back(standing);
}

/// Which rungs of one policy win, and what they give the request.
void Evaluator::judge_planned(std::size_t at, const Options& options) {
  const PlannedPolicy& planned = plan_.policies[at];
  const Policy& policy = policy_of(planned);
  Won all{at, {}, {}, {}, {}};
  const bool apart = planned.reserves || policy.reads_score || is_open(plan_);
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

void Evaluator::decide(const Options& options) {
  if (plan_.allowed) {
    verdict_.exempt = true;
    return;
  }
  if (plan_.defect) {
    verdict_.standings.push_back(standing_of(*plan_.defect, false));
    verdict_.kind = Verdict::Kind::refuse;
    verdict_.effect = Action::deny;
    verdict_.decider = 0;
    verdict_.defect = plan_.defect->field;
    return;
  }
  add_list_standings();
  for (const Defect& defect : plan_.would_refuse)
    verdict_.standings.push_back(standing_of(defect, true));
  scores_ = {};
  for (std::size_t i = 0; const PlannedPolicy& planned : plan_.policies) {
    const Policy& policy = policy_of(planned);
    const std::size_t at = i++;
    if (options.trace == nullptr &&
        (is_calm(policy, planned, plan_) || !may_hold(policy, planned, plan_))) {
      continue;
    }
    if (!policy.reads_score) judge_planned(at, options);
  }
  if (set_->any_scores) {  // last, when the others have said what they give
    for (std::size_t i = 0; i < plan_.policies.size(); ++i) {
      if (policy_of(plan_.policies[i]).reads_score) judge_planned(i, options);
    }
    std::sort(won_.begin(), won_.end(),
              [](const Won& a, const Won& b) { return a.planned < b.planned; });
  }
  choose_decider();
  if (verdict_.decider < 0) return;
  const Standing& standing = verdict_.standings[static_cast<std::size_t>(verdict_.decider)];
  verdict_.effect = standing.effect;
  if (refuses(standing.effect)) {
    const bool waits = verdict_.crowded && options.may_wait;
    verdict_.kind = waits ? Verdict::Kind::wait : Verdict::Kind::refuse;
  } else if (standing.effect == Action::delay) {
    verdict_.kind = Verdict::Kind::hold;
    if (!options.can_hold) {
      verdict_.kind = Verdict::Kind::refuse;
      verdict_.crowded = true;
    }
  }
}

/// Whether it refuses for others' reservations alone.
bool Evaluator::is_crowded(const Standing& standing) const {
  if (standing.rung < 0 || !refuses(standing.effect)) return false;
  for (std::size_t i = 0; i < plan_.policies.size(); ++i) {
    if (plan_.policies[i].policy != standing.policy) continue;
    const Won* const won = won_by(i);
    return won == nullptr || !refuses(won->settled.effect);
  }
  return false;
}

/// The severest wins. A refusal that rests on others' reservations alone gives way to one that does
/// not, and if there is none, the request waits for them to settle.
void Evaluator::choose_decider() {
  const Standing* best = nullptr;
  for (const Standing& standing : verdict_.standings) {
    if (standing.shadow) continue;
    const bool crowded = is_crowded(standing);
    const bool certain = !crowded && refuses(standing.effect);
    const bool severer = best != nullptr && severity(standing.effect) > severity(best->effect);
    const bool gives_way = crowded && !verdict_.crowded && best != nullptr && refuses(best->effect);
    if (best == nullptr || (verdict_.crowded && certain) || (severer && !gives_way)) {
      best = &standing;
      verdict_.crowded = crowded;
    }
  }
  verdict_.decider = best == nullptr ? -1 : static_cast<int>(best - verdict_.standings.data());
}

void Evaluator::finish_verdict(Instant at) {
  if (verdict_.decider < 0) return;
  const Standing& standing = verdict_.standings[static_cast<std::size_t>(verdict_.decider)];
  verdict_.hold = standing.hold;
  verdict_.status = standing.status;
  verdict_.tell = standing.tell;
  if (verdict_.crowded) {
    verdict_.status = 429;
    verdict_.tell = config::Tell::retry;
    verdict_.retry_after = kCrowdedRetry;
  } else if (standing.until) {
    if (*standing.until < limiter::kForever) verdict_.retry_after = *standing.until - at.now;
  } else if (plan_.defect) {
    if (plan_.defect->why == MissReason::none) verdict_.retry_after = kCrowdedRetry;  // Redis
  } else if (standing.rung >= 0) {
    const Policy& policy = set_->policies[*standing.policy];
    const Rung& rung = policy.rungs[static_cast<std::size_t>(standing.rung)];
    verdict_.retry_after = policy.has_metric
                               ? falls_within(set_->counters[policy.counters[rung.counter]], at)
                               : kCrowdedRetry;
  }
}

void Evaluator::take_back(bool all, Instant at) {
  const bool refused = verdict_.kind == Verdict::Kind::refuse;
  if (!all && refused) {
    for (PlannedCounter& planned : plan_.counters) {
      if (!planned.counted()) continue;
      const Counter& counter = counter_of(planned);
      const bool flies = counter.spec.window == limiter::Window::none;
      if (counter.always && planned.reserves) {
        // Tries count too: nobody will ever see an answer, so it is settled as one.
        counts_.settle(counter, planned.key, at.of(counter), at.moment(counter), planned.amount,
                       planned.undo, true);
        end_in_store(planned, limiter::SharedVerb::settle, asking_);
        planned.undo = {};
      } else if (!counter.always || flies) {
        take_back(planned);
      }
    }
    return;
  }
  if (!all && (!set_->any_shadow || won_.empty())) return;
  for (PlannedCounter& planned : plan_.counters) {
    bool back = all;
    if (!back && counter_of(planned).shadow && !counter_of(planned).always) {
      // What a shadow policy would have refused it would not have counted either.
      for (const Won& won : won_) {
        const PlannedPolicy& policy = plan_.policies[won.planned];
        const bool would_refuse = policy.applies && refuses(won.shadow.effect);
        if (back || !set_->policies[policy.policy].shadow || !would_refuse) continue;
        const auto index = static_cast<std::uint16_t>(&planned - plan_.counters.data());
        for (std::size_t k = 0; k < set_->policies[policy.policy].counters.size(); ++k) {
          back = back || plan_.counter_refs[policy.first_counter + k] == index;
        }
      }
    }
    if (!back) continue;
    take_back(planned);
    if (!all) planned.reserves = planned.counts = false;  // whatever is answered, it never will be
  }
}

void Evaluator::take_back(PlannedCounter& planned) {
  counts_.uncharge(counter_of(planned), planned.key, planned.undo);
  planned.undo = {};
  const bool reserved = planned.reserves || planned.provisional;
  end_in_store(planned, reserved ? limiter::SharedVerb::release : limiter::SharedVerb::take_back,
               asking_);
}

/// What was reserved until the verdict, and not taken back by it, is counted.
void Evaluator::settle_provisional(Instant at) {
  for (PlannedCounter& planned : plan_.counters) {
    if (!planned.provisional || !planned.counted()) continue;
    if (planned.in_store) {
      end_in_store(planned, limiter::SharedVerb::settle, asking_);
    } else {  // the store was away
      const Counter& counter = counter_of(planned);
      counts_.settle(counter, planned.key, at.of(counter), at.moment(counter), planned.amount,
                     planned.undo, true);
    }
    planned.undo = {};
  }
}

}  // namespace weir::policies
