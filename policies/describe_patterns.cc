#include "policies/describe.h"

namespace weir::policies {
namespace {

using Kind = limiter::PatternSpec::Kind;

std::string step_text(const PolicySet& set, const Policy& policy, const Pattern::Step& step) {
  std::string out = set.events[policy.bindings[step.binding].event].name;
  return step.when ? out + " when " + step.when->canonical() : out;
}

std::string plural(std::size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

std::string bounds_text(const limiter::PatternSpec& spec) {
  if (spec.endless) return "";
  if (spec.before == spec.after) return " within " + duration_text(spec.after);
  std::string out;
  if (spec.before.count() > 0) out += " from " + duration_text(spec.before) + " before";
  if (spec.after.count() > 0) out += " to " + duration_text(spec.after) + " after";
  return out;
}

}  // namespace

std::string pattern_text(const PolicySet& set, const Policy& policy) {
  const Pattern& pattern = set.patterns[*policy.pattern];
  const limiter::PatternSpec& spec = pattern.spec;
  std::string out = step_text(set, policy, pattern.steps[0]);
  if (spec.kind == Kind::pair) {
    return out + " paired with " + step_text(set, policy, pattern.steps[1]) + bounds_text(spec);
  }
  for (std::size_t k = 1; k < pattern.steps.size(); ++k) {
    out += spec.kind == Kind::absence ? ", and no " : ", then ";
    out += step_text(set, policy, pattern.steps[k]);
  }
  out += " within " + duration_text(spec.within);
  if (spec.strict) {
    out += ", strictly among";
    for (std::size_t i = 0; i < pattern.among.size(); ++i) {
      out += (i == 0 ? " " : ", ") + set.events[policy.bindings[pattern.among[i]].event].name;
    }
  }
  return spec.overlap ? out : out + ", without overlap";
}

std::string pattern_part_text(const Pattern& pattern, const PlannedPattern& planned,
                              const limiter::PatternView& view) {
  std::string out;
  for (std::size_t k = 0; k < pattern.steps.size(); ++k) {
    const bool open = (planned.open_steps >> k & 1U) != 0;
    if (!open && (planned.steps >> k & 1U) == 0) continue;
    out += (out.empty() ? "step " : " and step ") + std::to_string(k + 1);
    if (open) out += " if the answer says so";
  }
  out = out.empty() ? "no step, but among those that end a match"
                    : out + " of " + std::to_string(pattern.steps.size());
  out += "; its key has " + plural(view.open, "open match", "open matches");
  if (pattern.spec.steps > 2 && view.open != 0) {
    out += ", the furthest with " + plural(view.furthest, "step", "steps");
  }
  return view.completes ? out + "; it completes one" : out;
}

}  // namespace weir::policies
