#include <algorithm>

#include "policies/compiler.h"

namespace weir::policies {
namespace {

using config::MetricDef;
using config::Mode;

constexpr std::size_t kKeepDefault = 1000;

bool is_amount(Type type) {
  return type == Type::integer || type == Type::real || type == Type::dyn;
}

void add_captures(std::vector<SlotId>& into, std::span<const SlotId> slots) {
  for (const SlotId slot : slots) {
    if (std::find(into.begin(), into.end(), slot) == into.end()) into.push_back(slot);
  }
}

}  // namespace

void Compiler::compile_policies() {
  for (const config::TableDef& def : model_.tables) {
    std::vector<std::string> by;
    for (const config::Text& name : def.by) by.push_back(name.value);
    table_index_.emplace(def.name.value, static_cast<std::uint16_t>(set_.tables.size()));
    set_.tables.emplace_back(def.name.value, std::move(by), def.values);
  }
  set_.notify = model_.notify;
  for (const config::PolicyDef& def : model_.policies) {
    if (def.mode.value == Mode::disabled) {
      set_.disabled.push_back(def.name.value);
    } else {
      compile_policy(def);
    }
  }
}

void Compiler::compile_policy(const config::PolicyDef& def) {
  Policy policy;
  policy.name = def.name.value;
  policy.index = static_cast<PolicyIndex>(set_.policies.size());
  policy.where = def.name.where;
  policy.shadow = def.mode.value == Mode::shadow;
  policy.announce = def.announce;
  policy.missing = def.missing.value;
  policy.metric = def.metric.kind;
  policy.has_metric = def.window.has_value() || def.metric.kind == MetricDef::Kind::in_flight;
  for (const config::KeyPart& part : def.key) policy.key_names.push_back(part.field.value);

  const std::size_t errors = problems_.errors();
  for (const config::Text& name : def.watch) {
    if (const auto event = find_event(name)) {
      if (auto binding = bind(def, *event, true)) policy.bindings.push_back(std::move(*binding));
    }
  }
  for (const config::Text& name : def.guard) {
    const auto event = find_event(name);
    if (!event) continue;
    if (set_.events[*event].outcome) {
      problems_.error(name.where, "\"" + name.value +
                                      "\" needs the answer; a verdict must be known at the request: guard "
                                      "the event that it is");
      continue;
    }
    policy.guards.push_back(*event);
    const bool watched = std::any_of(policy.bindings.begin(), policy.bindings.end(),
                                     [&](const Binding& b) { return b.event == *event; });
    if (watched) continue;
    if (auto binding = bind(def, *event, false)) policy.bindings.push_back(std::move(*binding));
  }
  policy.guarded_only = !def.guard.empty();
  if (problems_.errors() != errors || policy.bindings.empty()) return;

  policy.key_is_address =
      policy.bindings.front().key.size() == 1 && policy.bindings.front().key.front().is_address;
  compile_counters(def, policy);
  compile_rungs(def, policy);
  compile_resets(def, policy);
  warn_policy(def, policy);
  set_.policies.push_back(std::move(policy));
}

std::optional<Binding> Compiler::bind(const config::PolicyDef& def, EventIndex index, bool counts) {
  const Event& event = set_.events[index];
  const std::size_t errors = problems_.errors();
  Binding binding;
  binding.event = index;
  binding.counts = counts;
  binding.outcome = event.outcome;
  Scope scope(*this, event);
  if (def.when) {
    binding.when = compile_condition(*def.when, scope, problems_);
    if (binding.when && binding.when->side() == Side::answer) binding.outcome = true;
  }
  for (const config::KeyPart& part : def.key) {
    auto slot = key_slot(part.field, event, true);
    if (!slot) continue;
    if (set_.slots[slot->slot].side == Side::answer) {
      problems_.error(part.field.where,
                      "a key part from the answer is not supported yet: nothing could be reserved for it");
      continue;
    }
    const bool masked = part.v4_bits || part.v6_bits;
    const bool column = set_.slots[slot->slot].kind == Slot::Kind::column;
    // A column is text: it counts as it stands, unless a mask says that it is an address.
    slot->reads_address = masked && column;
    if (masked && !slot->is_address && !column) {
      problems_.error(part.field.where, "only an address can be masked; \"" + part.field.value +
                                            "\" is " + std::string(type_name(set_.slots[slot->slot].type)));
      continue;
    }
    slot->v4_bits = static_cast<std::uint8_t>(part.v4_bits.value_or(slot->v4_bits));
    slot->v6_bits = static_cast<std::uint8_t>(part.v6_bits.value_or(slot->v6_bits));
    binding.key.push_back(*slot);
  }
  for (const config::Text& argument : def.metric.arguments) {
    auto expression = compile_expression(argument, scope, problems_);
    if (!expression) continue;
    if (expression->side() == Side::answer) {
      problems_.error(argument.where, "an amount from the answer is not supported yet");
      continue;
    }
    if (def.metric.kind == MetricDef::Kind::sum && !is_amount(expression->type())) {
      problems_.error(argument.where,
                      "sum() needs a number, and this is " + std::string(type_name(expression->type())),
                      "convert it: int(...) or double(...)");
      continue;
    }
    binding.arguments.push_back(std::move(*expression));
  }
  if (def.metric.kind == MetricDef::Kind::in_flight && binding.outcome) {
    problems_.error(def.metric.where, "in_flight counts requests that have no answer yet; \"" +
                                          event.name + "\" is known only by its answer");
  }
  bind_rungs(def, event, binding);
  if (problems_.errors() != errors) return std::nullopt;

  // What settlement reads of the request, besides the key (which is kept as a hash).
  if (binding.outcome) {
    for (EventIndex e = index;; e = set_.events[e].parent) {
      if (set_.events[e].when) add_captures(binding.captures, set_.events[e].when->captures());
      if (set_.events[e].parent == e) break;
    }
    if (binding.when) add_captures(binding.captures, binding.when->captures());
    for (const KeySlot& part : binding.key) add_captures(binding.captures, {&part.slot, 1});
    for (const Binding::RungPart& rung : binding.rungs) {
      if (rung.condition) add_captures(binding.captures, rung.condition->captures());
    }
  }
  return binding;
}

void Compiler::bind_rungs(const config::PolicyDef& def, const Event& event, Binding& binding) {
  for (const config::Rung& rung : def.then) {
    Binding::RungPart part;
    if (auto limit = bind_limit(rung, event)) part.limit = std::move(*limit);
    if (rung.condition) {
      Scope scope(*this, event, true);
      part.condition = compile_condition(*rung.condition, scope, problems_);
      if (part.condition && part.condition->side() == Side::answer) {
        problems_.error(rung.condition->where,
                        "a rung is judged at the request and cannot read the answer; put it into `when`");
      }
    }
    binding.rungs.push_back(std::move(part));
  }
}

std::optional<Limit> Compiler::bind_limit(const config::Rung& rung, const Event& event) {
  Limit out;
  if (const auto* number = std::get_if<config::Located<Number>>(&rung.limit)) {
    out.source = number->value;
    return out;
  }
  const auto* text = std::get_if<config::Text>(&rung.limit);
  if (text == nullptr) return out;
  const auto table = table_index_.find(text->value);
  if (table == table_index_.end()) {
    Scope scope(*this, event);
    auto expression = compile_expression(*text, scope, problems_);
    if (!expression) return std::nullopt;
    if (!is_amount(expression->type())) {
      problems_.error(text->where, "a threshold is a number, a table or an expression that gives a number; "
                                   "this is " + std::string(type_name(expression->type())));
      return std::nullopt;
    }
    if (expression->side() == Side::answer) {
      problems_.error(text->where, "a threshold cannot read the answer");
      return std::nullopt;
    }
    out.source = std::move(*expression);
    return out;
  }
  out.source = table->second;
  for (const std::string& name : set_.tables[table->second].by()) {
    const auto slot = key_slot({name, {}}, event, false);
    if (!slot) {
      problems_.error(text->where, "table \"" + text->value + "\" is by \"" + name + "\", which event \"" +
                                       event.name + "\" does not provide");
      return std::nullopt;
    }
    out.table_slots.push_back(slot->slot);
  }
  return out;
}

void Compiler::compile_counters(const config::PolicyDef& def, Policy& policy) {
  if (!policy.has_metric) return;
  // Type of the amounts: one for all watched events.
  bool real = false;
  if (def.metric.kind == MetricDef::Kind::sum) {
    real = std::any_of(policy.bindings.begin(), policy.bindings.end(), [](const Binding& b) {
      return b.arguments.front().type() != Type::integer;
    });
  }
  const bool outcome = std::any_of(policy.bindings.begin(), policy.bindings.end(),
                                   [](const Binding& b) { return b.counts && b.outcome; });
  std::string what;
  for (const Binding& binding : policy.bindings) {
    if (!binding.counts) continue;
    what += "watch " + event_canonical(binding.event);
    if (binding.when) what += " when " + binding.when->canonical();
    what += " key " + key_canonical(binding.key);
    for (const Expression& argument : binding.arguments) what += " of " + argument.canonical();
    what += "; ";
  }
  const auto counter_for = [&](const config::WindowDef* window) {
    Counter counter;
    counter.always = def.charge.value == config::Charge::always;
    counter.shadow = policy.shadow;
    counter.keys = def.keys ? def.keys->value : 0;
    counter.spec = spec_of(def.metric.kind, real, outcome, window, def.keep ? def.keep->value : kKeepDefault);
    if (window != nullptr) {
      counter.window = window->length;
      counter.wall_clock = window->kind == config::WindowDef::Kind::every;
    }
    counter.canonical = describe(counter.spec) + " " + what;
    if (def.reset) {
      if (const auto event = event_index_.find(def.reset->value); event != event_index_.end()) {
        counter.canonical += "reset " + event_canonical(event->second) + "; ";
      }
    }
    if (counter.always) counter.canonical += "always; ";
    if (counter.shadow) counter.canonical += "shadow; ";
    if (counter.keys != 0) counter.canonical += "keys " + std::to_string(counter.keys) + "; ";
    counter.identity = identity_of(counter.canonical);
    return intern_counter(std::move(counter));
  };
  policy.counters.push_back(counter_for(def.window ? &*def.window : nullptr));
  for (const config::Rung& rung : def.then) {
    if (rung.in) policy.counters.push_back(counter_for(&rung.in->value));
  }
}

std::uint16_t Compiler::intern_counter(Counter counter) {
  for (std::size_t i = 0; i < set_.counters.size(); ++i) {
    if (set_.counters[i].identity == counter.identity) return static_cast<std::uint16_t>(i);
  }
  set_.counters.push_back(std::move(counter));
  return static_cast<std::uint16_t>(set_.counters.size() - 1);
}

void Compiler::compile_rungs(const config::PolicyDef& def, Policy& policy) {
  std::uint16_t own_window = 1;
  policy.list_keys.assign(policy.bindings.size(), {});
  for (const config::Rung& from : def.then) {
    Rung rung;
    rung.compare = from.compare;
    if (from.in) rung.counter = own_window++;
    rung.action = from.action.value;
    rung.effect = rung.action;
    const ActionRow& row = action_row(rung.action);
    rung.status = from.status ? from.status->value : row.status;
    rung.tell = from.tell ? from.tell->value : row.tell;
    if (!from.status && from.tell && rung.tell == config::Tell::nothing) rung.status = 403;
    if (from.hold) rung.hold = from.hold->value;
    for (const config::Duration& duration : from.durations) rung.durations.push_back(duration.value);
    if (from.forget) rung.forget = from.forget->value;
    if (from.score) rung.score = from.score->value;
    rung.clear = from.clear;
    const Mode mode = from.mode ? from.mode->value : def.mode.value;
    rung.disabled = mode == Mode::disabled;
    rung.shadow = policy.shadow || mode == Mode::shadow;
    if (policy.has_metric) rung.window = set_.counters[policy.counters[rung.counter]].window;
    if (from.notify) {
      for (std::size_t i = 0; i < set_.notify.size(); ++i) {
        if (set_.notify[i].name.value == from.notify->value) rung.notify = static_cast<std::uint16_t>(i);
      }
    }
    if (row.remembers && !rung.durations.empty()) {
      if (from.list && !rung.shadow) {
        rung.list = named_list(*from.list);
      } else if (!from.list || rung.shadow) {
        rung.list = own_list(policy, rung.action, rung.shadow);
        List& own = set_.lists[*rung.list];
        // Who says what to tell says it of the ban too; else a ban gives no hint.
        if (from.status || from.tell) own.status = rung.status;
        if (from.tell) own.tell = rung.tell;
        if (rung.action == Action::delay) own.hold = rung.hold;
      }
    }
    if (rung.list && !set_.lists[*rung.list].owner) {
      const List& list = set_.lists[*rung.list];
      if (rung.action == Action::graylist) {
        rung.effect = list.effect == Action::flag ? Action::graylist : list.effect;
        if (list.effect == Action::delay) rung.hold = list.hold;
        if (refuses(list.effect)) {
          rung.status = list.status;
          rung.tell = list.tell;
        }
      }
      if (list.kind == config::ListKind::allow) {
        problems_.error(from.list->where, "a rung cannot put a key on the allow list \"" + list.name + "\"");
      }
    }
    for (std::size_t b = 0; b < policy.bindings.size(); ++b) {
      std::vector<KeySlot> key;
      if (rung.list && !set_.lists[*rung.list].owner) {
        const List& list = set_.lists[*rung.list];
        if (auto found = list_key(list, set_.events[policy.bindings[b].event])) {
          key = std::move(*found);
          if (policy.bindings[b].outcome) {
            for (const KeySlot& part : key) add_captures(policy.bindings[b].captures, {&part.slot, 1});
          }
        } else {
          problems_.error(from.list->where, "list \"" + list.name + "\" holds " + list.of.front() +
                                                (list.of.size() > 1 ? ", ..." : "") + ", which event \"" +
                                                set_.events[policy.bindings[b].event].name +
                                                "\" does not provide");
        }
      }
      policy.list_keys[b].push_back(std::move(key));
    }
    const bool refusing = refuses(rung.effect);
    if (!rung.shadow && !rung.disabled && refusing) policy.can_refuse = true;
    if (def.metric.kind == MetricDef::Kind::sum && !rung.shadow && !rung.disabled &&
        (refusing || rung.list)) {
      policy.amounts_checked = true;
    }
    policy.rungs.push_back(std::move(rung));
  }
}

void Compiler::compile_resets(const config::PolicyDef& def, Policy& policy) {
  if (!def.reset) return;
  const auto event = find_event(*def.reset);
  if (!event) return;
  Reset reset;
  reset.policy = policy.index;
  reset.event = *event;
  for (const config::KeyPart& part : def.key) {
    config::Text name = part.field;
    const auto slot = key_slot(name, set_.events[*event], false);
    if (!slot) {
      problems_.error(def.reset->where, "reset needs the same key, and event \"" + def.reset->value +
                                            "\" does not provide \"" + part.field.value + "\"");
      return;
    }
    KeySlot masked = *slot;
    masked.v4_bits = static_cast<std::uint8_t>(part.v4_bits.value_or(masked.v4_bits));
    masked.v6_bits = static_cast<std::uint8_t>(part.v6_bits.value_or(masked.v6_bits));
    reset.key.push_back(masked);
  }
  set_.resets.push_back(std::move(reset));
}

std::string Compiler::key_canonical(const std::vector<KeySlot>& key) const {
  std::string out = "(";
  for (const KeySlot& part : key) {
    if (out.size() > 1) out += ", ";
    out += set_.slots[part.slot].text;
    if (part.is_address) out += "/" + std::to_string(part.v4_bits) + "," + std::to_string(part.v6_bits);
  }
  return out + ")";
}

void Compiler::warn_policy(const config::PolicyDef& def, const Policy& policy) {
  const auto asserted = [&](const KeySlot& part) { return set_.slots[part.slot].client_asserted; };
  const Binding& binding = policy.bindings.front();
  const bool acts = std::any_of(policy.rungs.begin(), policy.rungs.end(), [](const Rung& rung) {
    return !rung.shadow && (refuses(rung.effect) || rung.list);
  });
  if (acts && policy.missing == config::Missing::skip) {
    for (std::size_t i = 0; i < binding.key.size(); ++i) {
      if (!asserted(binding.key[i])) continue;
      problems_.warning(def.key[i].field.where,
                        "policy \"" + policy.name + "\" is escaped by leaving out \"" +
                            def.key[i].field.value + "\"",
                        "say what happens then: missing: same, missing: deny, or missing: skip with a second "
                        "policy keyed by ip");
    }
  }
  const auto denies = [](const Rung& rung) { return !rung.shadow && rung.effect == Action::deny; };
  if (!binding.key.empty() && std::all_of(binding.key.begin(), binding.key.end(), asserted) &&
      std::any_of(policy.rungs.begin(), policy.rungs.end(), denies)) {
    problems_.warning(def.key.front().field.where,
                      "policy \"" + policy.name +
                          "\" denies by what the client asserts alone: anybody can lock others out",
                      "challenge instead, or add ip to the key");
  }
  if (def.reset && !binding.key.empty() && std::none_of(binding.key.begin(), binding.key.end(), asserted)) {
    problems_.warning(def.reset->where,
                      "reset on a key without the account: one's own right login clears the count of guesses "
                      "at others",
                      "key the policy by the user, or leave out reset");
  }
}

}  // namespace weir::policies
