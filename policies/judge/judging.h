#pragma once

#include <cstdint>
#include <memory>

#include "core/clock.h"
#include "core/key.h"
#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"
#include "policies/judge/loud_keys.h"
#include "policies/judgement/counts.h"
#include "policies/judgement/judgement.h"
#include "policies/judgement/loaded.h"
#include "policies/judgement/observer.h"
#include "policies/judgement/plan.h"
#include "policies/judgement/row_sink.h"
#include "policies/judgement/verdict.h"
#include "policies/lang/frame.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// The shared state of a Driver's parts: one judgement, at the event or at its answer. One per
/// worker; the parts hold references to it, and to the parts below them that they use.
struct Judging {
  Judging(limiter::Bank& counters, limiter::ListBank& lists, const HashSecret& hash_secret,
          Observer* watcher) noexcept
      : bank(counters),
        counts(counters),
        list_bank(lists),
        secret(hash_secret),
        observer(watcher) {}

  limiter::Bank& bank;
  Counts counts;  // by which the bank is read and written
  limiter::ListBank& list_bank;
  const HashSecret& secret;
  Observer* observer;
  std::shared_ptr<const Loaded> loaded;
  const PolicySet* set = nullptr;
  Frame frame;
  Judgement* judgement = nullptr;  // the one under way; null between two calls of the driver
  Verdict verdict;
  RowSink* rows = nullptr;  // of the judgement under way, or before: its answer gives rows too
  Instant at{};             // now: of the event under judgement, or of its answer
  const ListOracle* oracle = nullptr;  // the lists for `inList()`
  LoudKeys loud;                       // complete only if no other code counts

  Plan& plan() noexcept { return judgement->plan; }
  const Plan& plan() const noexcept { return judgement->plan; }
  // The indices are the compiler's of the set. Hardened vectors would check each of them again, by
  // a division: an event of five policies has some hundred.
  const Counter& counter_of(const PlannedCounter& planned) const {
    return set->counters.data()[planned.counter];
  }
  const Policy& policy_of(const PlannedPolicy& planned) const {
    return set->policies.data()[planned.policy];
  }
  const Binding& binding_of(const PlannedPolicy& planned) const {
    return policy_of(planned).bindings.data()[planned.binding];
  }
  /// The k-th of the policy's counters, in the plan.
  PlannedCounter& planned_counter(const PlannedPolicy& planned, std::size_t k) {
    Plan& of = judgement->plan;
    return of.counters.data()[of.counter_refs.data()[planned.first_counter + k]];
  }
};

}  // namespace weir::policies
