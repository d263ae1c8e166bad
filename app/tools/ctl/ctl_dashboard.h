#pragma once

#include <string>
#include <string_view>

#include "app/support/command.h"
#include "app/tools/ctl/ctl_call.h"

namespace weir::app {

/// `http://HOST:PORT/PATH` of an admin door, as a browser opens it; through a forwarded port where
/// the door is a Unix socket. Pure.
std::string dashboard_url(std::string_view door, std::string_view path);

/// POST /v1/session/link: a link to the dashboard that works once.
int run_dashboard(const AdminDoor& door, const std::string& person, const Globals& globals);

}  // namespace weir::app
