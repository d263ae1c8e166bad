#include <algorithm>
#include <utility>

#include "policies/judge/evaluator.h"
#include "policies/lang/place_text.h"

namespace weir::policies {
namespace {

std::uint64_t line_of(const Request&) { return 0; }
std::uint64_t line_of(const Record& record) { return record.line; }

/// Which of two ceilings refuses earlier.
bool lower(const limiter::Ceiling& a, const limiter::Ceiling& b) {
  if (a.limit == b.limit) return a.inclusive && !b.inclusive;
  return a.limit < b.limit;
}

}  // namespace

std::string_view skip_text(Skip skip) noexcept {
  switch (skip) {
    case Skip::disabled:
      return "it is disabled";
    case Skip::not_watched:
      return "no event that it watches happened";
    case Skip::when_false:
      return "its `when` is false";
    case Skip::when_null:
      return "its `when` reads something missing";
    case Skip::when_unread:
      return "nobody can tell whether its `when` or its event's holds";
    case Skip::key_missing:
      return "a key part is missing";
    case Skip::amount_missing:
      return "the amount is missing";
    case Skip::amount_refused:
      return "the amount is negative or not finite";
    case Skip::exempt:
      return "an allow list ended judging";
    case Skip::listed:
      return "its own list refuses the key; not counted";
    case Skip::denied:
      return "a deny list refuses the request; nothing else is judged";
    case Skip::late:
      return "it comes later than `late` allows; not counted";
  }
  return "";
}

template <class Occurrence>
bool Evaluator::begin(const Occurrence& occurrence, Instant at, const Options& options) {
  plan_.clear();
  at_ = at;
  happened_ = options.happened.value_or(at.now);
  line_ = options.line != 0 ? options.line : line_of(occurrence);
  rows_ = options.rows;
  ++round_;
  shared_keys_used_ = 0;
  frame_.begin(set_->slots, occurrence, this);
  match(occurrence, options.trace);
  if (look_at_lists(at, options.trace)) {
    if (!set_->policies.empty()) plan_policies(at, options);
    return !plan_.defect && !plan_.is_silent() && charge(at, options);
  }
  if (options.trace != nullptr) {
    for (const Policy& policy : set_->policies) {
      options.trace->skipped(policy, plan_.allowed ? Skip::exempt : Skip::denied, {},
                             MissReason::none);
    }
  }
  return false;
}

template bool Evaluator::begin(const Request&, Instant, const Options&);
template bool Evaluator::begin(const Record&, Instant, const Options&);

void Evaluator::gather(const std::vector<std::vector<PolicySet::Watcher>>& watchers) {
  candidates_.clear();
  // Those of one event stand in the order of the file already, and mostly those of several.
  bool ordered = true;
  int last = -1;
  for (const auto* events : {&plan_.events, &plan_.open_events}) {
    for (const EventIndex event : *events) {
      // One by one: they are few, and copying a range costs a call.
      for (const PolicySet::Watcher& watcher : watchers.data()[event]) {
        ordered = ordered && last < watcher.policy;
        last = watcher.policy;
        candidates_.push_back(watcher);
      }
    }
  }
  if (ordered) return;
  std::sort(candidates_.begin(), candidates_.end(), [](const auto& a, const auto& b) {
    return a.policy != b.policy ? a.policy < b.policy : a.binding < b.binding;
  });
}

void Evaluator::plan_policies(Instant at, const Options& options) {
  Trace* const trace = options.trace;
  gather(set_->watchers);

  if (trace != nullptr) {
    for (const Policy& policy : set_->policies) {
      const bool candidate = std::any_of(candidates_.begin(), candidates_.end(),
                                         [&](const auto& c) { return c.policy == policy.index; });
      if (!candidate) trace->skipped(policy, Skip::not_watched, {}, MissReason::none);
    }
  }
  // Of several events that a policy watches the first named one counts for which `when` holds; if
  // it holds for none, the first one for which nobody can tell.
  int done = -1;
  const PolicySet::Watcher* unread = nullptr;
  const PolicySet::Watcher* candidate = candidates_.data();
  for (const auto* const end = candidate + candidates_.size(); candidate != end; ++candidate) {
    if (candidate->policy == done) continue;
    const Policy& policy = set_->policies.data()[candidate->policy];
    const Binding& binding = policy.bindings.data()[candidate->binding];
    const bool is_last = candidate + 1 == end || candidate[1].policy != candidate->policy;
    if (binding.plain && trace == nullptr) {
      plan_plain(policy, binding, candidate->binding);
    } else if (policy.pattern) {
      plan_pattern(policy, at, trace);
    } else {
      Part part = plan_policy(policy, candidate->binding, is_last, false, at, options);
      if (part == Part::unread && unread == nullptr) unread = candidate;
      if (is_last && part != Part::takes && unread != nullptr) {
        part = plan_policy(policy, unread->binding, true, true, at, options);
      }
      if (is_last) unread = nullptr;
      if (part != Part::takes) continue;
      unread = nullptr;
    }
    done = candidate->policy;
    if (plan_.defect) return;
  }
  if (!plan_.unread_events.empty()) plan_unread_events(at, options);
}

/// Policies that watch an event of which nobody can tell whether it happened.
void Evaluator::plan_unread_events(Instant at, const Options& options) {
  for (const EventIndex event : plan_.unread_events) {
    for (const PolicySet::Watcher& watcher : set_->watchers[event]) {
      const Policy& policy = set_->policies[watcher.policy];
      const bool planned =
          std::any_of(plan_.policies.begin(), plan_.policies.end(),
                      [&](const PlannedPolicy& other) { return other.policy == watcher.policy; });
      const bool counts = policy.bindings[watcher.binding].counts;
      if (planned) continue;
      if (!policy.pattern) {  // what is only guarded is read all the same
        if (!counts &&
            plan_policy(policy, watcher.binding, true, false, at, options) != Part::unread)
          continue;
        plan_policy(policy, watcher.binding, true, true, at, options);
      } else if (counts) {
        const Unread unread = unread_in(frame_, *set_, event);
        refuses_unread(policy, unread.name, unread.why);
      }
      if (plan_.defect) return;
    }
  }
  std::stable_sort(plan_.policies.begin(), plan_.policies.end(),
                   [](const auto& a, const auto& b) { return a.policy < b.policy; });
}

/// What plan_policy() does for most policies, when all that it asks of them is known at load.
void Evaluator::plan_plain(const Policy& policy, const Binding& binding,
                           std::uint16_t binding_index) {
  if (!load_policy_key(policy, binding, nullptr)) return;
  const std::uint16_t index = policy.counters.front();
  const Counter& counter = set_->counters.data()[index];
  PlannedPolicy& planned = plan_.policies.emplace_back();
  planned.policy = policy.index;
  planned.binding = binding_index;
  planned.counts = binding.counts;
  planned.reserves = binding.counts && binding.outcome;
  planned.first_limit = static_cast<std::uint32_t>(plan_.limits.size());
  for (const auto& limit : binding.limits) plan_.limits.push_back(limit);
  planned.first_counter = static_cast<std::uint32_t>(plan_.counter_refs.size());
  plan_.counter_refs.push_back(static_cast<std::uint16_t>(plan_.counters.size()));
  PlannedCounter& fresh = plan_.counters.emplace_back();
  fresh.counter = index;
  fresh.key = hash_.owned_by(counter.what);
  fresh.counts = planned.counts;
  fresh.reserves = planned.reserves;
  bank_.prefetch(counter.id, fresh.key);
  if (rows_ != nullptr) rows_->expect(policy, fresh.key);
  if (policy.caps) note_ceilings(policy, binding, planned);
}

/// Of a policy that counts by the times of events. Whatever comes of it, its watched event has been
/// seen.
bool Evaluator::in_time(const Policy& policy, bool counts, Instant at, bool dry) {
  bool in_time = true;
  for (const std::uint16_t index : policy.counters) {
    const Counter& counter = set_->counters[index];
    const bool tells = counts && !dry;
    in_time = (tells ? bank_.observe(counter.id, at.moment(counter))
                     : bank_.in_time(counter.id, at.moment(counter))) &&
              in_time;
  }
  if (!in_time && !dry) StatsCells::add(loaded_->policy_cells[policy.index]->late);
  return in_time;
}

/// Whether the policy takes this event. none: `when` does not hold for it, and another that the
/// policy watches may count, unless this is the last; unread: nobody can tell. `as_if`: nobody can,
/// and the policy must do with this event what it does with those.
Evaluator::Part Evaluator::plan_policy(const Policy& policy, std::uint16_t binding_index,
                                       bool is_last, bool as_if, Instant at,
                                       const Options& options) {
  Trace* const trace = options.trace;
  const Binding& binding = policy.bindings.data()[binding_index];
  frame_.set_event(set_->events.data()[binding.event].name);
  bool counts = binding.counts;
  Unread unread;
  if (binding.when && binding.when->side() == Side::request) {
    const Value condition = binding.when->eval(frame_);
    if (!condition.is_true()) {
      if (condition.is_error()) unread = unread_in(frame_, *set_, *binding.when);
      if (unread && !as_if) return Part::unread;
      if (!unread && !is_last) return Part::none;
    }
    if (!condition.is_true() && !unread && policy.is_meter) {
      counts = false;  // the rungs that name it read it all the same
    } else if (!condition.is_true() && !unread) {
      if (trace != nullptr) {
        const bool known = condition.is(Type::boolean);
        trace->skipped(policy, known ? Skip::when_false : Skip::when_null, {}, MissReason::none);
      }
      return Part::none;
    }
  }
  if (as_if) {
    if (!unread) unread = unread_in(frame_, *set_, binding.event);
    const std::size_t field = binding.key.size() + binding.arguments.size();
    if (!missing(policy, field, unread.name, unread.why, Skip::when_unread, trace)) {
      if (!policy.is_meter || plan_.defect) return Part::takes;
      counts = false;
    }
  }
  if (policy.own_time && !in_time(policy, counts, at, options.dry)) {
    if (trace != nullptr) trace->skipped(policy, Skip::late, {}, MissReason::none);
    return Part::takes;
  }
  PlannedPolicy planned;
  planned.policy = policy.index;
  planned.binding = binding_index;
  planned.applies = !policy.guarded_only ||
                    std::any_of(policy.guards.begin(), policy.guards.end(),
                                [&](EventIndex event) { return happened(event) || untold(event); });
  planned.counts = counts;
  planned.reserves = counts && binding.outcome;
  if (!load_policy_key(policy, binding, trace)) return Part::takes;
  if (planned.applies && !policy.own_lists.empty() && own_lists_refuse(policy, at)) {
    if (trace != nullptr) trace->skipped(policy, Skip::listed, {}, MissReason::none);
    return Part::takes;
  }
  planned.first_limit = static_cast<std::uint32_t>(plan_.limits.size());
  if (!binding.limits.empty()) {
    for (const auto& limit : binding.limits) plan_.limits.push_back(limit);
  } else if (!plan_limits(policy, binding)) {
    plan_.limits.resize(planned.first_limit);
    return Part::takes;
  }
  if (policy.has_metric) {
    limiter::Amount amount;
    const bool asks = policy.metric == config::MetricDef::Kind::exists;
    if (policy.reads_amount && (counts || asks) && !load_amount(policy, binding, amount, trace)) {
      plan_.limits.resize(planned.first_limit);
      return Part::takes;
    }
    plan_counters(policy, binding, amount, planned);
  }
  plan_.policies.push_back(planned);
  return Part::takes;
}

/// False: a limit that refuses hangs on what cannot be read, and the request is refused for that.
bool Evaluator::plan_limits(const Policy& policy, const Binding& binding) {
  for (std::size_t r = 0; r < binding.rungs.size(); ++r) {
    const Limit& limit = binding.rungs[r].limit;
    plan_.limits.push_back(load_limit(limit));
    if (plan_.limits.back() || !refuses(policy.rungs[r].effect)) continue;
    const Unread unread = unread_in(frame_, *set_, limit);
    if (unread && refuses_unread(policy, unread.name, unread.why)) return false;
  }
  return true;
}

/// Of a key that hash_key() could not hash. False: the policy does without the event.
bool Evaluator::hash_with_gaps(const Policy& policy, const Binding& binding, Trace* trace) {
  const std::size_t first = bad_part_;
  MissReason reason = frame_.why(binding.key[first].slot);
  if (reason == MissReason::none) {
    // It is there, and no place; or a list or object, of which an application may make a text.
    const bool nested = frame_.load(binding.key[first].slot).is(Type::json);
    reason = nested ? MissReason::unreadable : MissReason::failed;
  }
  if (!missing(policy, first, policy.key_names[first], reason, Skip::key_missing, trace))
    return false;
  // `missing: same`: every missing part becomes one marker; the others stay what they are.
  load_key_with_gaps(binding.key);
  hash_ = key_hash();
  return true;
}

void Evaluator::load_key_with_gaps(const std::vector<KeySlot>& key) {
  parts_.clear();
  if (masked_.size() < key.size()) masked_.resize(key.size());
  place_part_ = kNoPart;
  for (std::size_t i = 0; i < key.size(); ++i) {
    Value value = frame_.load(key[i].slot);
    if (key[i].is_place) {
      const auto place = value.is(Type::text) ? parse_place(value.as_text()) : std::nullopt;
      if (place) {
        place_part_ = i;
        place_ = *place;
      } else {
        value = Value::null();
      }
    }
    parts_.push_back(key_part(key[i], value, masked_[i]));
  }
}

bool Evaluator::missing(const Policy& policy, std::size_t field, std::string_view name,
                        MissReason reason, Skip skip, Trace* trace) {
  StatsCells& cells = *loaded_->policy_cells[policy.index];
  StatsCells::add(cells.missing[std::min(field, StatsCells::kFields - 1)]);
  if (refuses_unread(policy, name, reason)) return false;
  if (skip != Skip::amount_missing && policy.missing == config::Missing::same) return true;
  if (trace != nullptr) trace->skipped(policy, skip, name, reason);
  return false;
}

/// A policy that can refuse refuses what it cannot read, and one with `missing: deny` what is
/// missing. True: the request is refused for it; or would be if the policy were not in shadow mode,
/// and then it does no more with the event than it would do.
bool Evaluator::refuses_unread(const Policy& policy, std::string_view name, MissReason reason) {
  const auto status_of = [&](bool strict, bool denies) {
    const int status = strict ? defect_status(reason) : 0;
    return status == 0 && denies ? 403 : status;
  };
  const bool denies = policy.missing == config::Missing::deny;
  Defect defect{policy.index, {}, 0, name, reason, policy.refusal_tell};
  if (!policy.shadow) {
    defect.status = status_of(policy.strict, denies);
    if (defect.status != 0) {
      plan_.defect = defect;
      return true;
    }
  }
  defect.status = status_of(policy.strict_in_shadow, policy.shadow && denies);
  if (defect.status == 0) return false;
  const bool noted = std::any_of(plan_.would_refuse.begin(), plan_.would_refuse.end(),
                                 [&](const Defect& other) { return other.policy == policy.index; });
  if (!noted) plan_.would_refuse.push_back(defect);
  return policy.shadow;
}

bool Evaluator::own_lists_refuse(const Policy& policy, Instant at) {
  bool refused = false;
  for (const ListIndex index : policy.own_lists) {
    const List& list = set_->lists[index];
    if (list_bank_.size(list.id) == 0) continue;
    const limiter::Listed listed = list_bank_.find(list.id, hash_.owned_by(list.identity), at.now);
    if (!listed.listed) continue;
    plan_.lists.push_back({index, listed.until});
    // What a shadow list would refuse still counts for the enforced rungs of the same policy.
    if (refuses(list.effect) && list.shadow == policy.shadow) refused = true;
  }
  return refused;
}

/// For another policy that asks for the same number.
PlannedCounter* Evaluator::find_planned(std::uint16_t index, const limiter::CounterKey& key) {
  const auto found = std::find_if(
      plan_.counters.begin(), plan_.counters.end(),
      [&](const PlannedCounter& other) { return other.counter == index && other.key == key; });
  return found == plan_.counters.end() ? nullptr : &*found;
}

void Evaluator::plan_counters(const Policy& policy, const Binding& binding,
                              const limiter::Amount& amount, PlannedPolicy& planned) {
  planned.first_counter = static_cast<std::uint32_t>(plan_.counter_refs.size());
  std::uint16_t key_in_store = PlannedCounter::kNone;
  for (const std::uint16_t index : policy.counters) {
    const Counter& counter = set_->counters.data()[index];
    PlannedCounter* found =
        counter.common ? find_planned(index, counter_key(counter, hash_)) : nullptr;
    if (found == nullptr) {
      PlannedCounter& fresh = plan_.counters.emplace_back();
      fresh.counter = index;
      fresh.key = counter_key(counter, hash_);
      fresh.amount = amount;
      fresh.counts = planned.counts;
      fresh.reserves = planned.reserves;
      if (sharing_ != nullptr && counter.shared != nullptr) {
        if (counts_.is_synced(counter)) {
          touch_synced(counter, fresh.key, binding.key);
        } else {
          if (key_in_store == PlannedCounter::kNone) key_in_store = spell_key(binding.key);
          fresh.shared_key = key_in_store;
        }
      }
      bank_.prefetch(counter.id, fresh.key);
      if (rows_ != nullptr) rows_->expect(policy, fresh.key);
      found = &fresh;
    } else if (planned.counts && !found->counts) {
      found->amount = amount;
      found->counts = true;
      found->reserves = planned.reserves;
    }
    plan_.counter_refs.push_back(static_cast<std::uint16_t>(found - plan_.counters.data()));
  }
  if (policy.caps) note_ceilings(policy, binding, planned);
}

/// The lowest threshold that refuses is what may not be passed: one atomic add-if-below.
void Evaluator::note_ceilings(const Policy& policy, const Binding& binding,
                              const PlannedPolicy& planned) {
  if (!planned.applies) return;
  for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
    const Rung& rung = policy.rungs[r];
    const auto& limit = plan_.limits[planned.first_limit + r];
    if (!rung.caps || binding.rungs[r].condition || !limit) continue;
    PlannedCounter& counter = planned_counter(planned, rung.counter);
    const limiter::Ceiling ceiling{*limit, rung.compare == config::Rung::Compare::at};
    if (!counter.has_ceiling || lower(ceiling, counter.ceiling)) {
      counter.ceiling = ceiling;
      counter.has_ceiling = true;
    }
  }
}

bool Evaluator::refused_by_list() const {
  return std::any_of(plan_.lists.begin(), plan_.lists.end(), [&](const ListHit& hit) {
    const List& list = set_->lists[hit.list];
    return !list.shadow && refuses(list.effect);
  });
}

namespace {

/// A counter that can't take the amount counts nothing, and refuses nobody.
bool is_refused_by(const Counter& counter, const PlannedCounter& planned) {
  return planned.reading.refused && !counter.shadow && planned.has_ceiling &&
         planned.ceiling.broken_by(planned.reading.value);
}

/// True: it refuses the request. In one piece with the loop over the counters of an event.
[[gnu::always_inline]] inline bool charge_counter(Counts& counts, const Counter& counter,
                                                  PlannedCounter& planned, const Instant& at,
                                                  bool refused, const Evaluator::Options& options) {
  // With the answer in hand nothing comes between a reservation and its end.
  const bool foreseen = options.answer != nullptr && planned.reserves && !counter.always;
  const limiter::Moment now = at.moment(counter);
  if (!planned.counts) {
    // `exists` asks for the value of this event, also where it is not kept.
    const bool asks = counter.spec.metric == limiter::Metric::exists;
    planned.reading = counts.peek(counter, planned.key, now, asks ? &planned.amount : nullptr);
  } else if (options.dry || foreseen || (refused && !counter.always)) {
    // Refused already: what is not passed is not counted, but its reading still tells the severest
    // rung.
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

bool Evaluator::plan_asks() const {
  return std::any_of(plan_.counters.begin(), plan_.counters.end(),
                     [](const auto& of) { return of.shared_key != PlannedCounter::kNone; }) ||
         std::any_of(plan_.patterns.begin(), plan_.patterns.end(),
                     [](const auto& of) { return of.looks; });
}

bool Evaluator::charge(Instant at, const Options& options) {
  const bool asks = sharing_ != nullptr && plan_asks();
  if (asks && !options.dry) plan_asked();
  bool refused = refused_by_list();
  for (PlannedCounter& planned : plan_.counters) {
    if (planned.shared_key != PlannedCounter::kNone) continue;
    const Counter& counter = counter_of(planned);
    refused =
        (planned.deferred ? foretell(planned, at)
                          : charge_counter(counts_, counter, planned, at, refused, options)) ||
        refused;
    if (planned.reading.datum != nullptr) keep_datum(planned);
  }
  if (asks) {
    ask(refused, options);
    ask_about_patterns();
  } else if (options.trace != nullptr) {
    trace_counters(*options.trace);
  }
  return asks;
}

/// The store is asked, and while its answer is awaited other requests are judged. What this one is
/// counted for in the meantime, and another policy then refuses, would ban or refuse them by counts
/// that never were. So what somebody is banned for is reserved in the store until the verdict, and
/// counted here only then, as is what goes to other replicas by itself. All else is counted at
/// once: it may refuse, and what it refuses is not asked for.
void Evaluator::plan_asked() {
  std::size_t refusing = 0;
  const auto refuses_by = [&](const Policy& policy) { return policy.can_refuse && !policy.shadow; };
  for (const PlannedPolicy& planned : plan_.policies)
    refusing += planned.applies && refuses_by(policy_of(planned)) ? 1 : 0;
  for (const PlannedPattern& planned : plan_.patterns)
    refusing += refuses_by(set_->policies[set_->patterns[planned.pattern].policy]) ? 1 : 0;
  for (const PlannedPolicy& planned : plan_.policies) {
    const Policy& policy = policy_of(planned);
    const bool others = refusing > (planned.applies && refuses_by(policy) ? 1U : 0U);
    for (std::size_t k = 0; k < policy.counters.size(); ++k) {
      PlannedCounter& of = planned_counter(planned, k);
      const Counter& counter = counter_of(of);
      if (!of.counts || of.reserves || counter.spec.window == limiter::Window::none) continue;
      if (of.shared_key == PlannedCounter::kNone) {
        of.deferred = of.deferred || policy.remembers || counts_.is_synced(counter);
      } else if (others && policy.provisional && counter.spec.outcome) {
        of.provisional = plan_.provisional = true;
      }
    }
  }
}

/// What a deferred counter will say. If it refuses, it has said so: nothing is asked for then.
bool Evaluator::foretell(PlannedCounter& planned, Instant at) {
  const Counter& counter = counter_of(planned);
  planned.reading = counts_.peek(counter, planned.key, at.moment(counter), &planned.amount);
  const bool broken = planned.has_ceiling && planned.ceiling.broken_by(planned.reading.value);
  if (!broken || counter.always) return false;
  planned.reading.refused = true;
  planned.deferred = false;
  return is_refused_by(counter, planned);
}

/// The store has been heard.
void Evaluator::charge_deferred(const Options& options) {
  bool refused = refused_by_list() || plan_.defect.has_value();
  for (const PlannedCounter& planned : plan_.counters)
    refused = refused || is_refused_by(counter_of(planned), planned);
  for (PlannedCounter& planned : plan_.counters) {
    if (!std::exchange(planned.deferred, false)) continue;
    refused = charge_here(planned, at_, refused, options) || refused;
  }
}

/// True: it refuses the request.
bool Evaluator::charge_here(PlannedCounter& planned, Instant at, bool refused,
                            const Options& options) {
  const bool refuses = charge_counter(counts_, counter_of(planned), planned, at, refused, options);
  keep_datum(planned);
  return refuses;
}

void Evaluator::trace_counters(Trace& trace) {
  for (const PlannedPolicy& planned : plan_.policies) {
    const Policy& policy = set_->policies[planned.policy];
    for (std::size_t k = 0; k < policy.counters.size(); ++k) {
      const auto& counter = plan_.counters[plan_.counter_refs[planned.first_counter + k]];
      trace.counted(policy, policy.bindings[planned.binding], counter_of(counter), counter.reading);
    }
  }
}

}  // namespace weir::policies
