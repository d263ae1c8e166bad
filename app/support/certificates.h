#pragma once

#include <memory>
#include <string>

#include "config/model.h"
#include "config/text/problem.h"

namespace weir::net {
class TlsContext;
}

namespace weir::app {

/// Reads the certificates of `grpc.tls`. Null: there is no such section, or a file cannot be used,
/// and `why` says which.
std::shared_ptr<const net::TlsContext> read_certificates(const config::Server& server,
                                                         std::string& why);

/// Reports certificates that cannot be used.
void check_certificates(const config::Server& server, config::Problems& problems);

}  // namespace weir::app
