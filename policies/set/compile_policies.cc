#include <algorithm>

#include "config/checks/exactness.h"
#include "policies/lang/extractors.h"
#include "policies/set/checks/call_checks.h"
#include "policies/set/compiler.h"

namespace weir::policies {

using config::MetricDef;

namespace {

/// The score of a request for which each policy's rung with the highest score wins.
std::int64_t highest_score(const config::Model& model) {
  std::int64_t sum = 0;
  for (const config::PolicyDef& policy : model.policies) {
    std::int64_t most = 0;
    for (const config::Rung& rung : policy.then) {
      if (rung.score) most = std::max<std::int64_t>(most, rung.score->value);
    }
    sum += most;
  }
  return sum;
}

/// A threshold that every score, or none from 0 to `highest`, reaches.
void warn_of_score(const config::Rung& rung, std::int64_t highest, config::Problems& problems) {
  const auto* const limit = std::get_if<config::Located<Number>>(&rung.limit);
  if (limit == nullptr) return;
  const auto holds = [&](std::int64_t score) {
    const Number value = Number(score);
    switch (rung.compare) {
      case Compare::over:
        return limit->value < value;
      case Compare::at:
        return !(value < limit->value);
      case Compare::under:
        return value < limit->value;
      case Compare::none:
        break;
    }
    return true;
  };
  const bool of_none = holds(0), of_highest = holds(highest);
  if (of_none != of_highest || rung.compare == Compare::none) return;
  const std::string range = ": scores lie from 0 to " + std::to_string(highest) +
                            ", the sum of the highest one of each policy";
  problems.warning(
      limit->where,
      (of_none ? "every request has such a score" : "no request has such a score") + range,
      of_none || rung.compare == Compare::under
          ? ""
          : "lower the threshold, or give rungs a higher score");
}

}  // namespace

void PolicyCompiler::compile_policies() {
  set_.notify = model_.notify;
  for (const config::PolicyDef& def : model_.policies) {
    if (!def.sound) {
      if (def.mode.value != Mode::disabled) look_into(def);
      continue;
    }
    if (def.mode.value == Mode::disabled) {
      set_.disabled.push_back(def.name.value);
      for (const config::Rung& rung : def.then) {
        if (rung.list) set_.disabled_lists.emplace_back(def.name.value, rung.list->value);
      }
    } else {
      compile_policy(def);
    }
  }
}

/// A policy with an error: the fields that its expressions read, which do not depend on the
/// wrong parts.
void PolicyCompiler::look_into(const config::PolicyDef& def) {
  config::PolicyDef part = def;
  part.reserve.reset();  // needs a metric, which may be the error
  const auto look = [&](const config::Text& name, Binder::Role role) {
    const auto event = names_.event_index.find(name.value);
    if (event != names_.event_index.end()) binder_.bind(part, event->second, role);
  };
  if (!def.pattern) {
    for (const config::Text& name : def.watch) look(name, Binder::Role::counts);
    return;
  }
  part.then.clear();  // read only some of the events
  for (const config::PatternDef::Step& step : def.pattern->steps)
    look(step.event, Binder::Role::counts);
}

namespace {

bool is_enforced(const config::PolicyDef& def, const config::Rung& rung) {
  const Mode mode = rung.mode ? rung.mode->value : def.mode.value;
  return mode == Mode::enforce && def.mode.value == Mode::enforce;
}

bool remembers(const config::PolicyDef& def) {
  return std::any_of(def.then.begin(), def.then.end(), [&](const config::Rung& rung) {
    // A bucket that overflows is emptied.
    const config::WindowDef* const window = config::window_of(def, rung);
    const bool leaks = window != nullptr && window->kind == config::WindowDef::Kind::leaky;
    const bool empties = rung.clear || (leaks && rung.compare == Compare::none);
    return is_enforced(def, rung) &&
           (empties || !rung.durations.empty() || rung.for_window || rung.list || rung.notify);
  });
}

bool may_refuse(const config::PolicyDef& def) {
  return std::any_of(def.then.begin(), def.then.end(), [&](const config::Rung& rung) {
    return is_enforced(def, rung) && (refuses(rung.action.value) || rung.list);
  });
}

}  // namespace

/// Whether another policy may refuse events that this one counts.
bool PolicyCompiler::meets_refusals(const config::PolicyDef& def) const {
  std::vector<EventIndex> bases;
  const auto base_of = [&](const config::Text& name) {
    const auto found = names_.event_index.find(name.value);
    return found == names_.event_index.end() ? kRequestEvent : set_.events[found->second].base;
  };
  for (const config::Text& name : def.watch) bases.push_back(base_of(name));
  const auto meets = [&](const config::Text& name) {
    const EventIndex theirs = base_of(name);
    return std::any_of(bases.begin(), bases.end(), [&](EventIndex ours) {
      return ours == theirs || ours == kRequestEvent || theirs == kRequestEvent;
    });
  };
  return std::any_of(
      model_.policies.begin(), model_.policies.end(), [&](const config::PolicyDef& other) {
        if (other.name.value == def.name.value || !may_refuse(other)) return false;
        return other.pattern || std::any_of(other.watch.begin(), other.watch.end(), meets) ||
               std::any_of(other.guard.begin(), other.guard.end(), meets);
      });
}

void PolicyCompiler::compile_policy(const config::PolicyDef& def) {
  if (def.pattern) return compile_pattern(def);
  Policy policy;
  policy.name = def.name.value;
  policy.where = def.name.where;
  policy.shadow = def.mode.value == Mode::shadow;
  policy.announce = def.announce;
  policy.missing = def.missing.value;
  policy.metric = def.metric.kind;
  policy.shared = def.share.has_value();
  policy.peer_key = def.peer_key;
  if (def.on_error) policy.on_error = *def.on_error;
  policy.reads_score = def.metric.kind == Metric::score;
  policy.has_metric = def.window.has_value() || def.metric.kind == Metric::in_flight;
  for (const config::KeyPart& part : def.key) policy.key_names.push_back(part.field.value);

  policy.remembers = remembers(def);
  policy.provisional = policy.remembers && def.share && !def.share->sync && meets_refusals(def);
  if (!binder_.bind_events(def, policy)) return;
  if (policy.reads_score) check_score(def, policy);
  compile_meters(def, policy);  // meters precede their policy
  policy.index = static_cast<PolicyIndex>(set_.policies.size());
  policy.key_is_address =
      policy.bindings.front().key.size() == 1 && policy.bindings.front().key.front().is_address;
  counters_.compile_counters(def, policy);
  rungs_.compile_rungs(def, policy);
  if (policy.has_metric) counters_.compile_resets(def, policy);
  warn_policy(def, policy);
  set_.policies.push_back(std::move(policy));
}

/// Each of the `metrics` is a policy of its own that only counts and reads: it counts where it
/// watches, and reads wherever the policy is judged.
void PolicyCompiler::compile_meters(const config::PolicyDef& def, Policy& policy) {
  for (const config::NamedMetricDef& named : def.metrics) {
    // Every setting of the policy applies to its metrics, except those that judge.
    config::PolicyDef meter = def;
    meter.described.clear();
    meter.metrics.clear();
    meter.guard.clear();
    meter.then.clear();
    meter.reserve.reset();
    meter.peer_key.reset();
    meter.announce = false;
    meter.name = {def.name.value + "." + named.name.value, named.name.where};
    meter.watch = named.watch;
    meter.when = named.when;
    meter.key = named.has_key ? named.key : def.key;
    meter.metric = named.metric;
    meter.window = named.window;
    Policy compiled;
    compiled.is_meter = true;
    compiled.name = meter.name.value;
    compiled.where = meter.name.where;
    compiled.shadow = policy.shadow;
    compiled.remembers = policy.remembers;  // memory rests on its readings
    compiled.provisional = policy.provisional;
    compiled.missing = meter.missing.value;
    compiled.metric = meter.metric.kind;
    if (meter.on_error) compiled.on_error = *meter.on_error;
    for (const config::KeyPart& part : meter.key) compiled.key_names.push_back(part.field.value);
    if (!binder_.bind_events(meter, compiled)) continue;
    bool sound = true;
    for (const Binding& judged : policy.bindings) {
      const bool known = std::any_of(compiled.bindings.begin(), compiled.bindings.end(),
                                     [&](const Binding& b) { return b.event == judged.event; });
      if (known) continue;
      auto binding = binder_.bind(meter, judged.event, Binder::Role::reads);
      sound = sound && binding;
      if (!binding) continue;
      const Binding& first = compiled.bindings.front();
      names_.check_same_key(meter.name, first.key, set_.events[first.event], binding->key,
                            set_.events[judged.event]);
      compiled.bindings.push_back(std::move(*binding));
    }
    if (!sound) continue;
    check_counts_of_calls(meter, def, set_, compiled, problems_);
    counters_.compile_counters(meter, compiled);
    compiled.list_keys.assign(compiled.bindings.size(), {});
    compiled.index = static_cast<PolicyIndex>(set_.policies.size());
    counters_.compile_resets(meter, compiled);
    policy.meters.push_back(compiled.index);
    set_.policies.push_back(std::move(compiled));
  }
}

/// A value of the answer comes too late for the verdict on the request.
void PolicyCompiler::check_score(const config::PolicyDef& def, const Policy& policy) {
  set_.any_scores = true;
  for (const Binding& binding : policy.bindings) {
    if (!binding.outcome || !binding.counts) continue;
    problems_.error(def.metric.where,
                    "the score is known at the request, and event \"" +
                        set_.events[binding.event].name + "\" by its answer only",
                    "watch the event that it is");
    return;
  }
  const std::int64_t highest = highest_score(model_);
  if (highest == 0) {
    return problems_.warning(def.metric.where, "no rung of any policy gives a score: this reads 0",
                             "write {over: 5, score: 30} in the rungs of other policies");
  }
  for (const config::Rung& rung : def.then) warn_of_score(rung, highest, problems_);
}

/// Amounts are checked in every policy that counts the counter of a policy that may refuse:
/// otherwise a policy that only watches the number would count amounts that the other one rejects.
/// Only time empties a bucket.
void PolicyCompiler::check_amounts() {
  std::vector<bool> checked(set_.counters.size());
  const auto mark = [&](const Policy& policy) {
    for (const std::uint16_t counter : policy.counters) checked[counter] = true;
  };
  for (const Policy& policy : set_.policies) {
    const bool leaky =
        std::any_of(policy.counters.begin(), policy.counters.end(), [&](std::uint16_t counter) {
          return set_.counters[counter].spec.window == limiter::Window::leaky;
        });
    if (policy.amounts_checked || leaky) mark(policy);
    const bool acts = std::any_of(policy.rungs.begin(), policy.rungs.end(), [](const Rung& rung) {
      return !rung.shadow && !rung.disabled && (refuses(rung.effect) || rung.list);
    });
    for (const PolicyIndex meter : policy.meters) {
      if (acts) mark(set_.policies[meter]);
    }
  }
  for (Policy& policy : set_.policies) {
    if (policy.metric != Metric::sum) continue;
    policy.amounts_checked = std::any_of(policy.counters.begin(), policy.counters.end(),
                                         [&](std::uint16_t counter) { return checked[counter]; });
  }
}

/// An answer that weir cannot read must not be a silent way around a policy.
void PolicyCompiler::warn_of_unread_answers(const config::PolicyDef& def, const Policy& policy,
                                            bool acts) {
  if (!acts) return;
  constexpr std::string_view kUnread =
      " (longer than limits.body, damaged, or in a coding that was not asked for)";
  const auto reads_answer = [&](const Binding& binding) {
    if (binding.when && binding.when->needs_answer_body()) return true;
    for (EventIndex at = binding.event;; at = set_.events[at].parent) {
      const Event& event = set_.events[at];
      if (event.when && event.when->needs_answer_body()) return true;
      if (event.parent == at) return false;
    }
  };
  for (const Binding& binding : policy.bindings) {
    if (!binding.counts) continue;
    const bool is_sum = def.metric.kind == Metric::sum;  // only a sum has an estimate
    if (is_sum && binding.late_amount && !binding.arguments.empty() && !binding.reserve &&
        binding.arguments.front().needs_answer_body()) {
      problems_.warning(def.metric.where,
                        "policy \"" + policy.name +
                            "\" counts nothing for an answer that weir cannot read" +
                            std::string(kUnread),
                        "give it an estimate, which such an answer counts: reserve: '500'");
      return;
    }
    if (def.missing.where.line == 0 && reads_answer(binding)) {
      problems_.warning(
          def.name.where,
          "policy \"" + policy.name + "\" does not count an answer that weir cannot read" +
              std::string(kUnread),
          "say what happens then: missing: same or missing: deny counts it as a match, "
          "missing: skip does not");
      return;
    }
  }
}

namespace {

/// Whether a condition names a page or a kind of request.
bool narrows(const PolicySet& set, const std::optional<Expression>& condition) {
  if (!condition) return false;
  constexpr std::string_view kNarrowing[] = {"path", "url", "method"};
  const auto slots = condition->slots();
  return std::any_of(slots.begin(), slots.end(), [&](SlotId slot) {
    const ExtractorRow* const extractor = set.slots[slot].extractor;
    return extractor != nullptr && std::find(std::begin(kNarrowing), std::end(kNarrowing),
                                             extractor->name) != std::end(kNarrowing);
  });
}

/// An event that nearly any request may turn out to be: `request`, or a route of everything below
/// some path. Callers have many such requests under way at once; of a login they have one.
bool is_any_page(const PolicySet& set, EventIndex index) {
  for (;; index = set.events[index].parent) {
    const Event& event = set.events[index];
    if (narrows(set, event.when)) return false;
    if (event.parent != index) continue;
    const bool is_request = event.source.empty() && event.calls.empty();
    return is_request && (event.route.empty() || event.route.ends_with("/*"));
  }
}

}  // namespace

/// Each open request that the policy may count holds a place until its answer.
/// If that is any page, honest callers of slow pages are refused.
void PolicyCompiler::warn_of_places(const config::PolicyDef& def, const Policy& policy, bool acts) {
  if (!acts || policy.pattern) return;
  const Binding* found = nullptr;
  const auto look = [&](const Policy& of) {
    if (of.metric != Metric::count && of.metric != Metric::distinct) return;
    for (const Binding& binding : of.bindings) {
      const bool holds = of.has_metric && binding.counts && binding.outcome;
      if (holds && !narrows(set_, binding.when) && is_any_page(set_, binding.event))
        found = &binding;
    }
  };
  look(policy);
  for (const PolicyIndex meter : policy.meters) look(set_.policies[meter]);
  if (found == nullptr) return;
  problems_.warning(
      def.name.where,
      "policy \"" + policy.name +
          "\" also bounds how many requests of a key are in flight, whatever they are: each may "
          "turn "
          "out to be an event that it counts, and holds a place until its answer",
      "watch an event with a match, such as a login; or count by an amount that the answer tells, "
      "which holds no place: fields: {bad: 'status == 404 ? 1 : 0'}, watch: request, "
      "metric: sum(bad)");
}

void PolicyCompiler::warn_policy(const config::PolicyDef& def, const Policy& policy) {
  const auto asserted = [&](const KeySlot& part) { return set_.slots[part.slot].client_asserted; };
  const Binding& binding = policy.bindings.front();
  const bool acts = std::any_of(policy.rungs.begin(), policy.rungs.end(), [](const Rung& rung) {
    return !rung.shadow && (refuses(rung.effect) || rung.list);
  });
  // A `missing: skip` in the file shows that it is on purpose. A segment of the route is never left
  // out.
  if (acts && policy.missing == Missing::skip && def.missing.where.line == 0) {
    for (std::size_t i = 0; i < binding.key.size(); ++i) {
      const Slot& slot = set_.slots[binding.key[i].slot];
      const bool segment = slot.extractor != nullptr && slot.extractor->form == ArgumentForm::index;
      if (!asserted(binding.key[i]) || segment) continue;
      problems_.warning(
          def.key[i].field.where,
          "policy \"" + policy.name + "\" can be bypassed by leaving out \"" +
              def.key[i].field.value + "\"",
          "say what happens then: missing: same, missing: deny, or missing: skip with a second "
          "policy keyed by ip");
    }
  }
  check_counts_of_calls(def, def, set_, policy, problems_);
  warn_of_rungs_over_calls(def, set_, policy, problems_);
  warn_of_unread_answers(def, policy, acts);
  warn_of_places(def, policy, acts);
  const auto denies = [](const Rung& rung) { return !rung.shadow && rung.effect == Action::deny; };
  if (!binding.key.empty() && std::all_of(binding.key.begin(), binding.key.end(), asserted) &&
      std::any_of(policy.rungs.begin(), policy.rungs.end(), denies)) {
    problems_.warning(
        def.key.front().field.where,
        "policy \"" + policy.name +
            "\" denies only by values that the client asserts: anybody can lock others out",
        "challenge instead, or add ip to the key");
  }
  if (def.reset && !binding.key.empty() &&
      std::none_of(binding.key.begin(), binding.key.end(), asserted)) {
    problems_.warning(
        def.reset->where,
        "a successful login resets the count of failed guesses for other accounts, because the key "
        "lacks the account",
        "key the policy by the user, or leave out reset");
  }
}

}  // namespace weir::policies
