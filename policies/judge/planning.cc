#include "policies/judge/planning.h"

#include <algorithm>

#include "policies/judgement/unread.h"

namespace weir::policies {
namespace {

/// Which of two ceilings refuses earlier.
bool lower(const limiter::Ceiling& a, const limiter::Ceiling& b) {
  if (a.limit == b.limit) return a.inclusive && !b.inclusive;
  return a.limit < b.limit;
}

}  // namespace

/// Plans policies that watch an event of which it is unknown whether it happened.
void Planning::plan_unread_events(Instant at, const JudgeOptions& options) {
  for (const EventIndex event : work_.plan().unread_events) {
    for (const PolicySet::Watcher& watcher : work_.set->watchers[event]) {
      const Policy& policy = work_.set->policies[watcher.policy];
      const bool planned =
          std::any_of(work_.plan().policies.begin(), work_.plan().policies.end(),
                      [&](const PlannedPolicy& other) { return other.policy == watcher.policy; });
      const bool counts = policy.bindings[watcher.binding].counts;
      if (planned) continue;
      if (!policy.pattern) {  // policies that only guard the event are read too
        if (!counts &&
            plan_policy(policy, watcher.binding, true, false, at, options) != BindingResult::unread)
          continue;
        plan_policy(policy, watcher.binding, true, true, at, options);
      } else if (counts) {
        const Unread unread = unread_in(work_.frame, *work_.set, event);
        refuses_unread(policy, unread.name, unread.why);
      }
      if (work_.plan().defect) return;
    }
  }
  std::stable_sort(work_.plan().policies.begin(), work_.plan().policies.end(),
                   [](const auto& a, const auto& b) { return a.policy < b.policy; });
}

/// The short form of plan_policy() for most policies, whose demands are all known at load.
void Planning::plan_plain(const Policy& policy, const Binding& binding,
                          std::uint16_t binding_index) {
  if (!load_policy_key(policy, binding, nullptr)) return;
  limiter::Amount amount;
  bool counts = binding.counts;
  if (policy.reads_amount && counts) {
    const AmountLoad loaded = load_amount(policy, binding, amount, nullptr);
    if (loaded == AmountLoad::skips) return;
    counts = loaded == AmountLoad::loaded;
  }
  const std::uint16_t index = policy.counters.front();
  const Counter& counter = work_.set->counters.data()[index];
  PlannedPolicy& planned = work_.plan().policies.emplace_back();
  planned.policy = policy.index;
  planned.binding = binding_index;
  planned.counts = counts;
  planned.reserves = counts && binding.outcome;
  planned.first_limit = static_cast<std::uint32_t>(work_.plan().limits.size());
  for (const auto& limit : binding.limits) work_.plan().limits.push_back(limit);
  planned.first_counter = static_cast<std::uint32_t>(work_.plan().counter_refs.size());
  work_.plan().counter_refs.push_back(static_cast<std::uint16_t>(work_.plan().counters.size()));
  PlannedCounter& fresh = work_.plan().counters.emplace_back();
  fresh.counter = index;
  fresh.key = keys_.hash().owned_by(counter.what);
  fresh.amount = amount;
  fresh.counts = planned.counts;
  fresh.reserves = planned.reserves;
  work_.bank.prefetch(counter.id, fresh.key);
  if (work_.rows != nullptr) work_.rows->expect(policy, fresh.key);
  if (policy.caps) note_ceilings(policy, binding, planned);
}

/// Whether the event is in time, for a policy that counts by the times of events. If the policy
/// counts the event and the judgement is not dry, each counter notes its time, also if it is late.
bool Planning::in_time(const Policy& policy, bool counts, Instant at, bool dry) {
  bool in_time = true;
  for (const std::uint16_t index : policy.counters) {
    const Counter& counter = work_.set->counters[index];
    const bool tells = counts && !dry;
    in_time = (tells ? work_.bank.observe(counter.id, at.moment(counter))
                     : work_.bank.in_time(counter.id, at.moment(counter))) &&
              in_time;
  }
  if (!in_time && !dry) StatsCells::add(work_.loaded->policy_cells[policy.index]->late);
  return in_time;
}

/// Whether the policy takes this event. none: `when` does not hold for it, and another event that
/// the policy watches may count, unless this is the last; unread: undecidable. `as_if`: the event
/// itself is undecidable, and the policy must treat it so.
BindingResult Planning::plan_policy(const Policy& policy, std::uint16_t binding_index, bool is_last,
                                    bool as_if, Instant at, const JudgeOptions& options) {
  Trace* const trace = options.trace;
  const Binding& binding = policy.bindings.data()[binding_index];
  work_.frame.set_event(work_.set->events.data()[binding.event].name);
  bool counts = binding.counts;
  Unread unread;
  if (binding.when && binding.when->side() == Side::request) {
    const Value condition = binding.when->eval(work_.frame);
    if (!condition.is_true()) {
      if (condition.is_error()) unread = unread_in(work_.frame, *work_.set, *binding.when);
      if (unread && !as_if) return BindingResult::unread;
      if (!unread && !is_last) return BindingResult::none;
    }
    if (!condition.is_true() && !unread && policy.is_meter) {
      counts = false;  // the rungs that name it read it all the same
    } else if (!condition.is_true() && !unread) {
      if (trace != nullptr) {
        const bool known = condition.is(Type::boolean);
        trace->skipped(policy, known ? Skip::when_false : Skip::when_null, {}, MissReason::none);
      }
      return BindingResult::none;
    }
  }
  if (as_if) {
    if (!unread) unread = unread_in(work_.frame, *work_.set, binding.event);
    const std::size_t field = binding.key.size() + binding.arguments.size();
    if (!missing(policy, field, unread.name, unread.why, Skip::when_unread, trace)) {
      if (!policy.is_meter || work_.plan().defect) return BindingResult::takes;
      counts = false;
    }
  }
  if (policy.own_time && !in_time(policy, counts, at, options.dry)) {
    if (trace != nullptr) trace->skipped(policy, Skip::late, {}, MissReason::none);
    return BindingResult::takes;
  }
  PlannedPolicy planned;
  planned.policy = policy.index;
  planned.binding = binding_index;
  planned.applies = !policy.guarded_only ||
                    std::any_of(policy.guards.begin(), policy.guards.end(), [&](EventIndex event) {
                      return matching_.happened(event) || matching_.is_unread(event);
                    });
  planned.counts = counts;
  planned.reserves = counts && binding.outcome;
  if (!load_policy_key(policy, binding, trace)) return BindingResult::takes;
  if (planned.applies && !policy.own_lists.empty() &&
      lists_.own_lists_refuse(policy, binding_index, at)) {
    if (trace != nullptr) trace->skipped(policy, Skip::listed, {}, MissReason::none);
    return BindingResult::takes;
  }
  planned.first_limit = static_cast<std::uint32_t>(work_.plan().limits.size());
  if (!binding.limits.empty()) {
    for (const auto& limit : binding.limits) work_.plan().limits.push_back(limit);
  } else if (!plan_limits(policy, binding)) {
    work_.plan().limits.resize(planned.first_limit);
    return BindingResult::takes;
  }
  if (policy.has_metric) {
    limiter::Amount amount;
    const bool asks = policy.metric == Metric::exists;
    if (policy.reads_amount && (counts || asks)) {
      const AmountLoad loaded = load_amount(policy, binding, amount, trace);
      if (loaded == AmountLoad::skips) {
        work_.plan().limits.resize(planned.first_limit);
        return BindingResult::takes;
      }
      if (loaded == AmountLoad::missing_same) planned.counts = planned.reserves = false;
    }
    plan_counters(policy, binding, amount, planned);
  }
  work_.plan().policies.push_back(planned);
  return BindingResult::takes;
}

/// False: a limit that refuses depends on an unreadable field, and the request is refused for that.
bool Planning::plan_limits(const Policy& policy, const Binding& binding) {
  for (std::size_t r = 0; r < binding.rungs.size(); ++r) {
    const Limit& limit = binding.rungs[r].limit;
    work_.plan().limits.push_back(load_limit(limit));
    const bool of_table = !limit.table_slots.empty();
    const bool known = work_.plan().limits.back() && !of_table;
    if (known || !refuses(policy.rungs[r].effect)) continue;
    // Also if a table has a limit for all values that it does not name: the unreadable field
    // may have one that it names.
    const Unread unread = unread_in(work_.frame, *work_.set, limit, open_dimensions_);
    if (unread && refuses_unread(policy, unread.name, unread.why)) return false;
  }
  return true;
}

/// Hashes a key that hash_key() could not hash. False: the policy continues without the event.
bool Planning::hash_with_gaps(const Policy& policy, const Binding& binding, Trace* trace) {
  const std::size_t first = keys_.bad_part();
  MissReason reason = why_no_text(work_.frame, *work_.set, binding.key[first].slot);
  if (reason == MissReason::none) reason = MissReason::failed;  // it is there, and is not a place
  if (!missing(policy, first, policy.key_names[first], reason, Skip::key_missing, trace))
    return false;
  // `missing: same`: every missing part becomes one marker; the others stay unchanged.
  keys_.load_key_with_gaps(binding.key);
  keys_.hash_loaded_key();
  return true;
}

bool Planning::missing(const Policy& policy, std::size_t field, std::string_view name,
                       MissReason reason, Skip skip, Trace* trace) {
  StatsCells& cells = *work_.loaded->policy_cells[policy.index];
  StatsCells::add(cells.missing[std::min(field, StatsCells::kFields - 1)]);
  if (refuses_unread(policy, name, reason)) return false;
  if (policy.missing == Missing::same) return true;
  if (trace != nullptr) trace->skipped(policy, skip, name, reason);
  return false;
}

/// A policy that can refuse refuses unreadable fields, and a policy with `missing: deny` refuses
/// missing ones. True: the request is refused for that reason. In shadow mode it would be, and the
/// policy does nothing more with the event.
bool Planning::refuses_unread(const Policy& policy, std::string_view name, MissReason reason) {
  const auto status_of = [&](bool strict, bool denies) {
    const int status = strict ? defect_status(reason) : 0;
    return status == 0 && denies ? 403 : status;
  };
  const bool denies = policy.missing == Missing::deny;
  Defect defect{policy.index, {}, 0, name, reason, policy.refusal_tell};
  if (!policy.shadow) {
    defect.status = status_of(policy.strict, denies);
    if (defect.status != 0) {
      work_.plan().defect = defect;
      return true;
    }
  }
  defect.status = status_of(policy.strict_in_shadow, policy.shadow && denies);
  if (defect.status == 0) return false;
  const bool noted = std::any_of(work_.plan().would_refuse.begin(), work_.plan().would_refuse.end(),
                                 [&](const Defect& other) { return other.policy == policy.index; });
  if (!noted) work_.plan().would_refuse.push_back(defect);
  return policy.shadow;
}

/// For another policy that asks for the same number.
PlannedCounter* Planning::find_planned(std::uint16_t index, const limiter::CounterKey& key) {
  const auto found = std::find_if(
      work_.plan().counters.begin(), work_.plan().counters.end(),
      [&](const PlannedCounter& other) { return other.counter == index && other.key == key; });
  return found == work_.plan().counters.end() ? nullptr : &*found;
}

void Planning::plan_counters(const Policy& policy, const Binding& binding,
                             const limiter::Amount& amount, PlannedPolicy& planned) {
  planned.first_counter = static_cast<std::uint32_t>(work_.plan().counter_refs.size());
  std::uint16_t key_in_store = PlannedCounter::kNone;
  for (const std::uint16_t index : policy.counters) {
    const Counter& counter = work_.set->counters.data()[index];
    PlannedCounter* found =
        counter.common ? find_planned(index, keys_.counter_key(counter, keys_.hash())) : nullptr;
    if (found == nullptr) {
      PlannedCounter& fresh = work_.plan().counters.emplace_back();
      fresh.counter = index;
      fresh.key = keys_.counter_key(counter, keys_.hash());
      fresh.amount = amount;
      fresh.counts = planned.counts;
      fresh.reserves = planned.reserves;
      if (store_.sharing() != nullptr && counter.shared != nullptr) {
        if (work_.counts.is_synced(counter)) {
          store_.touch_synced(counter, fresh.key, binding.key);
        } else {
          if (key_in_store == PlannedCounter::kNone) {
            key_in_store = policy.peer_key ? store_.spell_peer_key(*policy.peer_key)
                                           : store_.spell_key(binding.key);
          }
          fresh.shared_key = key_in_store;
        }
      }
      work_.bank.prefetch(counter.id, fresh.key);
      if (work_.rows != nullptr) work_.rows->expect(policy, fresh.key);
      found = &fresh;
    } else if (planned.counts && !found->counts) {
      found->amount = amount;
      found->counts = true;
      found->reserves = planned.reserves;
    }
    work_.plan().counter_refs.push_back(
        static_cast<std::uint16_t>(found - work_.plan().counters.data()));
  }
  if (policy.caps) note_ceilings(policy, binding, planned);
}

/// The lowest threshold that refuses is the bound: one atomic add-if-below.
void Planning::note_ceilings(const Policy& policy, const Binding& binding,
                             const PlannedPolicy& planned) {
  if (!planned.applies) return;
  for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
    const Rung& rung = policy.rungs[r];
    const auto& limit = work_.plan().limits[planned.first_limit + r];
    if (!rung.caps || binding.rungs[r].condition || !limit) continue;
    PlannedCounter& counter = work_.planned_counter(planned, rung.counter);
    const limiter::Ceiling ceiling{*limit, rung.compare == Compare::at};
    if (!counter.has_ceiling || lower(ceiling, counter.ceiling)) {
      counter.ceiling = ceiling;
      counter.has_ceiling = true;
    }
  }
}

}  // namespace weir::policies
