#pragma once

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::config {

/// Names across files: each once in its section, and every reference to an event, list or
/// notification leads somewhere; `is` has no cycle. What needs types is policies/set/compile's.
/// `complete`: all files could be read; else a missing name may stand in a file that could not.
/// A policy or view with an error is no longer sound; returns how many errors are of that kind.
std::size_t check_references(Model& model, bool complete, Problems& problems);

/// Settings of the server that cannot stand together, whoever set them: file or environment.
void check_server(const Server& server, Problems& problems);

}  // namespace weir::config
