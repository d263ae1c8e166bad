#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"

namespace weir::config {

/// What an operator has set on a policy for a while, over what the files say. It is applied to a
/// copy of the model, which is then compiled like any other: whatever compiles is immutable, and an
/// override that makes no sense is refused like a wrong file.
struct Override {
  /// `over=20`, `deny.over=20`, `2.over=20`: the threshold of one rung.
  struct Limit {
    std::string rung;  ///< as given: `over`, `deny.over`, `2.over`
    Number limit;
  };
  std::string policy;
  std::optional<Mode> mode;   ///< instead of its own
  std::vector<Limit> limits;  ///< with `mode`, or instead of it
  TimePoint since{}, until{};
  std::string reason, by;
};

/// Puts the override over its policy. Returns what is wrong, for people, with what would be right;
/// empty: it is done.
///
/// `shadow` sets every rung to shadow and leaves the policy's own mode: its counters are the same
/// and go on counting, so that nothing is forgotten when it ends. `enforce` of a policy that the
/// files have in shadow gives it counters of its own, which begin empty.
std::string apply(const Override& change, Model& model);

/// `shadow`, `over=20, deny.over=50`: what it sets.
std::string override_text(const Override& change);
std::string_view mode_name(Mode mode) noexcept;

}  // namespace weir::config
