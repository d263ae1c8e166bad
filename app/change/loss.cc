#include "app/change/loss.h"

#include <algorithm>

#include "core/text.h"
#include "policies/set/lineage.h"

namespace weir::app {

namespace {
constexpr std::size_t kCountersTold = 20;  // after a reload, in the log
}

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

void tell_of_counters(const policies::PolicySet& before, const policies::PolicySet& next,
                      std::span<const std::string> closed, TimePoint now, Log& log) {
  using policies::ReloadEffect;
  std::size_t left = kCountersTold;
  for (const ReloadEffect& change :
       policies::predict_reload(policies::lineage_of(before), policies::lineage_of(next), closed)) {
    const policies::Lineage& of = change.of;
    if (of.kind != policies::Lineage::Kind::counter || change.fate == ReloadEffect::Fate::goes)
      continue;
    if (left == 0) {
      log.write(Level::info, LogLine("and more counters begin with this configuration"));
      return;
    }
    --left;
    const bool counts_anew =
        change.fate == ReloadEffect::Fate::empties || change.fate == ReloadEffect::Fate::begins;
    LogLine line(change.fate == ReloadEffect::Fate::inherits
                     ? "a counter begins with the history that is there"
                 : counts_anew  ? "a counter counts from now on"
                 : change.lacks ? "a counter comes back without what came since it was closed"
                                : "a counter comes back with what came since it was closed");
    line.add("policy", of.owner).add("counter", of.text);
    if (counts_anew && of.length_ms > 0)
      line.add("whole_at", iso_time(now + milliseconds{of.length_ms}));
    log.write(Level::info, line);
  }
}

}  // namespace weir::app
