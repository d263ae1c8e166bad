#pragma once

#include <boost/system/error_code.hpp>
#include <string>

#include "authz/check_request.h"
#include "authz/door_context.h"
#include "config/model.h"
#include "core/result.h"
#include "net/socket.h"

namespace weir::app {

/// Whether proxies ask over HTTP (api.ext_authz, api.forward_auth): the workers take the
/// connections.
bool has_doors(const config::Server& settings) noexcept;
/// Whether the api door answers the paths of other rate limit services.
bool has_rate_limit_paths(const config::Server& settings) noexcept;
/// Converts the configuration into the settings of the doors.
authz::ClientRules client_rules(const config::Server::Authz& settings);
authz::CheckRules check_rules(const config::Server& settings);
authz::DoorSettings door_settings(const config::Server& settings);

/// `127.0.0.1:8480`, `[::1]:8480`, `unix:/path`
std::string endpoint_text(const config::Endpoint& endpoint);
/// `message` gets the problem of a name, for people; null: the caller needs no message.
Result<net::SocketAddress> door_address(const config::Endpoint& endpoint, std::string* message);

/// Checks whether another process listens there; returns the error of the kernel, or none. With
/// SO_REUSEPORT a second weir of the same user would share the port without any error, each with
/// counts of its own. Without it the kernel reports that the port is taken.
boost::system::error_code is_taken(const net::SocketAddress& address);

}  // namespace weir::app
