#pragma once

#include "config/model.h"
#include "net/connection_budget.h"
#include "proxy/settings.h"

namespace weir::app {

/// The settings of the proxy from the configuration. The caller still fills in the address of the
/// app, the header names that policies read, and the values that depend on the number of workers.
proxy::Settings proxy_settings(const config::Server& settings, net::ConnectionBudget& connections);

}  // namespace weir::app
