#include <algorithm>

#include "policies/set/compiler.h"
#include "policies/set/describe.h"
#include "policies/set/text_keys.h"

/// A policy seen from one event: where the key, the amount and the thresholds come from.
namespace weir::policies {
/// False: there was an error, which has been reported.
bool Binder::bind_events(const config::PolicyDef& def, Policy& policy) {
  const std::size_t errors = problems_.errors();
  for (const config::Text& name : def.watch) {
    if (const auto event = names_.find_event(name)) {
      if (auto binding = bind(def, *event, Role::counts))
        policy.bindings.push_back(std::move(*binding));
    }
  }
  for (const config::Text& name : def.guard) {
    const auto event = names_.find_event(name);
    if (!event) continue;
    if (set_.events[*event].outcome) {
      problems_.error(name.where,
                      "\"" + name.value +
                          "\" needs the answer; a verdict must be known at the request: guard "
                          "the event that it is");
      continue;
    }
    policy.guards.push_back(*event);
    const bool watched = std::any_of(policy.bindings.begin(), policy.bindings.end(),
                                     [&](const Binding& b) { return b.event == *event; });
    if (watched) continue;
    if (auto binding = bind(def, *event, Role::guards))
      policy.bindings.push_back(std::move(*binding));
  }
  check_told_apart(def, policy);
  for (std::size_t b = 1; b < policy.bindings.size(); ++b) {
    const Binding& first = policy.bindings.front();
    const Binding& other = policy.bindings[b];
    names_.check_same_key(def.name, first.key, set_.events[first.event], other.key,
                          set_.events[other.event]);
  }
  policy.guarded_only = !def.guard.empty();
  return problems_.errors() == errors && !policy.bindings.empty();
}

namespace {

bool reads_same(const Expression& a, const Expression& b) {
  return std::equal(a.slots().begin(), a.slots().end(), b.slots().begin(), b.slots().end());
}
bool reads_same(const std::optional<Expression>& a, const std::optional<Expression>& b) {
  return a.has_value() == b.has_value() && (!a || reads_same(*a, *b));
}

/// Whether the policy treats both events alike before the answer decides which of them happened.
bool judges_same(const Binding& a, const Binding& b, const SlotTable& slots) {
  const auto names_event = [&](SlotId slot) { return slots[slot].names_event(); };
  const auto by_name = [&](const KeySlot& part) { return names_event(part.slot); };
  if (a.key != b.key || std::any_of(a.key.begin(), a.key.end(), by_name)) return false;
  if (!reads_same(a.when, b.when)) return false;
  if (a.when && a.when->side() == Side::request && a.when->varies()) return false;
  const auto same = [](const Expression& x, const Expression& y) { return reads_same(x, y); };
  if (!std::equal(a.arguments.begin(), a.arguments.end(), b.arguments.begin(), b.arguments.end(),
                  same)) {
    return false;
  }
  return std::equal(a.rungs.begin(), a.rungs.end(), b.rungs.begin(), b.rungs.end(),
                    [&](const Binding::RungPart& x, const Binding::RungPart& y) {
                      const auto* left = std::get_if<Expression>(&x.limit.source);
                      const auto* right = std::get_if<Expression>(&y.limit.source);
                      const bool limits =
                          left == nullptr || right == nullptr || same(*left, *right);
                      return limits && x.limit.table_slots == y.limit.table_slots &&
                             reads_same(x.condition, y.condition);
                    });
}

}  // namespace

/// One reservation serves all events that the answer may make of a request.
void Binder::check_told_apart(const config::PolicyDef& def, const Policy& policy) {
  const auto base = [&](EventIndex event) {
    while (set_.events[event].parent != event) event = set_.events[event].parent;
    return event;
  };
  for (std::size_t j = 1; j < policy.bindings.size(); ++j) {
    const Binding& later = policy.bindings[j];
    for (std::size_t i = 0; i < j; ++i) {
      const Binding& first = policy.bindings[i];
      if (!first.counts || !later.counts || !(first.outcome || later.outcome)) continue;
      if (base(first.event) != base(later.event) || judges_same(first, later, set_.slots)) continue;
      if (set_.events[first.event].unread || set_.events[later.event].unread) continue;
      const std::string& name = set_.events[later.event].name;
      const auto named =
          std::find_if(def.watch.begin(), def.watch.end(),
                       [&](const config::Text& watched) { return watched.value == name; });
      problems_.error(
          named == def.watch.end() ? def.name.where : named->where,
          "the answer tells \"" + name + "\" from \"" + set_.events[first.event].name +
              "\", and this policy reads different values of the two events: the amount to "
              "reserve is not known at the request",
          "write a policy for each");
      return;
    }
  }
}

std::optional<Binding> Binder::bind(const config::PolicyDef& def, EventIndex index, Role role) {
  const Event& event = set_.events[index];
  const std::size_t errors = problems_.errors();
  Binding binding;
  binding.event = index;
  binding.counts = role == Role::counts;
  binding.outcome = event.outcome;
  if (def.when && role != Role::reads) {
    Scope scope(names_, event);
    binding.when = names_.compile_when(*def.when, scope);
    if (binding.when && binding.when->side() == Side::answer) binding.outcome = true;
  }
  bind_key(def, event, binding);
  // A policy that only reads needs no amount, except `exists`, which asks for the value of this
  // event.
  if (role == Role::counts || def.metric.kind == Metric::exists) bind_amount(def, event, binding);
  if (def.metric.kind == Metric::in_flight && binding.outcome && binding.counts) {
    problems_.error(def.metric.where, "in_flight counts requests that have no answer yet; \"" +
                                          event.name + "\" is known only by its answer");
  }
  if (def.metric.kind == Metric::in_flight && !event.source.empty() && binding.counts) {
    problems_.error(def.metric.where,
                    "in_flight counts requests that have no answer yet; records of \"" +
                        event.name + "\" have none to wait for");
  }
  bind_rungs(def, event, binding);
  if (problems_.errors() != errors) return std::nullopt;
  if (binding.outcome) bind_captures(binding);
  return binding;
}

void Binder::bind_key(const config::PolicyDef& def, const Event& event, Binding& binding) {
  for (const config::KeyPart& part : def.key) {
    if (part.near) {
      bind_place(*part.near, event, binding);
      continue;
    }
    const auto slot = names_.key_part_slot(part, event, true);
    if (!slot) continue;
    if (set_.slots[slot->slot].side == Side::answer) {
      problems_.error(
          part.field.where,
          "a key part from the answer is not supported: nothing could be reserved for it");
      continue;
    }
    binding.key.push_back(*slot);
  }
}

/// A geohash cell is a part of the key like any other: the field `geohash(lat, lon, n)`. A place
/// that counts within a radius is one text of both degrees, which the driver reads again.
void Binder::bind_place(const config::NearDef& near, const Event& event, Binding& binding) {
  Scope scope(names_, event);
  const auto degrees = [&](const config::Text& field) -> std::optional<Expression> {
    auto expression = compile_expression(field, scope, problems_);
    if (!expression) return std::nullopt;
    if (!is_amount(expression->type()) || expression->side() == Side::answer) {
      problems_.error(field.where,
                      "degrees are a number that the request has; \"" + field.value + "\" is " +
                          std::string(type_name(expression->type())),
                      "convert it in the event's fields: double(...)");
      return std::nullopt;
    }
    return expression;
  };
  auto lat = degrees(near.lat);
  auto lon = degrees(near.lon);
  if (!lat || !lon) return;
  const config::Text text{
      near.cell ? "geohash(" + near.lat.value + ", " + near.lon.value + ", " +
                      std::to_string(*near.cell) + ")"
                : "string(" + near.lat.value + ") + \",\" + string(" + near.lon.value + ")",
      near.where};
  const auto cell = compile_expression(text, scope, problems_);
  if (!cell) return;
  KeySlot slot;
  slot.slot = set_.slots.computed(*cell);
  slot.is_place = near.radius.has_value();
  binding.key.push_back(slot);
}

void Binder::bind_amount(const config::PolicyDef& def, const Event& event, Binding& binding) {
  Scope scope(names_, event);
  for (const config::Text& argument : def.metric.arguments) {
    auto expression = compile_expression(argument, scope, problems_);
    if (!expression) continue;
    // If the policy waits for the answer, `last` reads its value of the request at the answer.
    if (def.metric.kind == Metric::last && binding.outcome) binding.late_amount = true;
    if (expression->side() == Side::answer) {
      if (def.metric.kind == Metric::distinct || def.metric.kind == Metric::exists) {
        problems_.error(argument.where,
                        "a member from the answer is not supported: nothing could be "
                        "reserved for it");
        continue;
      }
      binding.late_amount = true;
      binding.outcome = true;
    }
    if (takes_amount(def.metric.kind) && !is_amount(expression->type())) {
      problems_.error(argument.where,
                      std::string(name_of(def.metric.kind)) + "() needs a number, and this is " +
                          std::string(type_name(expression->type())),
                      "convert it: int(...) or double(...)");
      continue;
    }
    binding.arguments.push_back(std::move(*expression));
  }
  if (!def.reserve) return;
  const bool unread =
      std::any_of(binding.arguments.begin(), binding.arguments.end(),
                  [&](const Expression& argument) { return names_.reads_unread(argument); });
  if (unread) return;  // which may be of the answer
  if (!binding.late_amount || def.metric.kind != Metric::sum) {
    problems_.error(def.reserve->where, "\"reserve\" is allowed only with a sum of the answer",
                    "such as metric: sum(response.body.usage)");
    return;
  }
  binding.reserve = compile_expression(*def.reserve, scope, problems_);
  if (binding.reserve &&
      (!is_amount(binding.reserve->type()) || binding.reserve->side() == Side::answer)) {
    problems_.error(def.reserve->where, "the estimate must be a number that the request tells");
  }
}

/// The fields that settlement reads of the request, besides the key (which is kept as a hash).
void Binder::bind_captures(Binding& binding) const {
  for (EventIndex e = binding.event;; e = set_.events[e].parent) {
    if (set_.events[e].when) add_captures(binding.captures, set_.events[e].when->captures());
    if (set_.events[e].parent == e) break;
  }
  if (binding.when) add_captures(binding.captures, binding.when->captures());
  for (const KeySlot& part : binding.key) add_captures(binding.captures, {&part.slot, 1});
  if (binding.late_amount) {
    for (const Expression& argument : binding.arguments)
      add_captures(binding.captures, argument.captures());
  }
  for (const Binding::RungPart& rung : binding.rungs) {
    if (rung.condition) add_captures(binding.captures, rung.condition->captures());
  }
}

void Binder::bind_rungs(const config::PolicyDef& def, const Event& event, Binding& binding) {
  for (const config::Rung& rung : def.then) {
    Binding::RungPart part;
    if (auto limit = bind_limit(rung, event)) part.limit = std::move(*limit);
    if (rung.condition) {
      Scope scope(names_, event, &def);
      part.condition = compile_condition(*rung.condition, scope, problems_);
      const auto known = part.condition ? part.condition->constant() : std::nullopt;
      // A rung that always holds is a plain rule.
      if (known && !known->is_true()) {
        problems_.warning(rung.condition->where, "this rung never holds", "");
      } else if (known && rung.compare != Compare::none) {
        problems_.warning(rung.condition->where, "this condition holds for every event",
                          "leave it out");
      }
      if (part.condition && part.condition->side() == Side::answer) {
        problems_.error(
            rung.condition->where,
            "a rung is judged at the request and cannot read the answer; put it into `when`");
      }
    }
    binding.rungs.push_back(std::move(part));
  }
}

std::optional<Limit> Binder::bind_limit(const config::Rung& rung, const Event& event) {
  Limit out;
  if (const auto* number = std::get_if<config::Located<Number>>(&rung.limit)) {
    out.source = number->value;
    return out;
  }
  const auto* text = std::get_if<config::Text>(&rung.limit);
  if (text == nullptr) return out;
  const auto table = names_.table_index.find(text->value);
  if (table == names_.table_index.end()) {
    Scope scope(names_, event);
    auto expression = compile_expression(*text, scope, problems_);
    if (!expression) return std::nullopt;
    if (!is_amount(expression->type())) {
      problems_.error(text->where,
                      "a threshold is a number, a table or an expression that gives a number; "
                      "this is " +
                          std::string(type_name(expression->type())));
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
  std::vector<KeySlot> by;
  for (const std::string& name : set_.tables[table->second]->by()) {
    const auto slot = names_.key_slot({name, {}}, event, false);
    if (!slot && event.unread) return std::nullopt;
    if (!slot) {
      problems_.error(text->where, "table \"" + text->value + "\" is by \"" + name +
                                       "\", which event \"" + event.name + "\" does not provide");
      return std::nullopt;
    }
    out.table_slots.push_back(slot->slot);
    by.push_back(*slot);
  }
  for (const config::TableDef& def : model_.tables) {
    if (def.name.value == text->value) check_table_keys(def.values, by);
  }
  return out;
}

/// The lookup uses the canonical text of a value: a key in any other spelling is never found.
void Binder::check_table_keys(const config::TableNode& node, std::span<const KeySlot> by) {
  if (by.empty()) return;
  for (const config::TableChild& child : node.children) {
    const std::string& key = child.value.value;
    check_table_keys(child.node, by.subspan(1));
    if (key == "*") continue;
    const auto address = by.front().is_address ? Address::parse(key) : std::nullopt;
    const auto canonical = address                 ? std::optional(address->to_string())
                           : by.front().is_address ? std::nullopt
                                                   : canonical_part(by.front().type, key);
    if (told_table_keys_.contains(&child)) continue;
    if (canonical == key) {
      if (names_.warn_of_never(child.value, by.front().slot)) told_table_keys_.insert(&child);
      continue;
    }
    told_table_keys_.insert(&child);
    problems_.error(child.value.where,
                    "\"" + key + "\" is never looked up: the values here are of type " +
                        std::string(type_name(by.front().type)),
                    canonical               ? "write " + *canonical
                    : by.front().is_address ? "a table has single addresses, no networks"
                                            : "");
  }
}

}  // namespace weir::policies
