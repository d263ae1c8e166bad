#include "app/change/loss.h"

#include <algorithm>

namespace weir::app {

InForce InForce::of(const Configuration& configuration) {
  InForce out;
  out.policies = configuration.model().policies.size();
  for (const config::IncludePattern& include : configuration.loaded.includes) {
    if (include.files != 0) out.patterns.push_back(include.pattern.value);
  }
  return out;
}

void refuse_loss(const InForce& before, Configuration& next) {
  if (!next.good()) return;
  config::Problems& problems = next.loaded.problems;
  for (const config::IncludePattern& include : next.loaded.includes) {
    if (include.files != 0) continue;
    const std::string& text = include.pattern.value;
    if (std::find(before.patterns.begin(), before.patterns.end(), text) == before.patterns.end())
      continue;
    problems.error(include.pattern.where, "\"" + text + "\" matches no file any more",
                   "take the pattern out of \"include\" if that is meant");
  }
  const config::Model& model = next.model();
  if (before.policies != 0 && model.policies.empty() && !model.no_policies) {
    problems.error({}, "no policies are left of " + std::to_string(before.policies),
                   "write policies: [] if that is meant");
  }
  if (!problems.has_errors()) return;
  problems.sort();
  next.set = nullptr;
}

}  // namespace weir::app
