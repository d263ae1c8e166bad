#include <algorithm>

#include "policies/set/compiler.h"

/// Pattern policies: bindings for every event that plays a part, and the parameters of the engine.
namespace weir::policies {
namespace {

using config::PatternDef;

// Events that the answer decides are known with the answer; other events are known at once.
constexpr milliseconds kLateAnswer{61'000};
// The store may receive events late: while a connection comes back, messages wait.
constexpr milliseconds kToldLate{10'000};
// An operation in the store is as slow as its key is full.
constexpr std::size_t kKeepShared = 100;

limiter::PatternSpec pattern_spec_of(const config::PolicyDef& def) {
  const PatternDef& from = *def.pattern;
  limiter::PatternSpec spec;
  spec.steps = static_cast<std::uint8_t>(from.steps.size());
  spec.strict = from.strict;
  spec.overlap = from.overlap;
  if (def.keep) spec.keep = def.keep->value;
  if (from.kind != PatternDef::Kind::pair) {
    spec.kind = from.kind == PatternDef::Kind::absence ? limiter::PatternSpec::Kind::absence
                                                       : limiter::PatternSpec::Kind::sequence;
    spec.within = from.within->value;
    return spec;
  }
  spec.kind = limiter::PatternSpec::Kind::pair;
  spec.endless = !from.within && !from.before && !from.after;
  if (from.within) spec.before = spec.after = from.within->value;
  if (from.before) spec.before = from.before->value;
  if (from.after) spec.after = from.after->value;
  return spec;
}

}  // namespace

void PolicyCompiler::compile_pattern(const config::PolicyDef& def) {
  Policy policy;
  policy.name = def.name.value;
  policy.index = static_cast<PolicyIndex>(set_.policies.size());
  policy.where = def.name.where;
  policy.shadow = def.mode.value == Mode::shadow;
  policy.missing = def.missing.value;
  policy.has_metric = false;
  policy.shared = def.share.has_value();
  if (def.on_error) policy.on_error = *def.on_error;
  for (const config::KeyPart& part : def.key) policy.key_names.push_back(part.field.value);

  Pattern pattern;
  pattern.policy = policy.index;
  pattern.spec = pattern_spec_of(def);
  pattern.always = def.charge.value == config::Charge::always;
  if (!bind_pattern(def, policy, pattern)) return;
  for (const Binding& other : policy.bindings) {
    const Binding& first = policy.bindings.front();
    names_.check_same_key(def.name, first.key, set_.events[first.event], other.key,
                          set_.events[other.event]);
  }
  policy.key_is_address =
      policy.bindings.front().key.size() == 1 && policy.bindings.front().key.front().is_address;
  policy.pattern = static_cast<std::uint16_t>(set_.patterns.size());
  rungs_.compile_rungs(def, policy);

  // Whether the answer decides shows only when the request comes, so all of it may be kept for it.
  for (std::size_t b = 0; b < policy.bindings.size(); ++b) {
    Binding& binding = policy.bindings[b];
    binder_.bind_captures(binding);
    for (const auto& key : policy.list_keys[b]) {
      for (const KeySlot& part : key) add_captures(binding.captures, {&part.slot, 1});
    }
    if (binding.outcome) pattern.spec.late = kLateAnswer;
  }
  for (const Pattern::Step& step : pattern.steps) {
    if (step.when) add_captures(policy.bindings[step.binding].captures, step.when->captures());
  }
  pattern.canonical = pattern_canonical(policy, pattern);
  if (def.version) pattern.canonical += "version " + std::to_string(def.version->value) + "; ";
  pattern.identity = identity_of(pattern.canonical);
  if (policy.shared) {
    limiter::PatternSpec spec = pattern.spec;
    spec.late += kToldLate;
    if (!def.keep) spec.keep = kKeepShared;
    pattern.shared = std::make_shared<limiter::SharedPattern>(pattern.identity, spec);
  }

  const bool live =
      std::any_of(policy.bindings.begin(), policy.bindings.end(),
                  [&](const Binding& b) { return set_.events[b.event].source.empty(); });
  if (pattern.spec.endless && live) {
    problems_.warning(
        def.pattern->where,
        "without \"within\" this pair waits for the end of input, which a proxy never sees: "
        "nothing will be unmatched",
        "write within: 5s, or {before: 3s, after: 5s}");
  }
  warn_policy(def, policy);
  set_.patterns.push_back(std::move(pattern));
  set_.policies.push_back(std::move(policy));
}

bool PolicyCompiler::bind_pattern(const config::PolicyDef& def, Policy& policy, Pattern& pattern) {
  const std::size_t errors = problems_.errors();
  const std::size_t count = def.pattern->steps.size();
  const bool sequence = def.pattern->kind == PatternDef::Kind::sequence;
  pattern.steps.resize(count);
  // The event whose fields the rungs see comes first: people see it as the event of the policy.
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = sequence ? (i + count - 1) % count : i;
    const PatternDef::Step& step = def.pattern->steps[k];
    const bool fires = def.pattern->kind == PatternDef::Kind::pair || i == 0;
    const auto part = bind_part(def, step.event, true, fires, policy);
    if (!part) continue;
    pattern.steps[k].binding = *part;
    if (!step.when) continue;
    Scope scope(names_, set_.events[policy.bindings[*part].event]);
    pattern.steps[k].when = names_.compile_when(*step.when, scope);
    if (pattern.steps[k].when && pattern.steps[k].when->side() == Side::answer) {
      policy.bindings[*part].outcome = true;
    }
  }
  if (def.pattern->strict) {
    std::vector<config::Text> among = def.pattern->among;
    if (among.empty()) {
      for (const PatternDef::Step& step : def.pattern->steps) among.push_back(step.event);
    }
    for (const config::Text& event : among) {
      const auto part = bind_part(def, event, false, false, policy);
      if (part &&
          std::find(pattern.among.begin(), pattern.among.end(), *part) == pattern.among.end()) {
        pattern.among.push_back(*part);
      }
    }
  }
  return problems_.errors() == errors && !policy.bindings.empty();
}

/// The binding of an event that plays a part, made at its first part.
std::optional<std::uint16_t> PolicyCompiler::bind_part(const config::PolicyDef& def,
                                                       const config::Text& name, bool step,
                                                       bool fires, Policy& policy) {
  const auto event = names_.find_event(name);
  if (!event) return std::nullopt;
  for (std::size_t b = 0; b < policy.bindings.size(); ++b) {
    if (policy.bindings[b].event == *event) return static_cast<std::uint16_t>(b);
  }
  config::PolicyDef part = def;
  if (!fires) part.then.clear();
  if (!step) part.when.reset();  // narrows the steps
  auto binding = binder_.bind(part, *event, step ? Binder::Role::counts : Binder::Role::reads);
  if (!binding) return std::nullopt;
  binding->fires = fires;
  binding->rungs.resize(def.then.size());
  policy.bindings.push_back(std::move(*binding));
  return static_cast<std::uint16_t>(policy.bindings.size() - 1);
}

std::string PolicyCompiler::pattern_canonical(const Policy& policy, const Pattern& pattern) {
  const limiter::PatternSpec& spec = pattern.spec;
  std::string out = "pattern " + policy.name + ": ";
  for (const Pattern::Step& step : pattern.steps) {
    const Binding& binding = policy.bindings[step.binding];
    out += names_.event_canonical(binding.event) + " ";
    if (binding.when) out += "when " + binding.when->canonical() + " ";
    if (step.when) out += "and " + step.when->canonical() + " ";
    out += "key " + names_.key_canonical(binding.key) + "; ";
  }
  switch (spec.kind) {
    case limiter::PatternSpec::Kind::sequence:
      out += spec.overlap ? "overlapping; " : "apart; ";
      break;
    case limiter::PatternSpec::Kind::absence:
      out += "absence; ";
      break;
    case limiter::PatternSpec::Kind::pair:
      out += spec.endless ? "endless pair; " : "pair; ";
      break;
  }
  for (const std::uint16_t b : pattern.among)
    out += "among " + names_.event_canonical(policy.bindings[b].event) + "; ";
  for (const milliseconds bound : {spec.within, spec.before, spec.after}) {
    out += std::to_string(bound.count()) + " ms; ";
  }
  if (pattern.always) out += "always; ";
  if (policy.shadow) out += "shadow; ";
  return out;
}

}  // namespace weir::policies
