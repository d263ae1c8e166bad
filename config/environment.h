#pragma once

#include "config/parse.h"
#include "config/text/reader.h"

namespace weir::config {

/// Reads every WEIR_* variable that names a server setting (WEIR_PROXY_TIMEOUTS_CONNECT is
/// proxy.timeouts.connect); it replaces the value of the file. The names come from the sections'
/// own tables. Each variable that is set becomes a file `$NAME` of the model, so that its problems
/// name it. A list's items are separated by commas. Unknown names are warnings, except those that
/// Kubernetes defines for a Service called weir.
void read_environment(const Environment& environment, Reader& reader, Tree& tree, Model& model);

/// The variables that exist, sorted: for the reference page.
std::vector<std::string> environment_names();

}  // namespace weir::config
