#include "core/text.h"
#include "policies/set/describe.h"

namespace weir::policies {
namespace {

using PatternKind = limiter::PatternSpec::Kind;

std::string step_text(const PolicySet& set, const Policy& policy, const Pattern::Step& step) {
  std::string out = set.events[policy.bindings[step.binding].event].name;
  return step.when ? out + " when " + step.when->canonical() : out;
}

std::string bounds_text(const limiter::PatternSpec& spec) {
  if (spec.endless) return "";
  if (spec.before == spec.after) return " within " + human_duration(spec.after);
  std::string out;
  if (spec.before.count() > 0) out += " from " + human_duration(spec.before) + " before";
  if (spec.after.count() > 0) out += " to " + human_duration(spec.after) + " after";
  return out;
}

}  // namespace

std::string pattern_text(const PolicySet& set, const Policy& policy) {
  const Pattern& pattern = set.patterns[*policy.pattern];
  const limiter::PatternSpec& spec = pattern.spec;
  std::string out = step_text(set, policy, pattern.steps[0]);
  if (spec.kind == PatternKind::pair) {
    return out + " paired with " + step_text(set, policy, pattern.steps[1]) + bounds_text(spec);
  }
  for (std::size_t k = 1; k < pattern.steps.size(); ++k) {
    out += spec.kind == PatternKind::absence ? ", and no " : ", then ";
    out += step_text(set, policy, pattern.steps[k]);
  }
  out += " within " + human_duration(spec.within);
  if (spec.strict) {
    out += ", strictly among";
    for (std::size_t i = 0; i < pattern.among.size(); ++i) {
      out += (i == 0 ? " " : ", ") + set.events[policy.bindings[pattern.among[i]].event].name;
    }
  }
  return spec.overlap ? out : out + ", without overlap";
}

}  // namespace weir::policies
