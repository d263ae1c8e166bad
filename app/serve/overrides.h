#pragma once

#include <string>
#include <vector>

#include "app/support/configuration.h"
#include "config/override.h"

namespace weir::app {

/// The model of the files with overrides over it, compiled. The caller's model stays unchanged. The
/// errors of an override are in the problems; then there is no set.
Configuration with_overrides(const config::Model& files, const std::string& hash,
                             const std::vector<config::Override>& overrides);

/// As many of the overrides as compile over this model, tried one after the other; `dropped` gets
/// the others. With none of them left the result is the model as it is.
Configuration with_those_that_fit(const config::Model& files, const std::string& hash,
                                  std::vector<config::Override>& overrides,
                                  std::vector<config::Override>& dropped);

/// Puts a change into the list: in the place of one of the same policy and kind (mode, limits).
void merge_override(std::vector<config::Override>& overrides, config::Override change);

}  // namespace weir::app
