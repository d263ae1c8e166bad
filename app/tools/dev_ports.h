#pragma once

#include <cstdint>
#include <string>

#include "config/model.h"

namespace weir::app {

/// The endpoint if this process can listen there now; otherwise the same address with a free port.
/// Addresses of other machines, and Unix sockets, stay unchanged: the start says why they fail.
config::Endpoint listenable(config::Endpoint wanted);

/// Whether a server accepts a connection there within half a second. Blocks for at most that time,
/// and while the name is resolved.
bool accepts_connections(const config::Endpoint& endpoint);

}  // namespace weir::app
