#pragma once

#include <string>
#include <vector>

#include "app/support/configuration.h"
#include "app/support/log.h"
#include "config/override.h"
#include "config/table_edit.h"

namespace weir::app {

/// The model of the files with tables' edits and overrides over it, compiled. The caller's model
/// stays unchanged. The errors of an override are in the problems; then there is no set.
Configuration with_overrides(const config::Model& files, const std::string& hash,
                             const std::vector<config::Override>& overrides,
                             const std::vector<config::TableEdit>& edits = {});

/// As many of the overrides as compile over this model, tried one after the other; `dropped` gets
/// the others. With none of them left the result is the model as it is.
Configuration with_those_that_fit(const config::Model& files, const std::string& hash,
                                  std::vector<config::Override>& overrides,
                                  std::vector<config::Override>& dropped,
                                  const std::vector<config::TableEdit>& edits = {});

/// The policy set at the start, with the table edits and overrides that fit. The log names those
/// that do not fit. `overrides` keeps those that fit.
std::shared_ptr<policies::PolicySet> with_tables(const Configuration& files,
                                                 const std::vector<config::TableEdit>& edits,
                                                 std::vector<config::Override>& overrides,
                                                 Log& log);

/// Whether both are for the same policy, and both for its mode or both for its limits.
bool same_kind(const config::Override& a, const config::Override& b);
bool same_override(const config::Override& a, const config::Override& b);
LogLine override_line(const char* what, const config::Override& each);

/// Puts a change into the list: in the place of one of the same policy and kind (mode, limits). One
/// of this replica alone leaves that of all beside it, which comes back when it ends; one of all
/// takes the place of both.
void merge_override(std::vector<config::Override>& overrides, config::Override change);

}  // namespace weir::app
