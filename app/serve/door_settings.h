#pragma once

#include "authz/check_request.h"
#include "authz/door_context.h"
#include "config/model.h"

namespace weir::app {

/// Whether another proxy may ask here, so that weir need not be one itself.
bool has_doors(const config::Server& settings) noexcept;
/// Converts the configuration into the settings of the doors.
authz::ClientRules client_rules(const config::Server::Authz& settings);
authz::CheckRules check_rules(const config::Server& settings);
authz::DoorSettings door_settings(const config::Server& settings);

}  // namespace weir::app
