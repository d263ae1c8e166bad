#include "policies/judge/counting.h"

#include <algorithm>
#include <utility>

namespace weir::policies {
namespace {

/// A counter that cannot take the amount counts nothing and refuses no request.
bool is_refused_by(const Counter& counter, const PlannedCounter& planned) {
  return planned.reading.refused && !counter.shadow && planned.has_ceiling &&
         planned.ceiling.broken_by(planned.reading.value);
}
/// True: it refuses the request. In one piece with the loop over the counters of an event.
[[gnu::always_inline]] inline bool charge_counter(Counts& counts, const Counter& counter,
                                                  PlannedCounter& planned, const Instant& at,
                                                  bool refused, const JudgeOptions& options) {
  // If the answer is known already, nothing happens between a reservation and its end.
  const bool foreseen = options.answer != nullptr && planned.reserves && !counter.always;
  const limiter::Moment now = at.moment(counter);
  if (!planned.counts) {
    // `exists` asks for the value of this event, also where it is not kept.
    const bool asks = counter.spec.metric == Metric::exists;
    planned.reading = counts.peek(counter, planned.key, now, asks ? &planned.amount : nullptr);
  } else if (options.dry || foreseen || (refused && !counter.always)) {
    // Refused already: an event that does not pass is not counted, but its reading still decides
    // the severest rung.
    planned.reading = counts.peek(counter, planned.key, now, &planned.amount);
    planned.reading.refused =
        foreseen && planned.has_ceiling && planned.ceiling.broken_by(planned.reading.value);
  } else {
    const limiter::Ceiling* ceiling = planned.has_ceiling ? &planned.ceiling : nullptr;
    planned.reading =
        planned.reserves || planned.provisional
            ? counts.reserve(counter, planned.key, now, planned.amount, ceiling, &planned.undo)
            : counts.charge(counter, planned.key, now, planned.amount, ceiling, &planned.undo);
  }
  return is_refused_by(counter, planned);
}

}  // namespace

bool Counting::plan_asks() const {
  return std::any_of(work_.plan().counters.begin(), work_.plan().counters.end(),
                     [](const auto& of) { return of.shared_key != PlannedCounter::kNone; }) ||
         std::any_of(work_.plan().patterns.begin(), work_.plan().patterns.end(),
                     [](const auto& of) { return of.looks; });
}

bool Counting::charge(Instant at, const JudgeOptions& options) {
  const bool asks = store_.sharing() != nullptr && plan_asks();
  if (asks && !options.dry) plan_asked();
  bool refused = lists_.refused_by_list();
  for (PlannedCounter& planned : work_.plan().counters) {
    if (planned.shared_key != PlannedCounter::kNone) continue;
    const Counter& counter = work_.counter_of(planned);
    refused =
        (planned.deferred ? peek_deferred(planned, at)
                          : charge_counter(work_.counts, counter, planned, at, refused, options)) ||
        refused;
    if (planned.reading.datum != nullptr) planning_.keep_datum(planned);
  }
  if (asks) {
    ask(refused, options);
    patterns_.ask_about_patterns();
  } else if (options.trace != nullptr) {
    trace_counters(*options.trace);
  }
  return asks;
}

void Counting::charge_rest(std::size_t charged, Instant at, const JudgeOptions& options) {
  for (std::size_t i = charged; i < work_.plan().counters.size(); ++i) {
    PlannedCounter& planned = work_.plan().counters[i];
    charge_counter(work_.counts, work_.counter_of(planned), planned, at, true, options);
  }
}

/// The store is asked, and other requests are judged while its answer is awaited. If this event
/// were counted meanwhile, and another policy then refused it, others would be banned or refused by
/// counts that never were. So counts that ban are reserved in the store until the verdict, and
/// counted locally only then, like counts that go to other replicas by themselves. All other counts
/// count at once: such a counter may refuse, and then the rest is not asked.
void Counting::plan_asked() {
  std::size_t refusing = 0;
  const auto refuses_by = [&](const Policy& policy) { return policy.can_refuse && !policy.shadow; };
  for (const PlannedPolicy& planned : work_.plan().policies)
    refusing += planned.applies && refuses_by(work_.policy_of(planned)) ? 1 : 0;
  for (const PlannedPattern& planned : work_.plan().patterns)
    refusing +=
        refuses_by(work_.set->policies[work_.set->patterns[planned.pattern].policy]) ? 1 : 0;
  for (const PlannedPolicy& planned : work_.plan().policies) {
    const Policy& policy = work_.policy_of(planned);
    const bool others = refusing > (planned.applies && refuses_by(policy) ? 1U : 0U);
    for (std::size_t k = 0; k < policy.counters.size(); ++k) {
      PlannedCounter& of = work_.planned_counter(planned, k);
      const Counter& counter = work_.counter_of(of);
      if (!of.counts || of.reserves || counter.spec.window == limiter::Window::none) continue;
      if (of.shared_key == PlannedCounter::kNone) {
        of.deferred = of.deferred || policy.remembers || work_.counts.is_synced(counter);
      } else if (others && policy.provisional && counter.spec.outcome) {
        of.provisional = work_.plan().provisional = true;
      }
    }
  }
}

/// The result of a deferred counter. If it refuses, it counts as decided: the rest is not asked.
bool Counting::peek_deferred(PlannedCounter& planned, Instant at) {
  const Counter& counter = work_.counter_of(planned);
  planned.reading = work_.counts.peek(counter, planned.key, at.moment(counter), &planned.amount);
  const bool broken = planned.has_ceiling && planned.ceiling.broken_by(planned.reading.value);
  if (!broken || counter.always) return false;
  planned.reading.refused = true;
  planned.deferred = false;
  return is_refused_by(counter, planned);
}

/// Charges the counters that waited for the store: its replies are there.
void Counting::charge_deferred(const JudgeOptions& options) {
  bool refused = lists_.refused_by_list() || work_.plan().defect.has_value();
  for (const PlannedCounter& planned : work_.plan().counters)
    refused = refused || is_refused_by(work_.counter_of(planned), planned);
  for (PlannedCounter& planned : work_.plan().counters) {
    if (!std::exchange(planned.deferred, false)) continue;
    refused = charge_here(planned, work_.at, refused, options) || refused;
  }
}

/// True: it refuses the request.
bool Counting::charge_here(PlannedCounter& planned, Instant at, bool refused,
                           const JudgeOptions& options) {
  const bool refuses =
      charge_counter(work_.counts, work_.counter_of(planned), planned, at, refused, options);
  planning_.keep_datum(planned);
  return refuses;
}

void Counting::trace_counters(Trace& trace) {
  for (const PlannedPolicy& planned : work_.plan().policies) {
    const Policy& policy = work_.set->policies[planned.policy];
    for (std::size_t k = 0; k < policy.counters.size(); ++k) {
      const auto& counter =
          work_.plan().counters[work_.plan().counter_refs[planned.first_counter + k]];
      trace.counted(policy, policy.bindings[planned.binding], work_.counter_of(counter), counter);
    }
  }
}

void Counting::take_back(bool all, Instant at) {
  const bool refused = work_.verdict.kind == Verdict::Kind::refuse;
  if (!all && refused) {
    for (PlannedCounter& planned : work_.plan().counters) {
      if (!planned.counted()) continue;
      const Counter& counter = work_.counter_of(planned);
      const bool flies = counter.spec.window == limiter::Window::none;
      if (counter.always && planned.reserves) {
        // Tries count too: no answer will ever come, so the try is settled as one.
        work_.counts.settle(counter, planned.key, at.of(counter), at.moment(counter),
                            planned.amount, planned.undo, true);
        store_.end_in_store(planned, limiter::SharedVerb::settle, store_.ops());
        planned.undo = {};
      } else if (!counter.always || flies) {
        take_back(planned);
      }
    }
    return;
  }
  if (!all && (!work_.set->any_shadow || ladder_.won().empty())) return;
  for (PlannedCounter& planned : work_.plan().counters) {
    bool back = all;
    if (!back && work_.counter_of(planned).shadow && !work_.counter_of(planned).always) {
      // An event that a shadow policy would have refused would not have been counted by it either.
      for (const Won& won : ladder_.won()) {
        const PlannedPolicy& policy = work_.plan().policies[won.planned];
        const bool would_refuse = policy.applies && refuses(won.shadow.effect);
        if (back || !work_.set->policies[policy.policy].shadow || !would_refuse) continue;
        const auto index = static_cast<std::uint16_t>(&planned - work_.plan().counters.data());
        for (std::size_t k = 0; k < work_.set->policies[policy.policy].counters.size(); ++k) {
          back = back || work_.plan().counter_refs[policy.first_counter + k] == index;
        }
      }
    }
    if (!back) continue;
    take_back(planned);
    if (!all) planned.reserves = planned.counts = false;  // no answer will count it
  }
}

void Counting::count_whole(Instant at) {
  const bool refused = work_.verdict.kind == Verdict::Kind::refuse;
  for (PlannedCounter& planned : work_.plan().counters) {
    const Counter& counter = work_.counter_of(planned);
    // Without an answer nothing settles a reservation, and an event is over that has happened: both
    // are taken back.
    if (!planned.counts || planned.reserves || counter.spec.window == limiter::Window::none)
      continue;
    if (!refused && !counter.shadow) continue;
    if (planned.counted()) {
      if (planned.provisional) settle_provisional(planned, at);
    } else if (planned.asked == PlannedCounter::kNone) {
      work_.counts.charge(counter, planned.key, at.moment(counter), planned.amount, nullptr,
                          &planned.undo);
    } else {
      store_.count_in_store(planned, store_.ops());
      mirror(planned, at);
    }
    planned.undo = {};  // it stays
    planned.in_store = false;
  }
}

void Counting::take_all_back() noexcept {
  for (PlannedCounter& planned : work_.plan().counters) take_back(planned);
}

void Counting::take_back(PlannedCounter& planned) noexcept {
  work_.counts.uncharge(work_.counter_of(planned), planned.key, planned.undo);
  planned.undo = {};
  const bool reserved = planned.reserves || planned.provisional;
  store_.end_in_store(planned,
                      reserved ? limiter::SharedVerb::release : limiter::SharedVerb::take_back,
                      store_.ops());
}

void Counting::settle_provisional(PlannedCounter& planned, Instant at) {
  if (planned.in_store) {
    store_.end_in_store(planned, limiter::SharedVerb::settle, store_.ops());
  } else {  // the store was away
    const Counter& counter = work_.counter_of(planned);
    work_.counts.settle(counter, planned.key, at.of(counter), at.moment(counter), planned.amount,
                        planned.undo, true);
  }
  planned.undo = {};
}

/// Counts what was reserved until the verdict, unless the verdict has taken it back.
void Counting::settle_provisional(Instant at) {
  for (PlannedCounter& planned : work_.plan().counters) {
    if (planned.provisional && planned.counted()) settle_provisional(planned, at);
  }
}

}  // namespace weir::policies
