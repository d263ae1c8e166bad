#pragma once

#include <boost/system/error_code.hpp>

#include "authz/check_request.h"
#include "authz/door_context.h"
#include "config/model.h"
#include "net/socket.h"

namespace weir::app {

/// Whether another proxy may ask here, so that weir need not be one itself.
bool has_doors(const config::Server& settings) noexcept;
/// Converts the configuration into the settings of the doors.
authz::ClientRules client_rules(const config::Server::Authz& settings);
authz::CheckRules check_rules(const config::Server& settings);
authz::DoorSettings door_settings(const config::Server& settings);

/// Whether somebody listens there, as an error; none: nobody does. With SO_REUSEPORT a second weir
/// of the same user would share the port in silence, each with counts of its own. Without it the
/// kernel says that the port is taken.
boost::system::error_code is_taken(const net::SocketAddress& address);

}  // namespace weir::app
