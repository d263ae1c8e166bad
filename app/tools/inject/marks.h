#pragma once

#include <optional>
#include <set>
#include <string>

#include "app/tools/inject/objects.h"

namespace weir::app {

/// An annotation of the pod template: the additions of `weir inject` that a pod may also have by
/// itself.
inline constexpr const char* kAdded = "weir.example/added";

/// The content of the annotation: `grace-period,label,hook:app,empty:volumes`, or `none`. The
/// container and the volumes of weir are not in it, because their names show that weir added them.
struct Marks {
  bool grace_period = false;    ///< terminationGracePeriodSeconds
  bool label = false;           ///< kLabel
  std::set<std::string> hooks;  ///< the preStop hooks, by the name of their container
  std::set<std::string> empty;  ///< lists and maps that were there before, with nothing in them

  std::string text() const;
  /// Nothing: the pod has no such annotation. An older weir has injected it, or something else than
  /// `weir inject`. Unknown words mean nothing.
  static std::optional<Marks> of(const Pod& pod);
};

}  // namespace weir::app
