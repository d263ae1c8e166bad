#pragma once

#include <string>

#include "app/remote/remote_text.h"
#include "config/model.h"

namespace weir::app {

/// Reads a string of the store that `redis:` names, on a connection of its own; blocks until the
/// deadline at the latest. TLS, Sentinels and Clusters as everywhere.
RemoteText::KeyValue read_redis_key(const config::Server& server, const std::string& key,
                                    milliseconds deadline);

}  // namespace weir::app
