#include "policies/judge/evaluator.h"

#include <algorithm>
#include <utility>

namespace weir::policies {
namespace {

std::uint64_t line_of(const Request&) { return 0; }
std::uint64_t line_of(const Record& record) { return record.line; }
using limiter::SharedError;
using limiter::SharedVerb;

/// With the event's own time: what it says, unless that has not come yet.
Instant with_own_time(Instant at, const JudgeOptions& options) {
  at.told = options.own_time.has_value();
  at.event = std::min(options.own_time.value_or(at.wall), at.wall);
  return at;
}

}  // namespace

Evaluator::Evaluator(limiter::Bank& counters, limiter::ListBank& lists, const HashSecret& secret,
                     Observer* observer)
    : work_(counters, lists, secret, observer) {
  work_.oracle = &lists_;
}

template <class Occurrence>
bool Evaluator::begin(const Occurrence& occurrence, Instant at, const Options& options) {
  work_.plan.clear();
  work_.at = at;
  work_.happened = options.happened.value_or(at.now);
  work_.line = options.line != 0 ? options.line : line_of(occurrence);
  work_.rows = options.rows;
  keys_.begin_event();
  store_.forget_keys();
  work_.frame.begin(work_.set->slots, occurrence, work_.oracle);
  matching_.match(occurrence, options.trace);
  if (lists_.look_at_lists(at, options.trace)) {
    if (!work_.set->policies.empty()) plan_policies(at, options);
    return !work_.plan.defect && !work_.plan.is_silent() && counting_.charge(at, options);
  }
  if (options.trace != nullptr) {
    for (const Policy& policy : work_.set->policies) {
      options.trace->skipped(policy, work_.plan.allowed ? Skip::exempt : Skip::denied, {},
                             MissReason::none);
    }
  }
  return false;
}

template bool Evaluator::begin(const Request&, Instant, const Options&);

template bool Evaluator::begin(const Record&, Instant, const Options&);

void Evaluator::plan_policies(Instant at, const Options& options) {
  Trace* const trace = options.trace;
  matching_.gather(work_.set->watchers);

  if (trace != nullptr) {
    for (const Policy& policy : work_.set->policies) {
      const bool candidate =
          std::any_of(matching_.candidates().begin(), matching_.candidates().end(),
                      [&](const auto& c) { return c.policy == policy.index; });
      if (!candidate) trace->skipped(policy, Skip::not_watched, {}, MissReason::none);
    }
  }
  // Of several events that a policy watches the first named one counts for which `when` holds; if
  // it holds for none, the first one for which nobody can tell.
  int done = -1;
  const PolicySet::Watcher* unread = nullptr;
  const PolicySet::Watcher* candidate = matching_.candidates().data();
  for (const auto* const end = candidate + matching_.candidates().size(); candidate != end;
       ++candidate) {
    if (candidate->policy == done) continue;
    const Policy& policy = work_.set->policies.data()[candidate->policy];
    const Binding& binding = policy.bindings.data()[candidate->binding];
    const bool is_last = candidate + 1 == end || candidate[1].policy != candidate->policy;
    if (binding.plain && trace == nullptr) {
      planning_.plan_plain(policy, binding, candidate->binding);
    } else if (policy.pattern) {
      patterns_.plan_pattern(policy, at, trace);
    } else {
      Part part = planning_.plan_policy(policy, candidate->binding, is_last, false, at, options);
      if (part == Part::unread && unread == nullptr) unread = candidate;
      if (is_last && part != Part::takes && unread != nullptr) {
        part = planning_.plan_policy(policy, unread->binding, true, true, at, options);
      }
      if (is_last) unread = nullptr;
      if (part != Part::takes) continue;
      unread = nullptr;
    }
    done = candidate->policy;
    if (work_.plan.defect) return;
  }
  if (!work_.plan.unread_events.empty()) planning_.plan_unread_events(at, options);
}

void Evaluator::put_aside(Aside& into) {
  into.loaded = work_.loaded;
  std::swap(into.plan, work_.plan);
  into.at = work_.at;
  into.happened = work_.happened;
  into.line = work_.line;
}

template <class Occurrence>
void Evaluator::restore(const Occurrence& occurrence, Aside& aside) {
  std::swap(aside.plan, work_.plan);
  std::swap(aside.asking, store_.asking());
  work_.at = aside.at;
  work_.happened = aside.happened;
  work_.line = aside.line;
  aside.loaded.reset();
  work_.frame.begin(work_.set->slots, occurrence, work_.oracle);
  matching_.mark_planned();
}

const Verdict& Evaluator::told(const Request& request, const Options& options) {
  counting_.take_replies(options);
  return finish_judging(request, options);
}

const Verdict& Evaluator::told(const Record& record, const Options& options) {
  counting_.take_replies(options);
  return finish_judging(record, options);
}

const Verdict& Evaluator::told_again(const Request& request, Aside& aside, const Options& options) {
  restore(request, aside);
  return told(request, options);
}

const Verdict& Evaluator::told_again(const Record& record, Aside& aside, const Options& options) {
  restore(record, aside);
  return told(record, options);
}

void Evaluator::drop(Aside& aside) {
  const std::shared_ptr<const Loaded> loaded = std::move(aside.loaded);  // kept by nobody else
  const SetInUse in_use(matching_, loaded);
  std::swap(aside.plan, work_.plan);
  std::swap(aside.asking, store_.asking());
  for (PlannedCounter& planned : work_.plan.counters) {
    if (planned.asked == PlannedCounter::kNone) continue;
    const limiter::SharedReply& reply = store_.asking().reply(planned.asked);
    planned.in_store = reply.error == SharedError::none && reply.admitted &&
                       adds(store_.asking()[planned.asked].op.verb);
    store_.give_up_place(planned, store_.asking());
  }
  work_.verdict.clear();
  counting_.take_back(true, aside.at);
}

const Verdict& Evaluator::judge(const Request& request, Instant now, const Options& options) {
  const Instant at = with_own_time(now, options);
  return begin(request, at, options) ? ask_first() : finish_judging(request, options);
}

const Verdict& Evaluator::judge(const Record& record, Instant now, const Options& options) {
  const Instant at = with_own_time(now, options);
  return begin(record, at, options) ? ask_first() : finish_judging(record, options);
}

const Verdict& Evaluator::ask_first() {
  work_.verdict.clear();
  work_.verdict.kind = Verdict::Kind::ask;
  return work_.verdict;
}

template <class Occurrence>
const Verdict& Evaluator::finish_judging(const Occurrence& occurrence, const Options& options) {
  conclude(work_.at, options);
  if (!options.dry && work_.verdict.kind != Verdict::Kind::wait && work_.observer != nullptr &&
      !work_.verdict.standings.empty()) {
    work_.observer->judged(*work_.set, occurrence, work_.verdict);
  }
  return work_.verdict;
}

template const Verdict& Evaluator::finish_judging(const Request&, const Options&);

template const Verdict& Evaluator::finish_judging(const Record&, const Options&);

const Verdict& Evaluator::conclude(Instant at, const Options& options) {
  work_.verdict.clear();
  ladder_.forget_winners();
  if (work_.plan.is_silent()) {
    if (!options.dry) view_counting_.observe_views(at);
    return work_.verdict;
  }
  ladder_.decide(options);
  if (work_.verdict.kind == Verdict::Kind::wait) {
    counting_.take_back(true, at);
    return work_.verdict;
  }
  if (!options.dry) {
    // What became of the event first: a rung that clears empties the counter of this event too.
    counting_.take_back(false, at);
    if (work_.plan.provisional) counting_.settle_provisional(at);
    memory_.write_memory(at);
    patterns_.feed_patterns();
  }
  ladder_.finish_verdict(at);
  if (!options.dry) {
    memory_.count_standings();
    view_counting_.observe_views(at);
  }
  work_.rows = options.rows;
  if (work_.rows != nullptr) row_giving_.give_rows(*work_.rows);
  return work_.verdict;
}

Value Evaluator::value(const Settlement& settlement, SlotId slot) {
  const SetInUse in_use(matching_, settlement.loaded);
  return work_.frame.load(slot);
}

}  // namespace weir::policies
