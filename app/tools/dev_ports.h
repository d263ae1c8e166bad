#pragma once

#include <cstdint>
#include <string>

#include "config/model.h"

namespace weir::app {

/// The endpoint if this process can listen there now, else the same address with a port that is
/// free. What is no address of this machine, and Unix sockets, stay as they are: starting says why.
config::Endpoint listenable(config::Endpoint wanted);

/// Whether somebody accepts a connection there within half a second. Blocks for so long at most,
/// and while the name is resolved.
bool accepts_connections(const config::Endpoint& endpoint);

}  // namespace weir::app
