#pragma once

#include <string>

#include "app/support/configuration.h"
#include "config/model.h"

namespace weir::app {

/// An Envoy bootstrap, as YAML, with which Envoy serves port 8080 before the app and asks a weir
/// on 127.0.0.1:8484 about each request (`api.ext_authz`, prefix /ext_authz). It sends along the
/// headers that these policies read, and bodies if one of them reads bodies.
std::string envoy_bootstrap(const Configuration& configuration, const config::Endpoint& app);

}  // namespace weir::app
