#include "api/verdict_json.h"

#include <algorithm>

#include "core/json_numbers.h"
#include "core/text.h"
#include "limiter/lists/lists.h"
#include "policies/explain/pattern_text.h"
#include "policies/set/describe.h"

namespace weir::api {

namespace {

/// Appends a limit. In a table a limit may be one that nothing reaches.
void append_limit(std::string& out, Number limit) {
  if (limit.is_finite()) return append_json_number(out, limit);
  out += "\"unlimited\"";
}

void append_value(std::string& out, const Value& value) {
  if (value.is_number()) return append_json_number(out, value.as_number());
  if (value.is(Type::boolean)) {
    out += value.as_boolean() ? "true" : "false";
    return;
  }
  std::string text;
  if (append_canonical(text, value)) {
    append_json(out, text);
  } else {
    out += "null";
  }
}

void append_member(std::string& out, std::string_view name) {
  if (out.back() != '{') out.push_back(',');
  out.append("\"").append(name).append("\":");
}
void append_member(std::string& out, std::string_view name, std::string_view text) {
  append_member(out, name);
  append_json(out, text);
}
void append_member(std::string& out, std::string_view name, Number number) {
  append_member(out, name);
  append_json_number(out, number);
}
void append_member(std::string& out, std::string_view name, const Value& value) {
  append_member(out, name);
  append_value(out, value);
}

std::string_view action_word(Action action) noexcept {
  const ActionRow& row = row_of(action);
  return row.verdict.empty() ? row.name : row.verdict;
}

/// Whether the answer is already known, and matched: then the event counts.
bool has_come(const policies::Plan& plan, const policies::Standing& standing) noexcept {
  return std::any_of(plan.policies.begin(), plan.policies.end(),
                     [&](const policies::PlannedPolicy& planned) {
                       return planned.policy == standing.policy && planned.matched;
                     });
}

}  // namespace

std::string_view verdict_word(const policies::Verdict& verdict) noexcept {
  if (verdict.exempt) return "pass";
  if (verdict.kind == policies::Verdict::Kind::refuse && verdict.effect == Action::delay) {
    return "deny";  // there was no room among the held
  }
  return verdict.effect == Action::none ? "pass" : action_word(verdict.effect);
}

void append_verdict(std::string& out, const policies::PolicySet& set,
                    const gate::Gate::Judged& judged) {
  const policies::Verdict& verdict = judged.verdict;
  const policies::Plan& plan = judged.plan;
  append_member(out, "verdict", verdict_word(verdict));
  if (plan.allowed) append_member(out, "list", set.lists[plan.allowed->list].name);
  if (verdict.decider >= 0) {
    const auto& standing = verdict.standings[static_cast<std::size_t>(verdict.decider)];
    if (standing.list && !standing.policy) {
      append_member(out, "list", set.lists[*standing.list].name);
    } else {
      append_member(out, "policy", set.policies[*standing.policy].name);
    }
    if (!standing.field.empty()) {
      append_member(out, "missing", standing.field);
      if (standing.why != policies::MissReason::none)
        append_member(out, "why", policies::miss_reason_text(standing.why));
    }
    if (standing.rung >= 0) {
      append_member(out, "rung", standing.rung);
      if (standing.has_value) append_member(out, "value", standing.value);
      if (standing.limit) {
        append_member(out, "limit");
        append_limit(out, *standing.limit);
      }
      if (standing.window.count() > 0) append_member(out, "window_ms", standing.window.count());
      if (standing.in_flight != 0) append_member(out, "in_flight", standing.in_flight);
      if (standing.possible && !has_come(plan, standing)) {
        append_member(out, "possible");
        out += "true";
      }
    }
    if (standing.until && *standing.until < limiter::kForever) {
      append_member(out, "until", policies::time_text(*standing.until));
    }
  }
  if (verdict.score != 0) append_member(out, "score", verdict.score);
  if (judged.status != 0) append_member(out, "status", judged.status);
  if (verdict.kind == policies::Verdict::Kind::refuse && verdict.retry_after.count() > 0) {
    append_member(out, "retry_after_ms", verdict.retry_after.count());
  }
  if (verdict.kind == policies::Verdict::Kind::hold) {
    append_member(out, "hold_ms", verdict.hold.count());
  }
}

void QueryTrace::start(const policies::PolicySet& set) {
  if (rows_.size() < set.policies.size()) rows_.resize(set.policies.size());
  for (Row& row : rows_) {
    row.skipped.clear();
    row.rungs.clear();
    row.part.clear();
    row.judged = false;
  }
  set_ = &set;
}

void QueryTrace::skipped(const policies::Policy& policy, policies::Skip skip,
                         std::string_view field, policies::MissReason) {
  if (skip == policies::Skip::not_watched || skip == policies::Skip::disabled) return;
  Row& row = rows_[policy.index];
  row.skipped = policies::skip_text(skip);
  if (!field.empty()) row.skipped.append(": ").append(field);
}

void QueryTrace::rung(const policies::Policy& policy, std::size_t rung, const Value& value,
                      std::optional<Number> limit, bool holds) {
  std::string& out = rows_[policy.index].rungs;
  if (!out.empty()) out.push_back(',');
  out.push_back('{');
  append_member(out, "do", row_of(policy.rungs[rung].action).name);
  if (policy.rungs[rung].shadow) append_member(out, "mode", "shadow");
  if (policy.has_metric) append_member(out, "value", value);
  if (limit) {
    append_member(out, "limit");
    append_limit(out, *limit);
  }
  append_member(out, "holds");
  out.append(holds ? "true}" : "false}");
}

void QueryTrace::pattern(const policies::Policy& policy, const policies::PlannedPattern& planned,
                         const limiter::PatternView& view) {
  rows_[policy.index].part =
      policies::pattern_part_text(set_->patterns[planned.pattern], planned, view);
}

void QueryTrace::append(std::string& out, const policies::PolicySet& set,
                        const policies::Plan& plan, const policies::Record& record) {
  frame_.begin(set.slots, record, nullptr);
  append_member(out, "policies");
  out.push_back('[');
  bool first = true;
  const auto open = [&](const policies::Policy& policy) {
    out.append(first ? "{" : ",{");
    first = false;
    append_member(out, "policy", policy.name);
    if (policy.shadow) append_member(out, "mode", "shadow");
  };
  std::string text;
  for (const policies::PlannedPolicy& planned : plan.policies) {
    const policies::Policy& policy = set.policies[planned.policy];
    const policies::Binding& binding = policy.bindings[planned.binding];
    open(policy);
    append_member(out, "event", set.events[binding.event].name);
    frame_.set_event(set.events[binding.event].name);
    append_member(out, "key");
    out.push_back('[');
    for (std::size_t i = 0; i < binding.key.size(); ++i) {
      const policies::KeySlot& part = binding.key[i];
      if (i != 0) out.push_back(',');
      Address masked;
      text.clear();
      const Value value = policies::key_part(part, frame_.load(part.slot), masked);
      if (append_canonical(text, value)) {  // parts of a key are texts, whatever they were
        append_json(out, text);
      } else {
        out.append("null");
      }
    }
    out.push_back(']');
    if (policy.has_metric) {
      const auto& counter = plan.counters[plan.counter_refs[planned.first_counter]];
      append_member(out, "value", counter.value(false));
      if (counter.is_possible()) {
        append_member(out, "possible");
        out.append("true");
      }
    }
    if (!binding.counts) {
      append_member(out, "counts");
      out.append("false");
    }
    Row& row = rows_[policy.index];
    if (!row.part.empty()) append_member(out, "pattern", row.part);
    append_member(out, "rungs");
    out.append("[").append(row.rungs).append("]}");
    row.judged = true;
  }
  for (const policies::Policy& policy : set.policies) {
    const Row& row = rows_[policy.index];
    if (row.judged || (row.skipped.empty() && row.part.empty())) continue;
    open(policy);
    if (!row.part.empty()) {
      append_member(out, "pattern", row.part);  // it completes no match: no rung is judged
    } else {
      append_member(out, "skipped", row.skipped);
    }
    out.push_back('}');
  }
  out.push_back(']');
}

}  // namespace weir::api
