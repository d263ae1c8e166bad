#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"

namespace weir::config {

/// A temporary setting of an operator for a policy, over the files. It is applied to a copy of the
/// model, which is then compiled like any other: every compiled set is immutable, and an override
/// that makes no sense is refused like a wrong file.
struct Override {
  /// `over=20`, `deny.over=20`, `2.over=20`: the threshold of one rung.
  struct Limit {
    std::string rung;  ///< as given: `over`, `deny.over`, `2.over`
    Number limit;
    /// The action, and the threshold in the files, of the rung that the override meant when it was
    /// set (note_rungs). A reload may move the rung, or add another of that name. Empty: not noted.
    std::string action{}, former{};
    bool alone = false;  ///< no other rung had that action and comparison
  };
  std::string policy;
  std::optional<Mode> mode;   ///< instead of its own
  std::vector<Limit> limits;  ///< with `mode`, or instead of it
  TimePoint since{}, until{};
  std::string reason, by;
  bool here = false;  ///< of this replica alone; else of all that share a board
};

/// Notes which rungs of the files an override means, so that it follows them.
void note_rungs(Override& change, const Model& files);

/// Applies the override to its policy, except limits that the window of their rung cannot read
/// (limit_beyond_window): a reload may lower the window. Returns the error, for people, with the
/// correct alternatives; empty: success.
///
/// `shadow` sets every rung to shadow and leaves the policy's own mode: its counters are the same
/// and continue to count, so that nothing is lost when it ends. `enforce` of a policy that the
/// files have in shadow gives it counters of its own, which start empty.
std::string apply(const Override& change, Model& model);

/// Why the window of a rung cannot read as much as a limit of the override, which is an error in a
/// file; empty: each limit can be read, or apply() fails. apply() leaves the limit of the files in
/// force there.
std::string limit_beyond_window(const Override& change, Model files);

/// Finds the rung of a threshold by the threshold's name: `over`, `deny.over` or `2.over`. Returns
/// the error, for people, with the names that there are; empty: success.
std::string find_threshold(std::string_view name, PolicyDef& policy, Rung*& found);

/// `1.over=5 (flag), 2.over=10 (deny)`: the thresholds of a policy; empty: it has none.
std::string thresholds_text(const PolicyDef& policy);

/// The settings of a change: `shadow`, `over=20, deny.over=50`.
std::string override_text(const Override& change);

}  // namespace weir::config
