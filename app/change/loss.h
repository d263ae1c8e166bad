#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/support/configuration.h"
#include "app/support/log.h"

namespace weir::app {

/// The parts of the configuration in force that a reload must not lose by accident.
struct InForce {
  std::vector<std::string> patterns;  ///< of `include:`, those that matched a file
  std::size_t policies = 0;

  static InForce of(const Configuration& configuration);
};

/// A directory that is not mounted (yet), a ConfigMap without its keys, a copy that is under way:
/// each reads as a sound configuration without policies, and would silently open the door. So a
/// reload is refused (errors are added, the set is dropped) where a pattern that matched files
/// matches none any more, and where no policies are left of some. An operator who wants this
/// removes the pattern from `include`, or writes `policies: []`.
void refuse_loss(const InForce& before, Configuration& next);

/// Logs the effect of a reload on counters: which counters begin with existing history, which are
/// reopened, and from when the others count. `closed`: the closed counters as predict_reload()
/// found them before the reload. `now`: wall clock.
void tell_of_counters(const policies::PolicySet& before, const policies::PolicySet& next,
                      std::span<const std::string> closed, TimePoint now, Log& log);

}  // namespace weir::app
