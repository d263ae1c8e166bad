#include <algorithm>

#include "policies/set/checks/call_checks.h"
#include "policies/set/compiler.h"
#include "policies/set/describe.h"

namespace weir::policies {
namespace {

using config::MetricDef;

/// The parts of the key, `per` among them.
std::vector<config::KeyPart> view_key_of(const config::ViewDef& def) {
  std::vector<config::KeyPart> out = def.by;
  const auto is_per = [&](const config::KeyPart& part) {
    return !part.near && part.field.value == def.per->value;
  };
  if (def.per && std::none_of(out.begin(), out.end(), is_per)) {
    config::KeyPart part;
    part.field = *def.per;
    out.insert(out.begin(), std::move(part));
  }
  return out;
}

limiter::ViewSpec view_spec(const config::ViewDef& def, const std::vector<config::KeyPart>& key) {
  limiter::ViewSpec spec;
  spec.metric = spec_of(def.metric.kind, false, false, nullptr, 1).metric;
  spec.method = def.method;
  const config::WindowDef& window = def.window;
  if (window.kind == config::WindowDef::Kind::calendar) {
    spec.zone = TimeZone::find(window.zone.value);
    spec.unit = window.unit;
  } else if (window.kind == config::WindowDef::Kind::all) {
    spec.endless = true;
  } else {
    spec.length = window.length;
    spec.hop = window.kind == config::WindowDef::Kind::last ? window.hop : window.length;
  }
  spec.grouped = !key.empty();
  spec.top = def.top ? def.top->value : 0;
  if (def.per) {
    const auto per = std::find_if(key.begin(), key.end(), [&](const config::KeyPart& part) {
      return !part.near && part.field.value == def.per->value;
    });
    spec.per = static_cast<std::size_t>(per - key.begin());
  }
  spec.expect = def.expect;
  spec.error = def.error;
  return spec;
}

std::string describe_view(const limiter::ViewSpec& spec) {
  std::string out(name_of(spec.metric));
  if (spec.method == Method::bloom) {
    out += " by bloom " + std::to_string(spec.expect);
  } else if (spec.method == Method::hll) {
    out += " by hll";
  }
  if (spec.method != Method::exact) {
    out += " " + Number::real(spec.error).to_string();
  }
  if (spec.zone) {
    out += " in each " + std::string(unit_name(spec.unit)) + " of " + spec.zone->name();
  } else if (spec.endless) {
    out += " without an end";
  } else {
    out += " over " + std::to_string(spec.length.count()) + " ms every " +
           std::to_string(spec.hop.count()) + " ms";
  }
  if (spec.top != 0) out += " top " + std::to_string(spec.top);
  if (spec.per) out += " per " + std::to_string(*spec.per);
  return out;
}

}  // namespace

void ViewCompiler::compile_views() {
  set_.view_memory = model_.server.limits.views;
  for (const config::ViewDef& def : model_.views) {
    if (def.sound) compile_view(def);
  }
}

void ViewCompiler::compile_view(const config::ViewDef& def) {
  const std::size_t errors = problems_.errors();
  const std::vector<config::KeyPart> key = view_key_of(def);
  View view;
  view.name = def.name.value;
  view.spec = view_spec(def, key);
  view.shared = def.share.has_value();
  view.wall_clock = def.window.kind != config::WindowDef::Kind::last;
  for (const config::KeyPart& part : key) view.key_names.push_back(part.field.value);
  for (const config::Text& name : def.watch) {
    if (const auto event = names_.find_event(name)) bind_view(def, key, *event, view);
  }
  if (problems_.errors() != errors || view.bindings.empty()) return;
  std::string canonical = "view " + view.name + ": " + describe_view(view.spec) + " ";
  for (const View::Binding& binding : view.bindings) {
    canonical += "watch " + names_.event_canonical(binding.event);
    if (binding.when) canonical += " when " + binding.when->canonical();
    canonical += " by " + names_.key_canonical(binding.key);
    for (const Expression& argument : binding.arguments) canonical += " of " + argument.canonical();
    canonical += "; ";
  }
  if (view.shared) canonical += "of all replicas";
  view.identity = identity_of(canonical);
  view.metric = name_of(view.spec.metric);
  if (!def.metric.arguments.empty()) {
    view.metric += '(';
    for (const config::Text& argument : def.metric.arguments) {
      view.metric += (view.metric.back() == '(' ? "" : ", ") + argument.value;
    }
    view.metric += ')';
  }
  set_.views.push_back(std::move(view));
}

void ViewCompiler::bind_view(const config::ViewDef& def, const std::vector<config::KeyPart>& key,
                             EventIndex index, View& view) {
  const Event& event = set_.events[index];
  const std::size_t errors = problems_.errors();
  View::Binding binding;
  binding.event = index;
  binding.outcome = event.outcome;
  Scope scope(names_, event);
  const auto reads = [&](const Expression& expression) {
    if (expression.side() == Side::answer) binding.outcome = true;
    add_captures(binding.captures, expression.captures());
  };
  if (def.when) {
    binding.when = names_.compile_when(*def.when, scope);
    if (binding.when) reads(*binding.when);
  }
  for (const config::KeyPart& part : key) {
    if (part.near) {
      Binding place;
      binder_.bind_place(*part.near, event, place);
      for (const KeySlot& slot : place.key) {
        binding.key.push_back(slot);
        add_captures(binding.captures, {&slot.slot, 1});
      }
      continue;
    }
    const auto slot = names_.key_part_slot(part, event, true);
    if (!slot) continue;
    binding.key.push_back(*slot);
    add_captures(binding.captures, {&slot->slot, 1});
    if (const auto whole = compile_expression(part.field, scope, problems_)) reads(*whole);
  }
  for (const config::Text& argument : def.metric.arguments) {
    auto expression = compile_expression(argument, scope, problems_);
    if (!expression) continue;
    if (def.metric.kind != Metric::distinct && !is_amount(expression->type())) {
      problems_.error(argument.where,
                      std::string(name_of(view.spec.metric)) + "() needs a number, and this is " +
                          std::string(type_name(expression->type())),
                      "convert it: int(...) or double(...)");
      continue;
    }
    reads(*expression);
    binding.arguments.push_back(std::move(*expression));
  }
  if (problems_.errors() != errors) return;
  for (EventIndex e = index;; e = set_.events[e].parent) {
    if (set_.events[e].when) add_captures(binding.captures, set_.events[e].when->captures());
    if (set_.events[e].parent == e) break;
  }
  check_view_of_calls(def, set_, binding, problems_);
  view.outcome = view.outcome || binding.outcome;
  view.bindings.push_back(std::move(binding));
}

void PolicySet::attach_views(ViewBank& bank) {
  for (View& view : views) {
    view.live = bank.open(view.identity, view.name, view.spec, view.shared);
    view.live->limit(bank.bounded() ? view_memory / views.size() : 0);
  }
}

}  // namespace weir::policies
