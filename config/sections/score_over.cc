#include "config/sections/score_over.h"

#include <algorithm>
#include <utility>

namespace weir::config {
namespace {

/// The rungs that compare the score, if `scored`, or the others. In their order.
std::vector<Rung> rungs_of(const PolicyDraft& draft, bool scored) {
  std::vector<Rung> out;
  for (std::size_t i = 0; i < draft.policy.then.size(); ++i) {
    const bool is_on_score =
        std::find(draft.on_score.begin(), draft.on_score.end(), i) != draft.on_score.end();
    if (is_on_score == scored) out.push_back(draft.policy.then[i]);
  }
  return out;
}

/// A policy for the score of the same callers, without the settings of the original policy's
/// counter.
PolicyDef policy_of_score(const PolicyDef& from, Where where) {
  PolicyDef out;
  out.name = {from.name.value + "-score", from.name.where};
  out.watch = from.watch;
  out.described = from.described;
  out.when = from.when;
  out.key = from.key;
  out.guard = from.guard;
  out.missing = from.missing;
  out.mode = from.mode;
  out.metric.kind = MetricDef::Kind::score;
  out.metric.where = where;
  return out;
}

}  // namespace

std::optional<PolicyDraft> split_score_rungs(Reader& reader, PolicyDraft& draft) {
  if (draft.on_score.empty() || !draft.sound) return std::nullopt;
  const Where where = draft.policy.then[draft.on_score.front()].where;
  if (draft.policy.pattern) {
    reader.problems().error(where, "a pattern compares no score",
                            "write a policy of its own: metric: score, then: [{over: 70, do: "
                            "challenge}]");
    draft.sound = false;
    return std::nullopt;
  }
  if (draft.policy.metric.kind == MetricDef::Kind::score) return std::nullopt;
  std::vector<Rung> others = rungs_of(draft, false);
  if (others.empty() && draft.metric == nullptr && draft.policy.metrics.empty()) {
    draft.policy.metric.kind = MetricDef::Kind::score;
    draft.policy.metric.where = where;
    return std::nullopt;
  }
  PolicyDraft out;
  out.policy = policy_of_score(draft.policy, where);
  out.policy.then = rungs_of(draft, true);
  out.map = draft.map;
  out.has_watch = draft.has_watch;
  out.sound = true;
  draft.policy.then = std::move(others);
  return out;
}

}  // namespace weir::config
