#pragma once

#include <string>

#include "core/effect.h"
#include "policies/judgement/plan.h"
#include "policies/judgement/verdict.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Turns a verdict into what a front door does. Keeps its memory from request to request; the views
/// in the effect live until the next render(). Not thread-safe: one per worker.
class VerdictText {
 public:
  Effect render(const PolicySet& set, const Plan& plan, const Verdict& verdict, Instant at);

 private:
  void render_pass(const PolicySet& set, const Verdict& verdict, Effect& effect);
  void render_refusal(const PolicySet& set, const Verdict& verdict, Effect& effect);
  void render_defect(const PolicySet& set, const Standing& standing, const Verdict& verdict,
                     Effect& effect);
  void render_announcements(const PolicySet& set, const Plan& plan, Instant at);
  void append_violation(const PolicySet& set, const Standing& standing, milliseconds retry_after);

  std::string upstream_, response_, body_, list_, quota_policies_, quota_limits_;
};

}  // namespace weir::policies
