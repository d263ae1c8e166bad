#pragma once

#include "config/model.h"
#include "net/connection_budget.h"
#include "proxy/settings.h"

namespace weir::app {

/// What the configuration says, as the proxy wants it; where the app is, what the policies read and
/// what depends on the number of workers is still to be filled in.
proxy::Settings proxy_settings(const config::Server& settings, net::ConnectionBudget& connections);

}  // namespace weir::app
