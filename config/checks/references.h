#pragma once

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::config {

/// Names across files: each once in its section, and every reference to an event, list or
/// notification has a target; `is` has no cycle. Checks that need types are in
/// policies/set/compile. `complete`: all files could be read; otherwise a missing name may be in
/// an unreadable file. Definitions with an error are marked: `sound` is false.
void check_references(Model& model, bool complete, Problems& problems);

/// Settings of the server that contradict each other, whether a file or the environment sets them.
void check_server(const Server& server, Problems& problems);

}  // namespace weir::config
