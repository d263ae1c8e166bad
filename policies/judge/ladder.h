#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/judge/judging.h"
#include "policies/judgement/judge_options.h"
#include "policies/judgement/trace.h"

namespace weir::policies {

struct FlatPolicy;

/// The winning rung of a policy.
struct Winner {
  int rung = -1;
  Action effect = Action::none;
  Value value;
};

/// The rungs of one planned policy that won. Most events reach no rung, so only policies with a
/// winner are kept, and the others cost nothing later.
struct Won {
  std::size_t planned = 0;  // index into Plan::policies
  Winner enforced;          // decides this request
  Winner settled;           // the same without others' reservations; decides about memory
  Winner shadow;
  Winner shadow_settled;  // as `settled` is to `enforced`
};

/// Decides which rung wins: weighs shadow mode, guards and others' reservations against each other.
/// Other sources of this folder carry the result out: they read `shadow` where shadow mode changes
/// what is counted, remembered or reported. A front door sees only the resulting Effect.
/// Part of a Driver: one for each worker, used on the worker's thread.
class Ladder final {
 public:
  explicit Ladder(Judging& work) noexcept : work_(work) {}

  void forget_winners() noexcept { won_.clear(); }
  /// The policies with a rung that won, in the order of Plan::policies.
  const std::vector<Won>& won() const noexcept { return won_; }
  /// The severest of the rungs that hold; of equal ones the later: ladders are written upwards.
  /// `holds(r, rung, value)` returns whether rung r holds, and sets the value with which it does.
  template <class Holds>
  static Winner best_rung(const Policy& policy, bool shadow, Holds holds) {
    Winner best;
    std::size_t next = 0;
    for (const Rung& rung : policy.rungs) {
      const std::size_t r = next++;
      if (rung.disabled || rung.shadow != shadow) continue;
      Value value;
      if (!holds(r, rung, value)) continue;
      if (best.rung < 0 || severity(rung.effect) >= severity(best.effect))
        best = {static_cast<int>(r), rung.effect, value};
    }
    return best;
  }
  const Won* won_by(std::size_t planned) const noexcept;  ///< null: nothing
  bool rung_holds(const Policy& policy, const Binding& binding, std::size_t rung,
                  const Value& value, std::optional<Number> limit);
  void set_metrics(const Policy& policy, bool settled);
  void decide(const JudgeOptions& options);
  /// The verdict on an event for which only rungs that flag hold (FlatPolicy::held), at least one.
  void flag(std::span<const FlatPolicy> policies);
  void finish_verdict(Instant at);
  /// The rung that wins by the settled counts, when the answer is here.
  Winner settled_winner(const PlannedPolicy& planned, bool shadow);

 private:
  /// The scores of the winning rungs: enforced ones, and enforced and shadow ones together; each
  /// also by the settled counts.
  struct Scores {
    std::int64_t enforced = 0, settled = 0, all = 0, all_settled = 0;
  };
  Winner winner(const Policy& policy, const PlannedPolicy& planned, bool shadow, bool settled,
                Trace* trace);
  bool may_lack(const Policy& policy, const Rung& rung, const Value& value) const;
  void judge_planned(std::size_t planned, const JudgeOptions& options);
  void add_list_standings();
  void add_standing(const PlannedPolicy& planned, const Winner& won, bool shadow);
  Standing standing_of(const Policy& policy, const Winner& won, std::optional<Number> limit,
                       bool shadow) const;
  std::uint32_t crowd_of(const Standing& standing);
  void choose_decider();

  Judging& work_;
  Scores scores_;
  std::vector<Won> won_;  // in the order of Plan::policies
};

}  // namespace weir::policies
