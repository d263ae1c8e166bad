#include <algorithm>
#include <utility>

#include "policies/set/compiler.h"

/// The rungs of a policy: the action at each threshold, and the lists that remember keys.
namespace weir::policies {
namespace {

/// A rung that lists a key treats its own request as the list treats later ones.
void act_as(const List& list, Rung& rung) {
  rung.effect = list.effect == Action::flag ? Action::graylist : list.effect;
  if (list.effect == Action::delay) rung.hold = list.hold;
  if (!refuses(list.effect)) return;
  rung.status = list.status;
  rung.tell = list.tell;
  rung.body = list.body;
  rung.content_type = list.content_type;
}

/// Sets whether the policy refuses unreadable fields, and how much a caller learns then.
void note_strictness(const config::PolicyDefaults& defaults, PolicySet& set, Policy& policy) {
  policy.refusal_tell = defaults.tell ? defaults.tell->value : Tell::retry;
  bool first = true;
  for (const Rung& rung : policy.rungs) {
    if (rung.disabled || !refuses(rung.effect)) continue;
    (rung.shadow ? policy.strict_in_shadow : policy.strict) = true;
    if (std::exchange(first, false)) policy.refusal_tell = rung.tell;
  }
  for (const PolicyIndex index : policy.meters) {
    Policy& meter = set.policies[index];
    meter.strict = policy.strict;
    meter.strict_in_shadow = policy.strict_in_shadow;
    meter.refusal_tell = policy.refusal_tell;
  }
}

}  // namespace

void RungCompiler::compile_rungs(const config::PolicyDef& def, Policy& policy) {
  check_remembered(def, policy);
  std::uint16_t own_window = 1;
  policy.list_keys.assign(policy.bindings.size(), {});
  for (const config::Rung& from : def.then) {
    Rung rung = read(from);
    if (from.in) rung.counter = own_window++;
    const Mode mode = from.mode ? from.mode->value : def.mode.value;
    rung.disabled = mode == Mode::disabled;
    rung.shadow = policy.shadow || mode == Mode::shadow;
    if (policy.has_metric) take_window(from, set_.counters[policy.counters[rung.counter]], rung);
    if (row_of(rung.action).remembers && (!rung.durations.empty() || rung.for_window))
      choose_list(from, policy, rung);
    const List* const named =
        rung.list && !set_.lists[*rung.list].owner ? &set_.lists[*rung.list] : nullptr;
    if (named != nullptr) check_named_list(*from.list, *named, rung);
    for (std::size_t b = 0; b < policy.bindings.size(); ++b) {
      Binding& binding = policy.bindings[b];
      const bool lists = named != nullptr && binding.fires;
      policy.list_keys[b].push_back(lists ? bind_list(*from.list, *named, binding)
                                          : std::vector<KeySlot>{});
    }
    note_rung(def, rung, policy);
    policy.rungs.push_back(std::move(rung));
  }
  note_strictness(model_.defaults, set_, policy);
}

/// Copies the fields from the file that do not depend on the policy's counters and lists.
Rung RungCompiler::read(const config::Rung& from) const {
  Rung rung;
  rung.compare = from.compare;
  rung.action = from.action.value;
  rung.effect = rung.action;
  rung.status = from.status ? from.status->value : status_of(rung.action);
  rung.tell = from.tell ? from.tell->value : row_of(rung.action).tell;
  rung.body = from.body;
  rung.content_type = from.content_type;
  const bool speaks = from.status || rung.action == Action::challenge;
  if (!speaks && from.tell && rung.tell == Tell::nothing) rung.status = 403;
  if (from.hold) rung.hold = from.hold->value;
  for (const config::Duration& duration : from.durations) rung.durations.push_back(duration.value);
  rung.for_window = from.for_window;
  if (from.forget) rung.forget = from.forget->value;
  if (from.score) rung.score = from.score->value;
  rung.clear = from.clear;
  for (std::size_t i = 0; from.notify && i < set_.notify.size(); ++i) {
    if (set_.notify[i].name.value == from.notify->value)
      rung.notify = static_cast<std::uint16_t>(i);
  }
  return rung;
}

void RungCompiler::take_window(const config::Rung& from, const Counter& counter, Rung& rung) {
  rung.window = counter.window;
  if (from.paces) rung.pace = counter.spec.ms_of_one();
  // A bucket that overflows fires (where `if` holds as well), and starts again empty.
  if (counter.spec.window != limiter::Window::leaky || rung.compare != Compare::none) return;
  rung.overflows = true;
  rung.clear = true;
}

/// Where the rung remembers keys: the list that it names, or one of its own.
void RungCompiler::choose_list(const config::Rung& from, Policy& policy, Rung& rung) {
  const auto named = from.list ? names_.named_list(*from.list) : std::nullopt;
  if (named && rung.action == Action::graylist) act_as(set_.lists[*named], rung);
  // A shadow rung does not write the named list: it writes a list of its own, which no policy
  // reads.
  rung.list = from.list && !rung.shadow ? named : lists_.own_list(policy, rung, from);
  if (from.silenced && !from.list) {
    Rung enforced = rung;
    enforced.shadow = false;
    lists_.own_list(policy, enforced, from);
  }
  if (from.silenced && named) policy.named_asleep.push_back(*named);
}

void RungCompiler::check_named_list(const config::Text& at, const List& list, const Rung& rung) {
  if (!model_.lists[*rung.list].sound) return;  // its kind could not be read
  if (list.kind == ListKind::allow) {
    problems_.error(at.where, "a rung cannot put a key on the allow list \"" + list.name + "\"");
  } else if (refuses(rung.action) && !refuses(list.effect)) {
    problems_.warning(at.where,
                      "list \"" + list.name +
                          "\" refuses nobody: only requests for which the rung holds are refused",
                      "give the list effect: deny, or leave it out for a list of the policy's own");
  }
}

/// The key of the named list, from the fields of the binding's event.
std::vector<KeySlot> RungCompiler::bind_list(const config::Text& at, const List& list,
                                             Binding& binding) {
  const Event& event = set_.events[binding.event];
  auto key = lists_.list_key(list, event);
  if (!key && (event.unread || list.bindings.empty())) return {};  // the error is reported
  if (!key) {
    problems_.error(at.where, "list \"" + list.name + "\" holds " + list.of.front() +
                                  (list.of.size() > 1 ? ", ..." : "") + ", which event \"" +
                                  event.name + "\" does not provide");
    return {};
  }
  if (!list.bindings.empty()) {
    const List::Binding& first = list.bindings.front();
    names_.check_same_key(at, first.key, set_.events[first.event], *key, event);
  }
  if (binding.outcome) {
    for (const KeySlot& part : *key) add_captures(binding.captures, {&part.slot, 1});
  }
  return std::move(*key);
}

/// Sets the properties that a policy has because of this rung.
void RungCompiler::note_rung(const config::PolicyDef& def, const Rung& rung, Policy& policy) {
  if (rung.disabled) return;
  (rung.shadow ? policy.shadow_rungs : policy.enforced_rungs) = true;
  if (rung.shadow) return;
  const bool refusing = refuses(rung.effect);
  policy.can_refuse |= refusing;
  policy.amounts_checked |= def.metric.kind == Metric::sum && (refusing || rung.list);
}

/// A remembered value may have any type; a threshold compares numbers.
void RungCompiler::check_remembered(const config::PolicyDef& def, const Policy& policy) {
  const bool remembers = def.metric.kind == Metric::last;
  if (!remembers || policy.bindings.front().arguments.empty()) return;
  const Type type = policy.bindings.front().arguments.front().type();
  if (is_amount(type)) return;
  for (const config::Rung& rung : def.then) {
    if (rung.compare == Compare::none) continue;
    const auto* number = std::get_if<config::Located<Number>>(&rung.limit);
    problems_.error(
        number != nullptr ? number->where : rung.action.where,
        "thresholds are compared with numbers, and last(" + def.metric.arguments.front().value +
            ") is a " + std::string(type_name(type)),
        "convert it in the event's fields: int(...) or double(...); or compare it with `if`");
  }
}

}  // namespace weir::policies
